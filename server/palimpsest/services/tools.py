"""Tools that a model may call, as the turn engine sees them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from palimpsest.domain.provider import ToolSchema


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: how it is declared, and how it runs."""

    schema: ToolSchema
    run: Callable[[str], Awaitable[ToolOutput]]
    """Takes the call's JSON arguments as the model wrote them; they may be malformed. What it raises is a failed call,
    of which the model is told no more than that."""


def by_name(tools: tuple[Tool, ...]) -> Mapping[str, Tool]:
    return {tool.schema.name: tool for tool in tools}
