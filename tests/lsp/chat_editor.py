"""An editor that shows chat documents and knows nothing but LSP: it keeps a text, applies edits, and tells changes.

Two manners: one counts in UTF-16, refuses edits made for another version and tells each change at once; the other
counts in UTF-8, drops such edits and still says it has applied them, and tells its changes when it comes to it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

from tests.lsp.rawlsp import Message, RawClient
from tests.waiting import WAIT_S

Encoding = Literal["utf-16", "utf-8"]
APPLY = "workspace/applyEdit"


def capabilities(encoding: Encoding) -> dict[str, Any]:
    return {
        "general": {"positionEncodings": [encoding]},
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {"documentChanges": True},
            "codeLens": {"refreshSupport": True},
        },
        "window": {"showDocument": {"support": True}, "showMessage": {}},
    }


class ChatEditor:
    """One document, open in one editor."""

    def __init__(self, client: RawClient, path: Path, encoding: Encoding) -> None:
        self.client, self.uri, self.encoding = client, path.as_uri(), encoding
        self.path = path
        self.text = path.read_text()
        self.version = 1
        self.refuse_next = 0
        self.n_edits = 0
        self.is_slow = encoding == "utf-8"
        self._untold: list[Message] = []
        self._edited = asyncio.Event()
        self._refreshed = asyncio.Event()
        client.handlers |= {APPLY: self.apply, "workspace/codeLens/refresh": lambda _: self._refreshed.set()}

    def open(self) -> None:
        document = {"uri": self.uri, "languageId": "markdown", "version": self.version, "text": self.text}
        self.client.notify("textDocument/didOpen", {"textDocument": document})

    def close(self) -> None:
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": self.uri}})

    # ------------------------------------------------------------------------------------------------------- positions

    def units(self, text: str) -> int:
        return len(text.encode()) if self.encoding == "utf-8" else len(text.encode("utf-16-le")) // 2

    def position(self, offset: int) -> dict[str, int]:
        start = self.text.rfind("\n", 0, offset) + 1
        return {"line": self.text.count("\n", 0, offset), "character": self.units(self.text[start:offset])}

    def offset(self, position: dict[str, int]) -> int:
        lines = self.text.split("\n")
        assert position["line"] < len(lines), "behind the end of the document"
        line, at = lines[position["line"]], 0
        while self.units(line[:at]) < position["character"]:
            at += 1
        assert self.units(line[:at]) == position["character"], "in the middle of a character, or behind the line"
        return sum(len(each) + 1 for each in lines[: position["line"]]) + at

    # --------------------------------------------------------------------------------------------------------- editing

    def replace(self, start: int, end: int, text: str) -> None:
        """A change, told at once or later."""
        place = {"start": self.position(start), "end": self.position(end)}
        self.text = f"{self.text[:start]}{text}{self.text[end:]}"
        self.version += 1
        self._untold.append({"range": place, "text": text})
        if not self.is_slow:
            self.tell()
        else:
            asyncio.get_running_loop().call_later(0.02, self.tell)

    def tell(self) -> None:
        if self._untold and not self.client.writer.is_closing():
            untold, self._untold = self._untold, []
            identifier = {"uri": self.uri, "version": self.version}
            self.client.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": untold})

    def type(self, text: str) -> None:
        """At the end of the document: in the input."""
        self.replace(len(self.text), len(self.text), text)

    def apply(self, params: Any) -> Message:
        (change,) = params["edit"]["documentChanges"]
        (edit,) = change["edits"]
        self._edited.set()
        if self.refuse_next > 0 or change["textDocument"]["version"] != self.version:
            self.refuse_next -= 1
            return {"applied": self.is_slow}
        self.n_edits += 1
        self.replace(self.offset(edit["range"]["start"]), self.offset(edit["range"]["end"]), edit["newText"])
        return {"applied": True}

    async def until(self, wanted: str, *, is_there: bool = True) -> None:
        """Waits until the document holds a text, or holds it no more."""
        async with asyncio.timeout(WAIT_S):
            while (wanted in self.text) is not is_there:
                self._edited.clear()
                await self._edited.wait()

    async def settled(self) -> None:
        """Waits until the answer is written and another message could be sent."""
        async with asyncio.timeout(WAIT_S):
            self._refreshed.clear()
            while "Send" not in await self.lenses():
                await self._refreshed.wait()
                self._refreshed.clear()

    # -------------------------------------------------------------------------------------------------------- commands

    async def command(self, name: str, **more: Any) -> Message:
        arguments = [{"uri": self.uri} | more]
        params = {"command": f"palimpsest.chat.{name}", "arguments": arguments}
        return await self.client.request("workspace/executeCommand", params)

    async def command_named(self, command: str, **more: Any) -> Message:
        """Any command, about this document."""
        return await self.client.request(
            "workspace/executeCommand", {"command": command, "arguments": [{"uri": self.uri} | more]}
        )

    async def ask(self, feature: str, **more: Any) -> Any:
        return await self.client.result(f"textDocument/{feature}", {"textDocument": {"uri": self.uri}} | more)

    async def lenses(self) -> list[str]:
        return [each["command"]["title"] for each in await self.ask("codeLens")]

    async def problems(self) -> list[str]:
        return [each["code"] for each in (await self.ask("diagnostic"))["items"]]
