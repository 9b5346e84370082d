"""A connection with a server of the Model Context Protocol, as the services use it. `palimpsest.mcp_client` makes them,
with the package of the extra `mcp`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.mcp.content import Answer, Block
from palimpsest.domain.mcp.offered import Offer


class McpFailure(Exception):
    """The server cannot be used now. The message is a sentence for the user and for the model. The services catch this
    error."""

    def __init__(self, sentence: str, *, detail: str = "", is_over: bool = False, is_final: bool = False) -> None:
        super().__init__(sentence)
        self.detail = detail
        """The server's own words about it, for the user alone; empty when there are none."""
        self.is_over = is_over
        """Whether the connection has ended with it."""
        self.is_final = is_final
        """Whether another attempt would fail as well."""


@dataclass(frozen=True, slots=True)
class PromptText:
    """One message of a prompt."""

    role: str
    """`user` or `assistant`."""
    blocks: tuple[Block, ...]


Progress = Callable[[str], None]
"""Takes a line about how far a call is."""


class Connection(Protocol):
    """One connection. Every method raises McpFailure; cancelling one tells the server."""

    async def offer(self) -> Offer:
        """Everything that the server lists now."""
        ...

    async def changed(self) -> None:
        """Returns when the server has said that its lists are others now. Raises McpFailure when the connection has
        ended."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any], tell: Progress) -> Answer:
        """The answer of a tool, by the server's name of it."""
        ...

    async def read(self, uri: str) -> tuple[Block, ...]:
        """The texts and files of a resource."""
        ...

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> tuple[PromptText, ...]: ...


Connect = Callable[[ServerConfig], AbstractAsyncContextManager[Connection]]
"""Connects with a server whose variables are filled in; `env` is the whole environment of its program, and `cwd` is its
folder. Leaving the block ends the program that was started, and
everything that it started. Raises McpFailure."""
