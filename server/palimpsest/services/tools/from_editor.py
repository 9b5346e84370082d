"""Tools that editors bring while they have the folder open. What they do is done in the editor."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain import foreign_json
from palimpsest.domain.approvals import editor_tool_request
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.arguments import read_object
from palimpsest.services.tools.editors import EditorGone, Editors, EditorTool
from palimpsest.services.tools.toolbox import Tool, ToolOutput, TurnScope
from palimpsest.wording import counted

MAX_TOOLS: Final = 64
"""Of one editor: every declaration is part of every request."""
MAX_DECLARED_CHARACTERS: Final = 16 * 1024
"""Of one tool, description and parameters together."""
PREFIX: Final = "editor_"
"""What a model finds before the name an editor gave. No built-in tool's name begins so, so neither can stand in for the
other, in a call or in a rule of what is approved."""
_MAX_DEPTH: Final = 20
_PROPERTY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""What every provider takes for the name of an argument."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,57}")
"""With the prefix, what every provider takes for a name."""


def to_editor_tool(name: str, description: str, parameters: Mapping[str, Any], *, is_read_only: bool) -> EditorTool:
    """A tool as an editor declares it; no parameters at all mean a tool that takes none. Raises InvalidRequest."""
    if not _NAME.fullmatch(name):
        raise InvalidRequest("A tool's name has 1 to 57 letters, digits, `_` and `-`, and nothing else.")
    parameters = parameters or {"type": "object", "properties": {}}
    if parameters.get("type") != "object":
        raise InvalidRequest(f'The parameters of {name!r} must be a JSON Schema whose type is "object".')
    if not foreign_json.is_writable([description, parameters], _MAX_DEPTH):
        raise InvalidRequest(
            f"The declaration of {name!r} holds something that no request can: half a character, a number that is too "
            f"large, or more than {_MAX_DEPTH} objects inside each other."
        )
    if (problem := _problem_of(parameters)) is not None:
        raise InvalidRequest(f"The parameters of {name!r} are no JSON Schema: {problem}.")
    if len(description) + len(json.dumps(parameters, ensure_ascii=False)) > MAX_DECLARED_CHARACTERS:
        raise InvalidRequest(f"The declaration of {name!r} is longer than {MAX_DECLARED_CHARACTERS} characters.")
    return EditorTool(ToolSchema(PREFIX + name, description, parameters), is_read_only)


def _problem_of(schema: Mapping[str, Any]) -> str | None:
    """What services refuse in the schema of an object of arguments; with it, they would refuse every request."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping):
        return "`properties` is not an object"
    for name, declared in properties.items():
        if not _PROPERTY.fullmatch(name):
            return "a property's name has 1 to 64 letters, digits, `_`, `.` and `-`, and nothing else"
        if not isinstance(declared, Mapping | bool):
            return f"the property {name!r} is neither a schema nor true or false"
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "`required` is not a list of names"
    if missing := [name for name in required if name not in properties]:
        return f"it requires {missing[0]!r}, which is not among its properties"
    return None


def check_together(tools: Sequence[EditorTool]) -> None:
    """Raises InvalidRequest where one editor cannot bring these."""
    if len(tools) > MAX_TOOLS:
        raise InvalidRequest(f"An editor may bring {MAX_TOOLS} tools, not {len(tools)}.")
    (name, n_times), *_ = Counter(tool.schema.name for tool in tools).most_common(1) or [("", 0)]
    if n_times > 1:
        raise InvalidRequest(
            f"{counted(n_times, 'tool')} are called {name.removeprefix(PREFIX)!r}. Give each a name of its own."
        )


@dataclass(frozen=True, slots=True)
class EditorTools:
    """A maker of tools for one folder: those its editors bring at the moment."""

    editors: Editors
    approvals: Approvals

    def __call__(self, scope: TurnScope) -> Sequence[Tool]:
        return [
            Tool(tool.schema, _Call(self, scope, tool).run, tool.is_read_only)
            for _, tool in self.editors.tools().values()
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
        # The editor is looked up after the wait: it may have gone, and another one may have the same tool.
        editor, tool = self.offered.editors.tools().get(name, (None, None))
        if editor is None or tool is None or tool.is_read_only != self.tool.is_read_only:
            raise InvalidRequest(f"The editor that had the tool {name!r} has gone. Go on without it.")
        try:
            return await editor.run_tool(self.scope, name.removeprefix(PREFIX), arguments)
        except EditorGone:
            sentence = "The editor went away while the tool ran."
            if not self.tool.is_read_only:
                sentence += " It is unknown whether it took effect: look before you do it again."
            return ToolOutput(sentence, is_error=True)
