"""An editor that holds documents, and applies workspace edits to them as the protocol says: versions are compared,
files are made and deleted on disk, texts are changed without saving."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from tests.lsp.rawlsp import RawClient

APPROVE, APPLY = "palimpsest/approval/request", "workspace/applyEdit"


def applies(*operations: str) -> dict[str, Any]:
    """The capabilities of an editor that applies edits and does these operations on files."""
    edits = {"documentChanges": True, "resourceOperations": list(operations)}
    return {"workspace": {"applyEdit": True, "workspaceEdit": edits}}


@dataclass(eq=False)
class Documents:
    client: RawClient
    held: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Version and text by URI."""
    before_apply: list[Callable[[], object]] = field(default_factory=list)
    """Each is done once, as an edit comes."""
    after_apply: list[Callable[[], object]] = field(default_factory=list)
    late: list[Any] | None = None
    """Where changes wait to be reported, in an editor that does so after it has answered; None in one that reports them
    at once."""
    closes_removed: bool = True
    """Whether it closes the document of a file that it removes at once."""

    def __post_init__(self) -> None:
        self.client.handlers |= {APPROVE: lambda _: {"answer": "once"}, APPLY: self._apply}

    def text(self, path: Path) -> str:
        return self.held[path.as_uri()][1]

    def open(self, uri: str) -> tuple[int, str]:
        if uri not in self.held:
            self.held[uri] = 1, _path(uri).read_bytes().decode()
            document = {"uri": uri, "languageId": "plaintext", "version": 1, "text": self.held[uri][1]}
            self.client.notify("textDocument/didOpen", {"textDocument": document})
        return self.held[uri]

    def write(self, uri: str, text: str) -> None:
        """Somebody types, or an edit is applied."""
        version = self.open(uri)[0] + 1
        self.held[uri] = version, text
        change = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
        if self.late is None:
            self.client.notify("textDocument/didChange", change)
        else:
            self.late.append(change)

    def report(self) -> None:
        """Reports what has waited."""
        while self.late:
            self.client.notify("textDocument/didChange", self.late.pop(0))

    def close(self, uri: str) -> None:
        del self.held[uri]
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def _apply(self, params: Any) -> Any:
        if self.before_apply:
            self.before_apply.pop(0)()
        changes = params["edit"]["documentChanges"]
        for each in changes:
            uri, version = each.get("textDocument", {}).get("uri"), each.get("textDocument", {}).get("version")
            if version is not None and self.held.get(uri, (None, ""))[0] != version:
                return {"applied": False, "failureReason": "the document has another version"}
        for each in changes:
            if each.get("kind") == "create":
                assert not _path(each["uri"]).exists()
                _path(each["uri"]).touch()
            elif each.get("kind") == "delete":
                if each["uri"] in self.held and self.closes_removed:
                    self.close(each["uri"])
                _path(each["uri"]).unlink()
            else:
                uri = each["textDocument"]["uri"]
                self.write(uri, edited(self.open(uri)[1], each["edits"]))
        if self.after_apply:
            self.after_apply.pop(0)()
        return {"applied": True}


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """The text after the edits, whose positions count UTF-16 code units."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]

    def offset(position: dict[str, int]) -> int:
        start = starts[position["line"]]
        units = text[start:].encode("utf-16-le")[: 2 * position["character"]]
        return start + len(units.decode("utf-16-le"))

    for edit in reversed(edits):
        start, end = (offset(edit["range"][side]) for side in ("start", "end"))
        text = text[:start] + edit["newText"] + text[end:]
    return text


def _path(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))
