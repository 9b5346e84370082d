"""One turn on the wire: every message that an editor and the server exchange in a short session, in their order.

`record` plays the session against a server in this process, whose model says what a script tells it. dev/one_turn.json
keeps the messages, and PROTOCOL.md begins with them. Ids, times and the folder's place are replaced, so that each run
gives the same text.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from palimpsest.app import compose, model_clients
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.models.provider import (
    Finished,
    StopReason,
    StreamEvent,
    TextDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)
from palimpsest.lsp.runtime.transport import serve
from palimpsest.lsp.server import build_server
from palimpsest.wire.codec.framing import FrameDecoder

Message = dict[str, Any]

_FILE: Final = "prices.py"
_BEFORE: Final = "RATE = 0.19\n\n\ndef gross(net):\n    return net * (1 + RATE)\n"
_AFTER: Final = _BEFORE.replace("net * (1 + RATE)", "round(net * (1 + RATE), 2)")
_BY_HAND: Final = _AFTER.replace("0.19", "0.2")
_EDIT: Final = {
    "path": _FILE,
    "edits": [{"old_text": "return net * (1 + RATE)", "new_text": "return round(net * (1 + RATE), 2)"}],
}
_REPLIES: Final[tuple[tuple[StreamEvent, ...], ...]] = (
    (
        TextDelta("I will round the result."),
        ToolCallStart("call_1", "propose_edit"),
        ToolArguments("call_1", json.dumps(_EDIT)),
        Finished(StopReason.TOOL_CALLS, TokenUsage(input_tokens=1_480, output_tokens=60)),
    ),
    (
        TextDelta("Done: `gross` now "),
        TextDelta("rounds to cents."),
        Finished(StopReason.END, TokenUsage(input_tokens=1_600, output_tokens=12)),
    ),
)
"""What the model says to each request of the turn."""

_ID: Final = re.compile(r"\b[0-9a-f]{32}\b")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(slots=True)
class _Step:
    """A part of the session, and the messages that belong to it."""

    caption: str
    messages: list[tuple[str, Message]] = field(default_factory=list)
    """Each with its sender, `editor` or `server`."""


class _Model:
    """A model client that plays `_REPLIES`, each event only after the editor has seen what came before it."""

    name = "openai"

    def __init__(self, editor: _Editor) -> None:
        self._editor = editor
        self._replies = iter(_REPLIES)

    async def stream(self, _: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        await self._editor.notification("palimpsest/didChangeUsage")
        for event in next(self._replies):
            yield event
            if not isinstance(event, Finished):
                await self._editor.notification("$/progress")

    async def aclose(self) -> None:
        """It has nothing to close."""


class _Editor:
    """An editor in memory. It is both ends of the connection and writes everything down."""

    def __init__(self, folder: Path) -> None:
        self.uri = (folder / _FILE).as_uri()
        self.steps: list[_Step] = []
        self._to_server: asyncio.Queue[bytes] = asyncio.Queue()
        self._decoder = FrameDecoder()
        self._ids = itertools.count(1)
        self._changed = asyncio.Event()
        self._unseen: Counter[str | None] = Counter()
        """How many messages of a method came that nobody has waited for; answers are under None."""
        self._answers: Final[dict[str, Callable[[], Any]]] = {
            "palimpsest/approval/request": lambda: {"answer": "once"},
            "workspace/applyEdit": self._apply,
        }

    # What `serve` reads from and writes to.

    async def read(self) -> bytes:
        return await self._to_server.get()

    def write(self, data: bytes) -> None:
        for body in self._decoder.feed(data):
            self._receive(json.loads(body))

    async def finish(self, timeout_s: float) -> None:
        """Everything is read already."""

    def _receive(self, message: Message) -> None:
        self.steps[-1].messages.append(("server", message))
        method = message.get("method")
        self._unseen[method] += 1
        self._changed.set()
        if method is not None and "id" in message:
            self.send({"id": message["id"], "result": self._answers[method]()})

    def _apply(self) -> Message:
        self.change(2, _AFTER)
        return {"applied": True}

    # What the session is made of.

    def begin(self, caption: str) -> None:
        """Begin a step of the session."""
        self.steps.append(_Step(caption))

    def send(self, message: Message) -> None:
        self.steps[-1].messages.append(("editor", {"jsonrpc": "2.0"} | message))
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self._to_server.put_nowait(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, params: Message | None = None) -> None:
        self.send({"method": method} | ({} if params is None else {"params": params}))

    async def request(self, method: str, params: Message | None = None) -> Any:
        """The result of a request."""
        self.send({"id": next(self._ids), "method": method} | ({} if params is None else {"params": params}))
        self._unseen[None] = 0
        await self._until(lambda: self._unseen[None] > 0)
        return next(m for sender, m in reversed(self.steps[-1].messages) if sender == "server" and "method" not in m)[
            "result"
        ]

    async def notification(self, method: str) -> None:
        """Wait for the next notification of a method; all that came so far count as seen then."""
        await self._until(lambda: self._unseen[method] > 0)
        self._unseen[method] = 0

    def change(self, version: int, text: str) -> None:
        """Tell the server of the whole text of the open file."""
        document = {"uri": self.uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()


async def _play(editor: _Editor, folder: Path) -> None:
    editor.begin(
        "The editor introduces itself, asks for the notifications of this protocol, and passes on that the user trusts "
        "the folder."
    )
    await editor.request(
        "initialize",
        {
            "processId": None,
            "clientInfo": {"name": "example"},
            "capabilities": {
                "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
                "experimental": {"palimpsest": {"notifications": True}},
            },
            "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
            "initializationOptions": {"palimpsest": {"trust": True}},
        },
    )
    editor.notify("initialized", {})

    editor.begin("The user opens a file and pins a fact to its first line.")
    document = {"uri": editor.uri, "languageId": "python", "version": 1, "text": _BEFORE}
    editor.notify("textDocument/didOpen", {"textDocument": document})
    pinned = {"content": "The tax rate is 0.19.", "fileUri": editor.uri, "startLine": 0}
    await editor.request("palimpsest/facts/pin", pinned)
    await editor.notification("palimpsest/didChangeFacts")

    editor.begin("The user begins a conversation.")
    conversation = await editor.request("palimpsest/conversation/create", {"model": "gpt-4o"})

    editor.begin(
        "One turn. The answer comes as deltas on the token that the editor chose. The model calls a tool that changes "
        "a file, so the server asks the user. The editor applies the edit, the model reads the result of its call and "
        "ends its answer. The request is answered last."
    )
    chat = {
        "requestId": "a5c1",
        "text": "Round gross prices to cents.",
        "conversationId": conversation["conversationId"],
        "partialResultToken": "answer",
    }
    await editor.request("palimpsest/chat", chat)

    editor.begin("Behind the turn, the server learns a fact from it.")
    await editor.notification("palimpsest/didChangeFacts")
    await editor.request("palimpsest/facts/list", {"limit": 1})

    editor.begin("The user changes the line that the pinned fact rests on, and the server marks the line.")
    editor.change(3, _BY_HAND)
    await editor.notification("textDocument/publishDiagnostics")

    editor.begin("The editor ends the server. The conversation is kept.")
    await editor.request("shutdown")
    editor.notify("exit")


async def _session(home: Path) -> list[_Step]:
    folder = home / "shop"
    folder.mkdir()
    (folder / _FILE).write_text(_BEFORE, "utf-8")
    editor = _Editor(folder)
    server = build_server(compose.load_folders, owns_folders=True)
    serving = asyncio.create_task(serve(server, editor.read, editor))
    with patch.object(model_clients, "build_client", lambda *_: _Model(editor)):
        await _play(editor, folder)
        await serving
    return editor.steps


@functools.cache
def record() -> str:
    """The text of dev/one_turn.json: the session is played once in a process."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-one-turn-") as directory:
        home = Path(directory).resolve()
        environ = {
            "HOME": str(home),
            **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("DATA", "CACHE", "STATE", "CONFIG")},
            "OPENAI_API_KEY": "none",
            "PALIMPSEST_MODEL": "gpt-4o",
            "PALIMPSEST_LIBRARIAN_DAILY_TOKENS": "0",
            "PALIMPSEST_SUMMARIZATION_KIND": "extractive",
        }
        with patch.dict(os.environ, environ, clear=True):
            steps = asyncio.run(_session(home))
        text = json.dumps([asdict(step) for step in steps], indent=2, ensure_ascii=False) + "\n"
        return _without_what_differs(text, home)


def _without_what_differs(text: str, home: Path) -> str:
    """The text with a fixed folder, fixed times, and ids that are numbered in their order."""
    numbers: dict[str, str] = {}
    text = text.replace(home.as_uri(), "file:///home/ada").replace(str(home), "/home/ada")
    text = _TIME.sub("2026-01-05T09:30:00.000Z", text)
    return _ID.sub(lambda found: numbers.setdefault(found[0], f"{len(numbers) + 1:032x}"), text)
