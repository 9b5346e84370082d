"""Tools that editors bring while they have the folder open. They run in the editor."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.approvals import editor_tool_request
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.tools import ToolSchema, declaration_problem
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.arguments import read_object
from palimpsest.services.tools.editors import EditorGone, Editors, EditorTool
from palimpsest.services.tools.toolbox import Tool, ToolOutput, TurnScope
from palimpsest.wording import counted

MAX_TOOLS: Final = 64
"""The most tools of one editor: every declaration is part of every request."""
PREFIX: Final = "editor_"
"""The prefix that the model sees before the editor's name of a tool. No built-in tool has it, so neither kind can be
mistaken for the other, in a call or in a stored approval."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,57}")
"""Names that, with the prefix, every provider accepts."""


def to_editor_tool(
    name: str,
    description: str,
    parameters: Mapping[str, Any],
    *,
    is_read_only: bool,
    is_for_mentions: bool = False,
) -> EditorTool:
    """The tool that an editor declares. No parameters mean a tool without arguments. Raises InvalidRequest."""
    if not _NAME.fullmatch(name):
        raise InvalidRequest("A tool's name has 1 to 57 letters, digits, `_` and `-`, and nothing else.")
    parameters = parameters or {"type": "object", "properties": {}}
    if (problem := declaration_problem(description, parameters)) is not None:
        raise InvalidRequest(f"The tool {name!r} cannot be declared: {problem}.")
    return EditorTool(ToolSchema(PREFIX + name, description, parameters), is_read_only, is_for_mentions)


def check_together(tools: Sequence[EditorTool]) -> None:
    """Raises InvalidRequest for tools that one editor cannot bring together."""
    if len(tools) > MAX_TOOLS:
        raise InvalidRequest(f"An editor may bring at most {MAX_TOOLS} tools, not {len(tools)}.")
    (name, n_times), *_ = Counter(tool.schema.name for tool in tools).most_common(1) or [("", 0)]
    if n_times > 1:
        raise InvalidRequest(
            f"{counted(n_times, 'tool')} are called {name.removeprefix(PREFIX)!r}. Give each a name of its own."
        )


@dataclass(frozen=True, slots=True)
class EditorTools:
    """The tools that the editors of one folder bring now."""

    editors: Editors
    approvals: Approvals

    def __call__(self, scope: TurnScope) -> Sequence[Tool]:
        return [
            Tool(tool.schema, _Call(self, scope, tool).run, tool.is_read_only)
            for _, tool in self.editors.tools().values()
            if not tool.is_for_mentions
        ]


@dataclass(frozen=True, slots=True)
class _Call:
    offered: EditorTools
    scope: TurnScope
    tool: EditorTool

    async def run(self, text: str) -> ToolOutput:
        name = self.tool.schema.name
        arguments = read_object(text)
        if not self.tool.is_read_only:
            shown = json.dumps(arguments, ensure_ascii=False, indent=2)
            await self.offered.approvals.require(self.scope, editor_tool_request(name, shown))
        # The editor is looked up after the wait: it may have left, and another one may have the same tool.
        editor, tool = self.offered.editors.tools().get(name, (None, None))
        if editor is None or tool is None or tool.is_read_only != self.tool.is_read_only:
            raise InvalidRequest(f"The editor with the tool {name!r} has left. Go on without it.")
        try:
            return await editor.run_tool(self.scope, name.removeprefix(PREFIX), arguments)
        except EditorGone:
            sentence = "The editor left while the tool ran."
            if not self.tool.is_read_only:
                sentence += " It is unknown whether the tool took effect: check before you run it again."
            return ToolOutput(sentence, is_error=True)
