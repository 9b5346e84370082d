"""A scripted server whose scenes ask for approval. A program, for the client to start; arguments as the other's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.terminal import scripted_server


class ApprovingServer(scripted_server.Server):
    def ask(self, params: scripted_server.Json, conversation: str, id: str = "ask", **more: Any) -> None:
        asked = {
            "conversationId": conversation, "turnId": "turn-1", "tool": "run_command", "title": "Run this command?",
            "shown": "rm 'photo⟨U+202E⟩gnp'", "covers": "commands in . that begin with: rm", "mayBeAlways": True,
        } | more  # fmt: skip
        self.send({"id": id, "method": "palimpsest/approval/request", "params": asked})

    def tell(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        answer = self.await_message(lambda message: message.get("id") == "ask")
        said = answer["error"]["code"] if "error" in answer else answer["result"]["answer"]
        self.delta(params["partialResultToken"], type="text", text=f"The answer is {said}")
        self.end_turn(request, conversation)

    def scene_approve(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        self.ask(params, conversation)
        self.tell(request, params, conversation)

    def scene_shell(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        self.ask(params, conversation, mayBeAlways=False)
        self.tell(request, params, conversation)

    def scene_edits(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        """Two questions at once."""
        for name in ("a.py", "b.py"):
            diff = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old\n+new\n"
            self.ask(
                params, conversation, id=name, tool="propose_edit", title=f"Change {name}?", shown=diff,
                covers=f"edits of {name}",
            )  # fmt: skip
        said = {}
        for _ in range(2):
            answer = self.await_message(lambda message: message.get("id") in ("a.py", "b.py"))
            said[answer["id"]] = answer["result"]["answer"]
        text = ", ".join(f"{name} {answer}" for name, answer in said.items())
        self.delta(params["partialResultToken"], type="text", text=text)
        self.end_turn(request, conversation)

    def scene_settled(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        """The user answers in another editor, as soon as this one has been heard of something else."""
        self.ask(params, conversation)
        self.send({"method": "$/cancelRequest", "params": {"id": "ask"}})
        self.tell(request, params, conversation)

    def scene_unreadable(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        self.ask(params, conversation, title=5)
        self.tell(request, params, conversation)


if __name__ == "__main__":
    scripted_server.Server = ApprovingServer  # type: ignore[misc]  # what its main starts
    scripted_server.main()
