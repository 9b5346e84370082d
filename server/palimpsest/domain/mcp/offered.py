"""What a server of the Model Context Protocol offers: tools, resources and prompts, under names that are ours.

A tool appears to the model as `SERVER__TOOL`. Every provider accepts such a name: letters, digits, `_` and `-`, at most
64 characters. Where the server's name of a tool has something else, or is too long, a digest of it stands at the end,
so two tools never get one name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from palimpsest.domain.approvals import ApprovalRequest, visible
from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.messages import clean_text
from palimpsest.domain.tools import ToolSchema, declaration_problem
from palimpsest.wording import counted

_T = TypeVar("_T")

SEPARATOR: Final = "__"
MAX_TOOLS: Final = 128
"""The most tools of one server: every declaration is part of every request."""
MAX_LISTED: Final = 1_000
"""The most resources, and the most prompts, of one server."""
MAX_URI_CHARACTERS: Final = 2_000
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 8_000
_N_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A tool as its server declares it, unchecked."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    is_read_only: bool
    """The server's word that a call changes nothing (`readOnlyHint`)."""
    problem: str | None = None
    """Why `parameters` are no JSON Schema, where somebody knows; without a period."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the model may call."""

    name: str
    """The server's name of it."""
    schema: ToolSchema
    """The declaration to the model, under our name."""
    is_read_only: bool


@dataclass(frozen=True, slots=True)
class OfferedResource:
    """A text or a file that a server holds."""

    uri: str
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class OfferedPrompt:
    """A message that a server words."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """Everything that a server offers now."""

    tools: tuple[OfferedTool, ...] = ()
    """By name."""
    resources: tuple[OfferedResource, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    problems: tuple[str, ...] = ()
    """A sentence for each thing that is left out."""

    def find_tool(self, schema: ToolSchema) -> OfferedTool | None:
        """The tool that is declared exactly so."""
        return next((tool for tool in self.tools if tool.schema == schema), None)


def tool_name(server: str, tool: str) -> str:
    """The model's name of a tool."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", tool)
    name = f"{server}{SEPARATOR}{plain}"
    if plain == tool and len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_N_DIGITS]
    return f"{name[: _LONGEST_NAME - _N_DIGITS - 1]}_{digest}"


def offered_tools(config: ServerConfig, declared: Sequence[DeclaredTool]) -> tuple[list[OfferedTool], list[str]]:
    """The tools that are offered, by name, and a sentence for each one that is left out."""
    found: dict[str, OfferedTool] = {}
    problems: list[str] = []
    wanted = [each for each in declared if config.tools is None or each.name in config.tools]
    for name in config.tools or ():
        if all(each.name != name for each in declared):
            problems.append(f"The server has no tool {visible(name)!r}, which mcp.{config.name}.tools names.")
    for each in wanted:
        shown = visible(each.name)[:80]
        if not each.name:
            problems.append("A tool without a name is left out.")
        elif (problem := each.problem or declaration_problem(each.description, each.parameters)) is not None:
            problems.append(f"The tool {shown!r} is left out: {problem}.")
        elif (name := tool_name(config.name, each.name)) in found:
            problems.append(f"The server declares the tool {shown!r} twice. The first one counts.")
        elif len(found) >= MAX_TOOLS:
            problems.append(
                f"The tool {shown!r} is left out: a server may have {MAX_TOOLS} of them. Name those that you need in "
                f"mcp.{config.name}.tools."
            )
        else:
            parameters = {key: value for key, value in each.parameters.items() if key != "$schema"}
            schema = ToolSchema(name, _described(each.description), parameters or {"type": "object", "properties": {}})
            found[name] = OfferedTool(each.name, schema, each.is_read_only)
    return [found[name] for name in sorted(found)], problems


def _described(description: str) -> str:
    text = clean_text(description)[0].strip()
    return text if len(text) <= _LONGEST_DESCRIPTION else f"{text[:_LONGEST_DESCRIPTION]}…"


def offered(
    config: ServerConfig,
    tools: Sequence[DeclaredTool],
    resources: Sequence[OfferedResource],
    prompts: Sequence[OfferedPrompt],
    notes: Sequence[str] = (),
) -> Offer:
    """What counts of what a server lists. `notes`: further sentences about what is left out."""
    taken, problems = offered_tools(config, tools)
    problems += notes
    kept_resources = _distinct(resources, lambda each: each.uri, "resource", MAX_URI_CHARACTERS, problems)
    kept_prompts = _distinct(prompts, lambda each: each.name, "prompt", 100, problems)
    return Offer(tuple(taken), tuple(kept_resources), tuple(kept_prompts), tuple(problems))


def _distinct(listed: Sequence[_T], key: Callable[[_T], str], noun: str, longest: int, problems: list[str]) -> list[_T]:
    """The first of each key, at most `MAX_LISTED`."""
    found: dict[str, _T] = {}
    n_twice = n_unfit = 0
    for each in listed:
        if not 0 < len(key(each)) <= longest or any(character.isspace() for character in key(each)):
            n_unfit += 1
        elif key(each) in found:
            n_twice += 1
        else:
            found[key(each)] = each
    if n_unfit:
        problems.append(f"{counted(n_unfit, noun)} cannot be named in a message: too long, or with blanks.")
    if n_twice:
        problems.append(f"{counted(n_twice, noun)} came twice under one name. The first one counts.")
    if len(found) > MAX_LISTED:
        problems.append(f"Only the first {MAX_LISTED:,} {noun}s are offered.")
    return list(found.values())[:MAX_LISTED]


def tool_request(config: ServerConfig, name: str, arguments: str) -> ApprovalRequest:
    """The request for a call of a server's tool; `arguments` is JSON in any layout. An answer that is kept holds for
    this tool of exactly this server: one that is configured anew is asked about again."""
    return ApprovalRequest(
        name,
        (config.fingerprint,),
        f"Let the MCP server {config.name} run {visible(name)}?",
        visible(arguments, keep="\n"),
    )
