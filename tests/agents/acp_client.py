"""The official Python SDK of the Agent Client Protocol, as a client of the installed command."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp.helpers import text_block
from tests.agents.conftest import COMMAND
from tests.lsp.rawlsp import environment
from tests.lsp.real_server import home

WAIT_S = 60.0


@dataclass
class Client:
    """An editor's view: every update, in the order of arrival."""

    updates: list[Any] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    """The permission requests: tool call and options."""
    allow: Callable[[Any], str | None] = lambda _: None
    """Which option is chosen; None: the request is dismissed."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def on_connect(self, conn: Any) -> None: ...

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self._news.set()

    async def request_permission(self, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append((tool_call, list(options)))
        chosen = self.allow(options)
        if chosen is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits for updates until something is so."""
        async with asyncio.timeout(WAIT_S):
            while not holds():
                self._news.clear()
                await self._news.wait()

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.updates if update.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind) if update.content.type == "text")


@dataclass
class Connection:
    client: Client
    agent: Any
    process: Any
    folder: Path

    async def new(self) -> str:
        opened = await self._soon(self.agent.new_session(cwd=str(self.folder), mcp_servers=[]))
        session_id: str = opened.session_id
        return session_id

    async def load(self, session_id: str) -> Any:
        return await self._soon(self.agent.load_session(cwd=str(self.folder), session_id=session_id, mcp_servers=[]))

    async def ask(self, session_id: str, *blocks: Any) -> str:
        """The stop reason."""
        prompt = [text_block(each) if isinstance(each, str) else each for each in blocks]
        answered = await self._soon(self.agent.prompt(session_id=session_id, prompt=prompt))
        reason: str = answered.stop_reason
        return reason

    @staticmethod
    async def _soon(request: Any) -> Any:
        return await asyncio.wait_for(request, WAIT_S)


@contextlib.asynccontextmanager
async def agent(directory: Path, folder: Path, **more: str) -> AsyncIterator[Connection]:
    """An initialized connection; the agent's home is in `directory`. Ends the agent with the block."""
    client = Client()
    env = environment(**home(directory, **more))
    async with acp.spawn_agent_process(
        client, COMMAND, "acp", env=env, transport_kwargs={"stderr": None, "shutdown_timeout": WAIT_S}
    ) as (connection, process):
        async with asyncio.timeout(WAIT_S):
            hello = await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.protocol_version == 1
        assert hello.agent_capabilities.load_session
        yield Connection(client, connection, process, folder)
