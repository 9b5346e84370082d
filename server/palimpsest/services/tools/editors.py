"""The editors that have a folder open now, as services see them: they can be asked, hold texts, and bring tools.

Several may be attached at once, and each may go away while it is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.domain.approvals import Answer, ApprovalRequest
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.tools.toolbox import ToolOutput, TurnScope


class EditorGone(Exception):
    """The editor went away before it answered. Never leaves the services."""


@dataclass(frozen=True, slots=True)
class EditorTool:
    """A tool that an editor brings."""

    schema: ToolSchema
    is_read_only: bool


@dataclass(frozen=True, slots=True)
class Replacement:
    """In a text, what stands at [start, end) becomes `text`. Counted in characters."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """An edit of one file, approved."""

    path: str
    """Below the workspace folder, with `/`."""
    before: str | None
    """The whole text that the replacements are for; None: there is no such file yet."""
    replacements: tuple[Replacement, ...]
    """In the order of the text; none overlaps another."""


class AttachedEditor(Protocol):
    """One editor, for one workspace folder."""

    @property
    def can_apply(self) -> bool:
        """Whether it takes edits with the version of the document they are for."""
        ...

    def texts(self) -> Mapping[str, str]:
        """What it holds open, by path below the folder, with `/`."""
        ...

    async def approve(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        """The user's answer; None where the editor cannot ask. Raises EditorGone."""
        ...

    async def apply(self, change: Change) -> str | None:
        """None when it was applied, else why not, as a sentence or as words of the editor. Where the document is open
        and its text is not `before` any more, nothing is applied. Raises EditorGone."""
        ...

    async def run_tool(self, scope: TurnScope, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Raises EditorGone."""
        ...


@dataclass(slots=True)
class Editors:
    """Of one folder, one object for as long as it is open."""

    _tools: dict[AttachedEditor, tuple[EditorTool, ...]] = field(default_factory=dict)

    def attach(self, editor: AttachedEditor, tools: Sequence[EditorTool] = ()) -> Callable[[], None]:
        """Returns what detaches it; its tools go with it."""
        self._tools[editor] = tuple(tools)

        def detach() -> None:
            self._tools.pop(editor, None)

        return detach

    def bring(self, editor: AttachedEditor, tools: Sequence[EditorTool]) -> None:
        """The tools of an attached editor from now on, in the place of those it had."""
        if editor in self._tools:
            self._tools[editor] = tuple(tools)

    def attached(self) -> tuple[AttachedEditor, ...]:
        """In the order they came."""
        return tuple(self._tools)

    def tools(self) -> dict[str, tuple[AttachedEditor, EditorTool]]:
        """By name. Of two of one name that of the editor counts that came first."""
        found: dict[str, tuple[AttachedEditor, EditorTool]] = {}
        for editor, tools in self._tools.items():
            for tool in tools:
                found.setdefault(tool.schema.name, (editor, tool))
        return found

    def texts(self) -> dict[str, str]:
        """What editors hold open, by path. Of two that hold the same file that of the editor counts that came first."""
        found: dict[str, str] = {}
        for editor in self._tools:
            found = {**editor.texts(), **found}
        return found
