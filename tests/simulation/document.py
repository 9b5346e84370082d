"""A document as a simulated editor holds it: a text with versions, what its user types, and edits of the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.simulation.editor import Editor, Message
from tests.simulation.service import WORD

_MOST_EDITS: Final = 400
"""Between two times when all is quiet."""


@dataclass(frozen=True, slots=True)
class Habit:
    """How an editor handles documents."""

    encoding: str = "utf-16"
    takes_edits: bool = True
    takes_versions: bool = True
    """Whether it is sent edits with versions, and refuses those that were made for another one."""
    lies: bool = False
    """Whether it says that it has applied what it refuses."""
    tells_whole: bool = False
    """Whether it tells changes as the whole text."""
    tells_late: bool = False
    """Whether it tells several changes at once, some time after they were made."""
    apply_s: float = 0.0
    """So long an edit waits before it is applied."""
    refuses: int = 0
    """Of a hundred edits, by chance."""

    @property
    def capabilities(self) -> Message:
        workspace = {"applyEdit": self.takes_edits, "workspaceEdit": {"documentChanges": self.takes_versions}}
        return {
            "general": {"positionEncodings": [self.encoding]},
            "workspace": workspace | {"codeLens": {"refreshSupport": True}},
            "window": {"showDocument": {"support": True}, "showMessage": {}},
            "textDocument": {"diagnostic": {}},
        }


HABITS: Final[Mapping[str, Habit]] = {
    "good": Habit(),
    "utf-8": Habit(encoding="utf-8", tells_late=True),
    "whole": Habit(tells_whole=True),
    "lying": Habit(lies=True, tells_late=True),
    "plain": Habit(takes_versions=False),
    "plain and late": Habit(takes_versions=False, tells_late=True),
    "slow": Habit(apply_s=0.5),
    "slow and plain": Habit(takes_versions=False, apply_s=0.2),
    "moody": Habit(refuses=40),
    "never": Habit(refuses=100),
    "none": Habit(takes_edits=False),
}


@dataclass(eq=False, slots=True)
class Document:
    """One open document of one editor."""

    editor: Editor
    uri: str
    path: Path
    habit: Habit
    text: str
    conversation_id: str
    version: int = 1
    typed: dict[str, bool] = field(default_factory=dict)
    """Words of the user, and whether they should still stand somewhere."""
    shown: set[str] = field(default_factory=set)
    """Words that the server has written into it: of messages, and of what was put back into the input."""
    is_scribbled: bool = False
    """Whether the user has changed what stands above the input."""
    is_open: bool = True
    version_before: int = 0
    """That it had when it was open before: an edit for that may be on its way."""
    n_edits: int = 0
    _n_asked: int = 0
    _untold: list[Message] = field(default_factory=list)

    def open(self) -> None:
        document = {"uri": self.uri, "languageId": "markdown", "version": self.version, "text": self.text}
        self.editor.notify("textDocument/didOpen", {"textDocument": document})

    def close(self) -> bool:
        """The user saves it first, unless the file is gone, as after a purge. Whether it was saved."""
        self.tell()
        if is_there := self.path.exists():
            self.path.write_text(self.text)
        self.is_open = False
        self.editor.notify("textDocument/didClose", {"textDocument": {"uri": self.uri}})
        return is_there

    # ------------------------------------------------------------------------------------------------------ positions

    def _units(self, text: str) -> int:
        return len(text.encode()) if self.habit.encoding == "utf-8" else len(text.encode("utf-16-le")) // 2

    def position(self, offset: int) -> Message:
        start = self.text.rfind("\n", 0, offset) + 1
        return {"line": self.text.count("\n", 0, offset), "character": self._units(self.text[start:offset])}

    def offset(self, position: Message) -> int:
        """The offset of a position, lenient like an editor with positions beyond an end."""
        lines = self.text.split("\n")
        if position["line"] >= len(lines):
            return len(self.text)
        line, at = lines[position["line"]], 0
        while at < len(line) and self._units(line[:at]) < position["character"]:
            at += 1
        return sum(len(each) + 1 for each in lines[: position["line"]]) + at

    # -------------------------------------------------------------------------------------------------------- changes

    def replace(self, start: int, end: int, text: str) -> None:
        """A change of the text, by whomever."""
        change: Message = {"range": {"start": self.position(start), "end": self.position(end)}, "text": text}
        self.text = f"{self.text[:start]}{text}{self.text[end:]}"
        self.version += 1
        self._untold.append({"text": self.text} if self.habit.tells_whole else change)
        if self.habit.tells_late:
            self.editor.world.loop.call_later(0.02, self.tell, context=self.editor.node.context)
        else:
            self.tell()

    @property
    def is_untold(self) -> bool:
        """Whether the server has yet to hear of a change."""
        return bool(self._untold)

    def tell(self) -> None:
        if self._untold and self.is_open:
            untold, self._untold = self._untold, []
            identifier = {"uri": self.uri, "version": self.version}
            self.editor.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": untold})

    def type(self, start: int, end: int, text: str) -> None:
        """The user types, over what stood there."""
        for word in WORD.finditer(self.text):
            if word.start() < end and start < word.end():
                self.typed[word[0]] = False
        self.replace(start, end, text)
        for word in WORD.findall(text):
            self.typed[word] = True

    def apply(self, params: Any) -> Message:
        """Applies an edit of the server, once the editor gets to it."""
        self._n_asked += 1
        refused = {"result": {"applied": self.habit.lies}}
        if not self.is_open:
            return refused
        self.n_edits += 1
        if self.n_edits > _MOST_EDITS:
            self.editor.world.problem("edits without an end", self.uri.rpartition("/")[2])
            return refused
        edits, version = _edits_of(params["edit"], self.uri)
        if (version is None) == self.habit.takes_versions:
            self.editor.world.problem("edit of the wrong kind", json.dumps(params)[:100])
        if version is not None and version > max(self.version, self.version_before):
            self.editor.world.problem("edit for a version that never was", f"{version} of {self.version}")
        is_unlucky = self._n_asked * 37 % 100 < self.habit.refuses
        if is_unlucky or (version is not None and version != self.version):
            return refused
        for edit in edits:
            start, end = (self.offset(edit["range"][each]) for each in ("start", "end"))
            self.replace(start, end, edit["newText"])
            self.shown.update(WORD.findall(edit["newText"]))
        return {"result": {"applied": True}}


def _edits_of(edit: Message, uri: str) -> tuple[list[Message], int | None]:
    """The edits of a document, and the version they were made for; None: edits without one."""
    if "documentChanges" in edit:
        (change,) = edit["documentChanges"]
        assert change["textDocument"]["uri"] == uri, change["textDocument"]
        return change["edits"], change["textDocument"]["version"]
    return edit["changes"][uri], None
