"""A tool of your own: the model may call it, and this program runs it.

    python examples/custom_tool.py ~/src/thing "What time is it?"

The server asks for each call by `palimpsest/tools/run`. A tool that only reads runs without a question; one that
changes something is offered in trusted folders only, and the user is asked first (`palimpsest/approval/request`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from minimal_editor import Server, arguments, chat, open_folder

CLOCK = {
    "name": "clock",
    "description": "Tells the local date and time.",
    "parameters": {"type": "object", "properties": {}},
    "isReadOnly": True,
}


class EditorWithTool(Server):
    """An editor that brings the tool `clock`."""

    def heard(self, message: dict[str, Any]) -> None:
        if message["method"] == "palimpsest/tools/run" and message["params"]["name"] == "clock":
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            self.send({"id": message["id"], "result": {"text": now}})
        else:
            super().heard(message)


def main() -> None:
    folder, text = arguments()
    server = EditorWithTool()
    open_folder(server, folder)
    server.request("palimpsest/tools/register", {"tools": [CLOCK]})
    chat(server, text)
    print()
    server.close()


if __name__ == "__main__":
    main()
