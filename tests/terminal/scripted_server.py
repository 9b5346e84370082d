"""A server that plays scenes: the text of a message is the name of a scene. A program, for the client to start.

    python scripted_server.py LOG [--conversations N] [--running] [--version N] [--crash] [--left] [--tells]
                                  [--slow] [--mistyped] [--corrected N]

Every message it receives is appended to LOG as one line of JSON, so a test can see what the client really sent.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from palimpsest.services.chat.commands.table import COMMANDS
from palimpsest.wire.codec.framing import FrameDecoder, encode_frame

Json = dict[str, Any]

USAGE: Json = {
    "usedTokens": 2100, "budgetTokens": 200_000, "wallTokens": 210_000, "percentage": 1.05, "severity": "green",
    "compact": "2.1k / 200k (1%)", "model": "scripted-1", "provider": "scripted", "windowTokens": 262_144,
    "reserveTokens": 16_384, "limitsSource": "prefix", "counting": "estimated", "messageCount": 4, "summaryCount": 1,
    "byKind": [{"kind": "messages", "tokens": 2000}, {"kind": "system", "tokens": 100}],
    "lastSummaryAt": "2026-11-21T10:00:00Z", "status": "ready",
}  # fmt: skip


PAGE = """\
# Prices

The gross price is the net price **with tax**, rounded once:

```python
def gross(net):
    return round(net * 1.19)  # cents
```

| Rate | Where |
| --- | --- |
| 19 % | `prices.py` |

- one item
- another

The end.
"""


class Server:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.log = open(options.log, "a", encoding="utf-8")
        self.arrived: deque[bytes] = deque()
        """Bodies that were read and not yet taken."""
        self.shared: str | None = None
        """The state of the sharing of the conversation."""
        self.messages = self.read()
        self.later: list[Json] = []
        self.seq = 0
        self.turns = 0
        self.conversations = [self.conversation(number) for number in range(1, options.conversations + 1)]
        if options.running:
            self.conversations[0]["runningTurnId"] = "turn-elsewhere"

    # ------------------------------------------------------------------------------------------------ the connection

    def read(self) -> Iterator[Json]:
        decoder = FrameDecoder()
        while data := os.read(0, 1 << 16):
            self.arrived.extend(decoder.feed(data))
            while self.arrived:
                message = json.loads(self.arrived.popleft())
                self.log.write(json.dumps(message) + "\n")
                self.log.flush()
                yield message

    def send(self, message: Json) -> None:
        os.write(1, encode_frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))

    def await_message(self, wanted: Callable[[Json], bool]) -> Json:
        """The next message that is wanted; the others are kept for later."""
        for message in self.messages:
            if wanted(message):
                return message
            self.later.append(message)
        raise SystemExit(1)

    def run(self) -> None:
        for message in self.messages:
            self.take(message)
            while self.later:
                self.take(self.later.pop(0))

    def take(self, message: Json) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method == "exit":
            raise SystemExit(0)
        if "id" not in message or method is None:
            return
        name = method.removeprefix("palimpsest/").replace("/", "_")
        answer = getattr(self, f"on_{name}", None)
        if answer is None:
            self.fail(message, -32601, f"No method {method}.", None)
        else:
            answer(message, params)

    def reply(self, request: Json, result: Any) -> None:
        self.send({"id": request["id"], "result": result})

    def fail(self, request: Json, code: int, sentence: str, kind: str | None) -> None:
        error: Json = {"code": code, "message": sentence}
        if kind is not None:
            error["data"] = {"kind": kind, "retryable": True, "retryAfterMs": 2000}
        self.send({"id": request["id"], "error": error})

    # --------------------------------------------------------------------------------------------------- the answers

    def conversation(self, number: int) -> Json:
        return {
            "conversationId": f"conversation-{number}", "title": f"Title {number}",
            "model": "offline" if self.options.offline else "scripted-1",
            "messageCount": number * 2, "createdAt": "2026-11-20T09:00:00Z", "updatedAt": "2026-11-20T09:30:00Z",
            "isArchived": False, "draft": "",
            "folder": "file:///somewhere",
        }  # fmt: skip

    def on_initialize(self, request: Json, params: Json) -> None:
        if self.options.crash:
            sys.stderr.write("Traceback: the store is damaged\n")
            sys.stderr.flush()
            os._exit(4)
        experimental = {} if self.options.version == 0 else {"palimpsest": {"version": self.options.version}}
        self.reply(request, {"capabilities": {"experimental": experimental}})

    def on_shutdown(self, request: Json, params: Json) -> None:
        self.reply(request, None)

    def on_conversation_list(self, request: Json, params: Json) -> None:
        if self.options.tells:
            self.send({"method": "window/showMessage", "params": {"type": 2, "message": "Something broke off."}})
            working = {"kind": "begin", "title": "Bringing the conversations up to date", "percentage": 0}
            self.send({"method": "$/progress", "params": {"token": "a", "value": working}})
        if self.options.corrected > 0:
            self.options.corrected -= 1
            self.fail(request, -32602, "modle is not a setting.", "invalid_request")
            return
        self.reply(request, {"conversations": self.conversations})

    def on_conversation_read(self, request: Json, params: Json) -> None:
        start = params.get("start", 0)
        message = {"id": start, "role": "user", "text": "What is a \x1b[31mcut\x1b[0m?", "parts": [],
                   "digest": "0" * 64, "state": "complete", "createdAt": "2026-11-20T09:00:00Z",
                   "notes": [], "isHidden": False}  # fmt: skip
        call = {"type": "tool_call", "callId": "a", "name": "read_file", "arguments": '{"path": "cut.py"}'}
        answer = {**message, "id": start + 1, "role": "assistant", "text": "A choice.", "parts": [call],
                  "state": "cancelled"}  # fmt: skip
        conversation = self.conversations[0]
        if self.shared is not None:
            conversation = {**conversation, "shared": {"teamId": "t", "state": self.shared, "team": "birds"}}
            message |= {"author": "ann", "turnId": "turn-between"}
        page: Json = {"conversation": conversation, "messages": [message, answer]}
        if start == 0:
            page["next"] = 2
        self.reply(request, page)

    def on_model_list(self, request: Json, params: Json) -> None:
        if self.options.mistyped:
            self.fail(request, -32803, "There is no model 'scirpted'.", "not_found")
            return
        model = {"name": "scripted-1", "provider": "scripted", "windowTokens": 262_144, "maxOutputTokens": 16_384,
                 "budgetTokens": 200_000, "limitsSource": "prefix", "isAvailable": True, "isDefault": True}  # fmt: skip
        locked = {**model, "name": "locked-2", "isAvailable": False, "isDefault": False, "hint": "Set its key."}
        self.reply(request, {"models": [model, locked]})

    def on_turn_cancel(self, request: Json, params: Json) -> None:
        self.reply(request, {"status": "committed"})

    def on_turn_attach(self, request: Json, params: Json) -> None:
        self.delta(params["partialResultToken"], type="text", text=f"the rest of {params['turnId']}")
        if self.options.slow:
            ends = ("palimpsest/turn/cancel", "$/cancelRequest")
            cancel = self.await_message(lambda message: message.get("method") in ends)
            if "id" not in cancel:
                self.fail(request, -32800, "Nobody follows the turn.", None)
                return
            self.reply(cancel, {"status": "cancelled"})
        self.end_turn(request, "conversation-1", "cancelled" if self.options.slow else "committed")

    def on_mentions_complete(self, request: Json, params: Json) -> None:
        if params["text"] != "/":
            at = params["text"].rfind("@")
            file = {"kind": "file", "label": "prices.py", "insertText": "@src/shop/prices.py ", "detail": "src/shop",
                    "path": "src/shop/prices.py"}  # fmt: skip
            found = [file] if at >= 0 else []
            start = len(params["text"][: max(at, 0)].encode("utf-16-le")) // 2
            self.reply(request, {"start": start, "items": found, "isIncomplete": False})
            return
        items = [
            {"kind": "command", "label": each.usage, "insertText": f"/{each.name} ", "detail": each.help}
            for each in COMMANDS
        ]
        self.reply(request, {"start": 0, "items": items, "isIncomplete": False})

    def on_command_run(self, request: Json, params: Json) -> None:
        """Some commands play a scene; any other is repeated."""
        text, answer = params["text"], dict[str, Any]()
        if text == "/model locked-2":
            self.fail(request, -32803, "There is no key for locked-2.", "auth")
            return
        if text == "/retry":
            answer = {"text": "Not shown.", "conversationId": "conversation-1", "turnId": "turn-8"}
        elif text == "/rollback":
            answer = {"text": "Hidden.", "draft": "What was *typed*\nthere"}
        elif text == "/fork":
            answer = {"text": "The chat continues in a fork.", "conversationId": "conversation-9"}
        elif text == "/facts":
            answer = {"text": "| No. | Fact |\n| --- | --- |\n| 7 | a \\*cut\\* \x1b[31mred |\n\nAnd **more** `code`."}
        elif text == "/summarize 2-5":
            self.play_summary(None, params["conversationId"])
        self.reply(request, {"text": f"Ran {text}"} | answer)

    def on_usage(self, request: Json, params: Json) -> None:
        """After a command the context is less full than after a turn."""
        self.reply(request, USAGE | {"compact": "1.1k / 200k (1%)"})

    def on_adoption_list(self, request: Json, params: Json) -> None:
        left = {"folderUri": params["folderUri"], "store": "before-1", "path": "/home/x/before"}
        self.reply(request, {"stores": [left] if self.options.left else []})

    def on_adoption_resolve(self, request: Json, params: Json) -> None:
        self.reply(request, {"conversationCount": 2, "pinCount": 1, "refused": ["c9"]})

    def on_chat(self, request: Json, params: Json) -> None:
        self.turns += 1
        conversation = params.get("conversationId") or f"conversation-{len(self.conversations) + 1}"
        if "conversationId" not in params:
            self.conversations.insert(0, self.conversation(len(self.conversations) + 1))
        token = params["partialResultToken"]
        self.delta(token, type="turn", turnId=f"turn-{self.turns}", conversationId=conversation, userMessageId=0)
        scene = getattr(self, f"scene_{params['text'].strip()}", None)
        if scene is not None:
            scene(request, params, conversation)
            return
        for piece in (f"You said in {conversation}: ", params["text"], "."):
            self.delta(token, type="text", text=piece)
        self.end_turn(request, conversation)

    def end_turn(self, request: Json, conversation: str, status: str = "committed", stop: str = "end") -> None:
        self.reply(request, {"conversationId": conversation, "turnId": f"turn-{self.turns}", "status": status,
                             "messageIds": [0, 1], "usage": USAGE, "stopReason": stop})  # fmt: skip

    def delta(self, token: str, **value: Any) -> None:
        self.seq += 1
        self.send({"method": "$/progress", "params": {"token": token, "value": {"seq": self.seq, **value}}})

    # ---------------------------------------------------------------------------------------------------- the scenes

    def scene_shared(self, request: Json, params: Json, conversation: str) -> None:
        """While it is answered a colleague begins to write, and afterwards the colleague's answer grows."""
        self.delta(params["partialResultToken"], type="text", text="mine first")
        presence = {"conversationId": conversation, "writer": {"name": "ann", "isSelf": False, "work": "writing"}}
        self.send({"method": "palimpsest/didChangePresence", "params": presence})
        presence["writer"] |= {"turnId": "turn-of-ann"}  # type: ignore[operator]
        self.send({"method": "palimpsest/didChangePresence", "params": presence})
        self.end_turn(request, conversation)

    def scene_between(self, request: Json, params: Json, conversation: str) -> None:
        """A colleague has asked and was answered between two looks; then the sharing ends."""
        for self.shared in ("current", "detached"):
            change = {"conversationId": conversation, "seq": 1}
            self.send({"method": "palimpsest/didChangeConversation", "params": change})
            for _ in range(1 if self.shared == "detached" else 3):
                read = self.await_message(lambda message: message.get("method") == "palimpsest/conversation/read")
                self.on_conversation_read(read, read["params"])
        self.end_turn(request, conversation)

    def scene_busy(self, request: Json, params: Json, conversation: str) -> None:
        """Somebody else writes, so nothing is stored."""
        data = {"kind": "shared_busy", "retryable": True, "holder": "ann", "canFork": True}
        self.send({"id": request["id"], "error": {"code": -32803, "message": "ann is writing.", "data": data}})

    def scene_apart(self, request: Json, params: Json, conversation: str) -> None:
        moved = {"conversationId": conversation, "title": "Herons", "forkId": "f", "forkTitle": "Herons (apart)"}
        self.send({"method": "palimpsest/didMoveApart", "params": {**moved, "at": 2}})
        self.end_turn(request, conversation)

    def scene_fail(self, request: Json, params: Json, conversation: str) -> None:
        self.delta(params["partialResultToken"], type="text", text="half of ")
        self.fail(request, -32803, "The provider is overloaded; try again later.", "overloaded")

    def scene_log(self, request: Json, params: Json, conversation: str) -> None:
        sys.stderr.write("context-guard/loop-init step=0\n")
        sys.stderr.flush()
        self.end_turn(request, conversation, "committed")

    def scene_broken(self, request: Json, params: Json, conversation: str) -> None:
        data = {"kind": "network", "retryable": True, "turnId": "turn-1"}
        self.send({"id": request["id"], "error": {"code": -32803, "message": "It broke off.", "data": data}})

    def scene_slow(self, request: Json, params: Json, conversation: str) -> None:
        self.delta(params["partialResultToken"], type="text", text="one two")
        cancel = self.await_message(lambda message: message.get("method") == "palimpsest/turn/cancel")
        self.reply(cancel, {"status": "cancelled"})
        self.end_turn(request, conversation, "cancelled")

    def scene_held(self, request: Json, params: Json, conversation: str) -> None:
        """Goes on when the file LOG.go is there. Meanwhile commands are answered, and nothing else."""
        self.delta(params["partialResultToken"], type="text", text="one two")
        while not os.path.exists(f"{self.options.log}.go"):
            if self.arrived or select.select([0], [], [], 0.02)[0]:
                self.take(next(self.messages))
        self.delta(params["partialResultToken"], type="text", text=" and the rest")
        self.end_turn(request, conversation)

    def scene_page(self, request: Json, params: Json, conversation: str) -> None:
        for piece in re.findall(r".{1,7}", PAGE, re.DOTALL):
            self.delta(params["partialResultToken"], type="text", text=piece)
        self.end_turn(request, conversation)

    def scene_stuck(self, request: Json, params: Json, conversation: str) -> None:
        """Goes on when it is cancelled; only `$/cancelRequest` ends it, and that without an answer."""
        self.delta(params["partialResultToken"], type="text", text="one two")
        stops = ("palimpsest/turn/cancel", "$/cancelRequest")
        while self.await_message(lambda message: message.get("method") in stops)["method"] != stops[1]:
            self.delta(params["partialResultToken"], type="text", text=" three")

    def scene_die(self, request: Json, params: Json, conversation: str) -> None:
        self.delta(params["partialResultToken"], type="text", text="half of ")
        sys.stderr.write("one\nMemoryError: no more room\n")
        sys.stderr.flush()
        os._exit(3)

    def scene_noise(self, request: Json, params: Json, conversation: str) -> None:
        self.delta(params["partialResultToken"], type="text", text="half of ")
        os.write(1, b"a stray print\r\n")

    def scene_tools(self, request: Json, params: Json, conversation: str) -> None:
        token = params["partialResultToken"]
        self.delta(token, type="thinking", text="I must ")
        self.delta(token, type="thinking", text="look.")
        self.delta(token, type="text", text="Looking.")
        for call in ("a", "b"):
            self.delta(token, type="toolCall", callId=call, name="read_file")
            self.delta(token, type="toolArguments", callId=call, text='{"path": ')
            self.delta(token, type="toolArguments", callId=call, text=f'"{call}.py"}}')
        self.delta(token, type="done")
        for call in ("a", "b"):
            self.delta(token, type="toolStart", callId=call, name="read_file")
        self.delta(token, type="toolResult", callId="b", name="read_file", text="1\n2\n3\n")
        self.delta(token, type="toolResult", callId="a", name="read_file", text="1\n")
        self.delta(token, type="toolCall", callId="c", name="propose_edit")
        self.delta(token, type="toolArguments", callId="c", text='{"path": "c.py"}')
        self.delta(token, type="toolStart", callId="c", name="propose_edit")
        self.delta(token, type="toolResult", callId="c", name="propose_edit", text="Nobody can.\nx", isError=True)
        self.delta(token, type="text", text="Found it.")
        self.end_turn(request, conversation, stop="output_limit")

    def scene_tests(self, request: Json, params: Json, conversation: str) -> None:
        """A program that writes runs until it is cancelled."""
        token = params["partialResultToken"]
        self.delta(token, type="toolCall", callId="a", name="run_command")
        self.delta(token, type="toolArguments", callId="a", text='{"command": ["pytest", "-q"]}')
        self.delta(token, type="done")
        self.delta(token, type="toolStart", callId="a", name="run_command")
        for written in ("collected 3\n\n\x1b[2Jtwo of th", "ree passed"):
            self.delta(token, type="toolOutput", callId="a", name="run_command", text=written)
        cancel = self.await_message(lambda message: message.get("method") == "palimpsest/turn/cancel")
        self.reply(cancel, {"status": "cancelled"})
        self.end_turn(request, conversation, "cancelled")

    def scene_hostile(self, request: Json, params: Json, conversation: str) -> None:
        text = "\x1b]0;owned\x07\x1b[2Jred\u202etxt\x9b31m\ttab\r\nline \ud800"
        self.delta(params["partialResultToken"], type="text", text=text)
        self.end_turn(request, conversation)

    def scene_newer(self, request: Json, params: Json, conversation: str) -> None:
        self.delta(params["partialResultToken"], type="hologram", text="?")
        self.delta(params["partialResultToken"], type="hologram", text="!")
        self.delta(params["partialResultToken"], type="text", text="flat")
        self.end_turn(request, conversation)

    def scene_summary(self, request: Json, params: Json, conversation: str) -> None:
        self.play_summary(params["workDoneToken"], conversation)
        self.delta(params["partialResultToken"], type="text", text="after it")
        self.end_turn(request, conversation)

    def scene_asked(self, request: Json, params: Json, conversation: str) -> None:
        """Requests of the server's own; how they were answered is the answer."""
        for at, method in enumerate(("workspace/inlayHint/refresh", "window/workDoneProgress/create")):
            self.send({"id": f"own-{at}", "method": method, "params": {"token": "t"}})
            answer = self.await_message(lambda message, at=at: message.get("id") == f"own-{at}")  # type: ignore[misc]
            said = answer["error"]["code"] if "error" in answer else answer["result"]
            self.delta(params["partialResultToken"], type="text", text=f"{method} {said}\n")
        self.end_turn(request, conversation)

    def scene_bug(self, request: Json, params: Json, conversation: str) -> None:
        sys.stderr.write("ZeroDivisionError in turns.py\n")
        sys.stderr.flush()
        self.delta(params["partialResultToken"], type="text", text="half of ")
        self.fail(request, -32603, "Something went wrong inside the server; its log says more.", "internal")

    def scene_malformed(self, request: Json, params: Json, conversation: str) -> None:
        self.reply(request, {"conversationId": 5})

    def play_summary(self, token: str | None, conversation: str) -> None:
        def event(kind: str, **fields: Any) -> None:
            params = {"conversationId": conversation, "type": f"context_{kind}", "timestamp": "2026-11-21T10:00:00Z"}
            self.send({"method": "palimpsest/contextEvent", "params": {**params, **fields}})

        def work(**value: Any) -> None:
            self.send({"method": "$/progress", "params": {"token": token, "value": value}})

        work(kind="begin", title="Summarizing")
        event("summarization_start", strategy="threshold", totalItems=8)
        event("summarization_progress", strategy="threshold", itemsProcessed=4, totalItems=8)
        work(kind="report", message="half way", percentage=50)
        event("summarization_complete", strategy="threshold", itemsProcessed=8, tokensSaved=6000)
        work(kind="end")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--conversations", type=int, default=0)
    parser.add_argument("--corrected", type=int, default=0)
    parser.add_argument("--running", action="store_true")
    parser.add_argument("--version", type=int, default=1)
    for name in ("--crash", "--left", "--tells", "--slow", "--offline", "--mistyped"):
        parser.add_argument(name, action="store_true")
    Server(parser.parse_args()).run()


if __name__ == "__main__":
    main()
