"""The editors that have a folder open, as the services use them: they ask the user, hold texts, and bring tools.

Several may be attached at once, and each may leave while a caller waits for its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.domain.approvals import Answer, ApprovalRequest
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.tools.toolbox import ToolOutput, TurnScope


class EditorGone(Exception):
    """The editor left before it answered. The services catch this error."""


@dataclass(frozen=True, slots=True)
class EditorTool:
    """A tool that an editor brings."""

    schema: ToolSchema
    is_read_only: bool
    is_for_mentions: bool = False
    """Whether only a mention of the user runs it. No model knows of it."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The replacement of the characters [start, end) of a text by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """An approved edit of one file."""

    path: str
    """The path below the workspace folder, with `/`."""
    before: str | None
    """The whole text before the edit; None for a new file."""
    replacements: tuple[Replacement, ...]
    """The replacements, in the order of the text and without overlaps."""


class AttachedEditor(Protocol):
    """One editor, for one workspace folder."""

    @property
    def can_apply(self) -> bool:
        """Whether the editor checks the version of the document that an edit is for."""
        ...

    def texts(self) -> Mapping[str, str]:
        """The texts of its open documents, by path below the folder, with `/`."""
        ...

    async def approve(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        """The user's answer; None when the editor cannot ask. Raises EditorGone."""
        ...

    async def apply(self, change: Change) -> str | None:
        """Apply an edit. Returns None on success, otherwise the reason, as a sentence or in the editor's own words. An
        open document whose text is no longer `before` is left unchanged. When this returns, `texts` have the edit,
        unless the editor is long in saying so. Raises EditorGone."""
        ...

    async def delete(self, path: str, text: str) -> str | None:
        """Remove a file. Returns and raises like `apply`. An open document whose text is not `text` stays."""
        ...

    async def run_tool(self, scope: TurnScope, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Raises EditorGone."""
        ...


@dataclass(slots=True)
class Editors:
    """The editors of one folder, for as long as it is open."""

    _tools: dict[AttachedEditor, tuple[EditorTool, ...]] = field(default_factory=dict)

    def attach(self, editor: AttachedEditor, tools: Sequence[EditorTool] = ()) -> Callable[[], None]:
        """Attach an editor. Returns the function that detaches it together with its tools."""
        self._tools[editor] = tuple(tools)

        def detach() -> None:
            self._tools.pop(editor, None)

        return detach

    def bring(self, editor: AttachedEditor, tools: Sequence[EditorTool]) -> None:
        """Replace the tools of an attached editor."""
        if editor in self._tools:
            self._tools[editor] = tuple(tools)

    def attached(self) -> tuple[AttachedEditor, ...]:
        """The attached editors, in the order in which they came."""
        return tuple(self._tools)

    def tools(self, of: AttachedEditor | None = None) -> dict[str, tuple[AttachedEditor, EditorTool]]:
        """The editors' tools by name, or those `of` one editor. Of two tools with one name, that of the earlier editor
        counts."""
        found: dict[str, tuple[AttachedEditor, EditorTool]] = {}
        for editor, tools in self._tools.items():
            for tool in tools if of is None or of is editor else ():
                found.setdefault(tool.schema.name, (editor, tool))
        return found

    def texts(self) -> dict[str, str]:
        """The texts of open documents, by path. Of two editors with the same file, the earlier one counts."""
        found: dict[str, str] = {}
        for editor in self._tools:
            found = {**editor.texts(), **found}
        return found
