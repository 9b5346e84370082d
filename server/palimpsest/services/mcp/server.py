"""One server: it is kept running, and asked.

A server whose connection ends is connected with again, after a pause that doubles, and given up when it ends too often.
What it offered stays declared meanwhile, so a short failure changes no request.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.mcp.config import MAX_TIMEOUT_S, ServerConfig
from palimpsest.domain.mcp.content import Answer, Block
from palimpsest.domain.mcp.offered import Offer, OfferedTool
from palimpsest.machine import machine
from palimpsest.services.mcp.connection import Connect, Connection, McpFailure, Progress, PromptText
from palimpsest.wording import counted

log = logging.getLogger(__name__)

MAX_FAILURES: Final = 5
"""The most ends in a row after which a server is started again."""
STEADY_S: Final = 60.0
"""A server that ran so long had no failure before."""
FIRST_PAUSE_S: Final = 1.0
SETTLE_S: Final = 0.5
"""How long changes of lists are collected before the lists are read again."""


class ServerState(StrEnum):
    OFF = "off"
    """It is not used: switched off, refused, or wrongly configured."""
    UNAPPROVED = "unapproved"
    """A file of the folder asks for it, and the user has not answered."""
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"
    """It was given up. `restart` tries again."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server as it is now."""

    config: ServerConfig
    state: ServerState
    sentence: str = ""
    """Why it is not ready; empty when there is nothing to say."""
    offer: Offer = field(default_factory=Offer)


class McpServer:
    """One server that runs, from its making to `stop`. Use it on one event loop."""

    def __init__(
        self,
        config: ServerConfig,
        fill_in: Callable[[ServerConfig], ServerConfig],
        connect: Connect,
        changed: Callable[[], None],
    ) -> None:
        """`fill_in` raises InvalidRequest. `changed`: called when `status` is another one."""
        self._fill_in, self._connect, self._changed = fill_in, connect, changed
        self.status = ServerStatus(config, ServerState.STARTING)
        self.settled = asyncio.Event()
        """Set when the first attempt has succeeded or failed."""
        self._connection: Connection | None = None
        self._task = asyncio.create_task(self._run(), name=f"mcp server {config.name}")

    @property
    def config(self) -> ServerConfig:
        return self.status.config

    async def stop(self) -> None:
        """Ends the connection, and the program behind it."""
        self._task.cancel()
        await asyncio.wait({self._task})
        self.settled.set()

    # --------------------------------------------------------------------------------------------------------- its life

    async def _run(self) -> None:
        n_failures = 0
        while True:
            began_s = machine.monotonic_s()
            failure = await self._connected()
            said = f'{failure} It said: "{failure.detail}".' if failure.detail else str(failure)
            self._connection = None
            n_failures = 1 if machine.monotonic_s() - began_s >= STEADY_S else n_failures + 1
            if failure.is_final or n_failures > MAX_FAILURES:
                log.warning("the MCP server %s was given up", self.config.name)
                how = "" if failure.is_final else f" It was started {counted(n_failures, 'time')}, and is given up."
                self._show(ServerState.FAILED, f"{said}{how}", Offer())
                self.settled.set()
                return
            pause_s = FIRST_PAUSE_S * 2 ** (n_failures - 1)
            self._show(ServerState.STARTING, f"{said} It is started again in {pause_s:g} s.")
            self.settled.set()
            await asyncio.sleep(pause_s)
            self._show(ServerState.STARTING, f"{said} It is being started again.")

    async def _connected(self) -> McpFailure:
        """One connection from its beginning to its end; the reason of its end."""
        try:
            config = self._fill_in(self.config)
            waiting = asyncio.timeout(config.start_timeout_s)
            async with waiting:
                async with self._connect(config) as connection:
                    offer = await connection.offer()
                    waiting.reschedule(None)
                    self._connection = connection
                    self._show(ServerState.READY, "", offer)
                    self.settled.set()
                    await self._follow(connection)
            return McpFailure("The connection has ended.", is_over=True)
        except McpFailure as failure:
            return failure
        except InvalidRequest as error:
            return McpFailure(str(error), is_final=True)
        except TimeoutError:
            return McpFailure(
                f"The server did not answer within {self.config.start_timeout_s} s. If it needs longer to start, raise "
                "start_timeout_s."
            )
        except Exception as error:  # whatever the package or the server did, the folder goes on
            log.exception("the MCP server %s failed", self.config.name)
            return McpFailure(f"The connection broke ({type(error).__name__}).", is_over=True)

    async def _follow(self, connection: Connection) -> None:
        """Keeps what is offered in step, until the connection ends: McpFailure."""
        while True:
            await connection.changed()
            await asyncio.sleep(SETTLE_S)
            try:
                async with asyncio.timeout(self.config.start_timeout_s):
                    offer = await connection.offer()
            except TimeoutError:
                log.warning("the MCP server %s did not list what it offers in time", self.config.name)
            except McpFailure as failure:
                if failure.is_over:
                    raise
                log.warning("the MCP server %s did not list what it offers", self.config.name)
            else:
                if offer != self.status.offer:
                    self._show(ServerState.READY, "", offer)

    def _show(self, state: ServerState, sentence: str, offer: Offer | None = None) -> None:
        kept = self.status.offer if offer is None else offer
        self.status = replace(self.status, state=state, sentence=sentence, offer=kept)
        self._changed()

    # ----------------------------------------------------------------------------------------------------------- asking

    async def call(self, tool: OfferedTool, arguments: Mapping[str, Any], say: Progress) -> Answer:
        """`say` takes each line about how far it is. Raises InvalidRequest where it was not called, McpFailure where
        it is unknown whether it took effect."""
        connection = self._ready()
        if self.status.offer.find_tool(tool.schema) != tool:
            raise InvalidRequest(f"The server {self.config.name} no longer has this tool as it was declared.")
        async with _within(self.config.timeout_s) as go_on:

            def progress(line: str) -> None:
                go_on(line)
                say(line)

            return await connection.call(tool.name, arguments, progress)

    async def read(self, uri: str) -> tuple[Block, ...]:
        """Raises InvalidRequest."""
        connection = self._ready()
        try:
            async with _within(self.config.timeout_s):
                return await connection.read(uri)
        except McpFailure as failure:
            raise InvalidRequest(f"The server {self.config.name}: {failure}") from None

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> tuple[PromptText, ...]:
        """Raises InvalidRequest."""
        connection = self._ready()
        try:
            async with _within(self.config.timeout_s):
                return await connection.prompt(name, arguments)
        except McpFailure as failure:
            raise InvalidRequest(f"The server {self.config.name}: {failure}") from None

    def _ready(self) -> Connection:
        if self._connection is None:
            raise InvalidRequest(f"The MCP server {self.config.name} does not run now. Go on without it.")
        return self._connection


@contextlib.asynccontextmanager
async def _within(timeout_s: float) -> AsyncIterator[Progress]:
    """A block with a time limit, after which what it waits for is cancelled: McpFailure. Progress gives it the time
    again, up to the longest there is."""
    now_s = asyncio.get_running_loop().time
    last_s = now_s() + max(timeout_s, MAX_TIMEOUT_S)
    try:
        async with asyncio.timeout(timeout_s) as timeout:

            def go_on(_line: str) -> None:
                if not timeout.expired():
                    timeout.reschedule(min(now_s() + timeout_s, last_s))

            yield go_on
    except TimeoutError:
        raise McpFailure(f"It did not answer within {timeout_s:g} s, and the call was cancelled.") from None
