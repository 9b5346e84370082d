"""A server of the Model Context Protocol that does what a test says, behind the port that the services use."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.waiting import WAIT_S

from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.mcp.content import Answer, Block, Text
from palimpsest.domain.mcp.offered import DeclaredTool, Offer, OfferedPrompt, OfferedResource, offered
from palimpsest.services.mcp.connection import McpFailure, Progress, PromptText

Call = Callable[[Mapping[str, Any], Progress], Awaitable[Answer]]


async def echo(arguments: Mapping[str, Any], _progress: Progress) -> Answer:
    return Answer((Text(str(arguments.get("text", ""))),))


def tool(name: str, *, is_read_only: bool = False, description: str = "Echoes.") -> DeclaredTool:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return DeclaredTool(name, description, schema, is_read_only)


@dataclass
class ScriptedServer:
    tools: list[DeclaredTool] = field(default_factory=lambda: [tool("echo")])
    resources: list[OfferedResource] = field(default_factory=list)
    prompts: list[OfferedPrompt] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """The resources' texts, and what each prompt says."""
    calls: dict[str, Call] = field(default_factory=lambda: {"echo": echo})
    refusals: list[McpFailure] = field(default_factory=list)
    """The next attempts to connect fail so."""
    gate: asyncio.Event | None = None
    """A connection waits for it."""
    configs: list[ServerConfig] = field(default_factory=list)
    """How it was connected with, variables filled in."""
    n_open: int = 0
    n_cancelled: int = 0
    _connections: list[_Scripted] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def connect(self, config: ServerConfig) -> AsyncIterator[_Scripted]:
        self.configs.append(config)
        if self.gate is not None:
            await self.gate.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        connection = _Scripted(self, config)
        self._connections.append(connection)
        self.n_open += 1
        try:
            yield connection
        finally:
            self.n_open -= 1

    def die(self) -> None:
        self._connections[-1].news.put_nowait(McpFailure("It ended with exit status 1.", is_over=True))

    def announce(self) -> None:
        """Says that its lists have changed."""
        self._connections[-1].news.put_nowait(None)


@dataclass(eq=False)
class _Scripted:
    server: ScriptedServer
    config: ServerConfig
    news: asyncio.Queue[McpFailure | None] = field(default_factory=asyncio.Queue)

    async def offer(self) -> Offer:
        return offered(self.config, self.server.tools, self.server.resources, self.server.prompts)

    async def changed(self) -> None:
        if (failure := await self.news.get()) is not None:
            raise failure

    async def call(self, tool: str, arguments: Mapping[str, Any], progress: Progress) -> Answer:
        try:
            return await self.server.calls[tool](arguments, progress)
        except asyncio.CancelledError:
            self.server.n_cancelled += 1
            raise

    async def read(self, uri: str) -> tuple[Block, ...]:
        return (Text(self.server.texts[uri], uri),)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> tuple[PromptText, ...]:
        return (PromptText("user", (Text(self.server.texts[name].format(**arguments)),)),)


async def until(holds: Callable[[], bool]) -> None:
    """Lets others run until something is so."""
    async with asyncio.timeout(WAIT_S):
        while not holds():  # noqa: ASYNC110  # anything may bring it about
            await asyncio.sleep(0)
