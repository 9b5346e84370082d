"""The servers of one folder: which are configured, which run, and who may start one.

Servers run in trusted folders only. One that a file of the folder asks for is started after the user has approved
exactly its command or address; the answer is kept among the folder's approvals.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from palimpsest.domain.approvals import START_SERVER, Answer, Rule, decide
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.mcp.config import Origin, ServerConfig, filled_in, start_request
from palimpsest.domain.mcp.folder_files import MAX_FILE_BYTES, TABLES, Configured, read_file, together
from palimpsest.machine import utc_now
from palimpsest.services.mcp.connection import Connect
from palimpsest.services.mcp.server import McpServer, ServerState, ServerStatus
from palimpsest.services.tools.run_command import scrubbed
from palimpsest.services.workspace.encoding import decode
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.trust import FolderTrust
from palimpsest.storage import approvals
from palimpsest.storage.store import Store
from palimpsest.wording import nearest

FIRST_WAIT_S: Final = 15.0
"""The longest wait of a turn for servers that start for the first time."""
_UNTRUSTED: Final = "You do not trust this folder, so no program is started in it."
_SWITCHED_OFF: Final = "It is switched off in {origin}."
_REFUSED: Final = "You refused it. `/approvals` lists that, and takes it back."
_ASKS: Final = "{origin} of this folder asks for it. It is started when you approve it."


@dataclass(frozen=True, slots=True)
class McpSetup:
    """What the servers of a folder are made with."""

    user: Mapping[str, ServerConfig]
    """The servers of the user's own settings."""
    environ: Mapping[str, str]
    """The server's environment, from which variables are filled in."""
    connect: Connect


class McpServers:
    """The servers of one folder, for as long as it is open. Use it on one event loop."""

    def __init__(self, root: Path, store: Store, trust: FolderTrust, changed: Callable[[], None]) -> None:
        self._root, self._store, self._trust, self._changed = root, store, trust, changed
        self._setup: McpSetup | None = None
        """None: the folder is used without such servers."""
        self._running: dict[str, McpServer] = {}
        self._resting: dict[str, ServerStatus] = {}
        """The servers that do not run."""
        self._ending: set[asyncio.Task[None]] = set()
        self._refreshing = asyncio.Lock()
        self._is_closed = False
        self.problems: tuple[str, ...] = ()
        """A sentence for each configuration that does not count."""

    # ------------------------------------------------------------------------------------------------------ which run

    async def take(self, setup: McpSetup | None) -> None:
        """The servers by the current settings, files and trust."""
        if setup is None and self._setup is None:
            return
        self._setup = setup
        await self.refresh()

    async def refresh(self) -> None:
        """Read the folder's files and the user's answers again, and start and stop what follows from them."""
        async with self._refreshing:
            wanted = await self._wanted()
            if self._is_closed:
                return
            before = self.statuses(), self.problems
            starting = {each.config.name: each.config for each in wanted if each.state is ServerState.STARTING}
            for name, server in list(self._running.items()):
                if starting.get(name) != server.config:
                    self._end(name)
            self._resting = {each.config.name: each for each in wanted if each.state is not ServerState.STARTING}
            for name, config in starting.items():
                if name not in self._running:
                    self._start(config)
            if before != (self.statuses(), self.problems):
                self._changed()

    async def _wanted(self) -> list[ServerStatus]:
        """Each configured server, as it is to be: `starting` for those that are to run."""
        setup = self._setup
        if setup is None:
            self.problems = ()
            return []
        user = Configured(tuple(setup.user.values()))
        files = await asyncio.to_thread(read_files, self._root) if self._trust.is_trusted else Configured()
        found = together([user, files])
        self.problems = found.problems
        rules: list[Rule] = []
        if any(each.needs_approval for each in found.servers):
            rules = [kept.rule for kept in await self._store.read(approvals.rules)]
        return [self._judged(config, rules) for config in found.servers]

    def _judged(self, config: ServerConfig, rules: Sequence[Rule]) -> ServerStatus:
        if not self._trust.is_trusted:
            return ServerStatus(config, ServerState.OFF, _UNTRUSTED)
        if not config.is_enabled:
            return ServerStatus(config, ServerState.OFF, _SWITCHED_OFF.format(origin=config.origin.value))
        if not config.needs_approval:
            return ServerStatus(config, ServerState.STARTING)
        match decide(rules, start_request(config)):
            case Answer.ALWAYS:
                return ServerStatus(config, ServerState.STARTING)
            case Answer.NEVER:
                return ServerStatus(config, ServerState.OFF, _REFUSED)
        return ServerStatus(config, ServerState.UNAPPROVED, _ASKS.format(origin=config.origin.value))

    def _start(self, config: ServerConfig) -> None:
        assert self._setup is not None
        fill_in = functools.partial(carried_out, environ=self._setup.environ, root=self._root)
        self._running[config.name] = McpServer(config, fill_in, self._setup.connect, self._changed)

    def _end(self, name: str) -> None:
        ending = asyncio.create_task(self._running.pop(name).stop(), name=f"end mcp server {name}")
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Ends every server, and everything that they started."""
        self._is_closed = True
        async with self._refreshing:
            for name in list(self._running):
                self._end(name)
        if self._ending:
            await asyncio.wait(set(self._ending))

    # -------------------------------------------------------------------------------------------------- for the user

    def statuses(self) -> list[ServerStatus]:
        """Every configured server, by name."""
        found = {**self._resting, **{name: server.status for name, server in self._running.items()}}
        return [found[name] for name in sorted(found)]

    def status(self, name: str) -> ServerStatus:
        """Raises NotFound."""
        found = {each.config.name: each for each in self.statuses()}
        if name not in found:
            near = nearest(name, found)
            more = f" Did you mean {near[0]}?" if near else " `/mcp` lists the servers."
            raise NotFound(f"There is no MCP server {name[:40]!r}.{more}")
        return found[name]

    async def answer(self, name: str, fingerprint: str, *, is_approved: bool) -> ServerStatus:
        """Keep the user's answer about a server that a file of the folder asks for. `fingerprint`: of the configuration
        that the user saw. Raises NotFound, and InvalidRequest when it is another one by now."""
        await self.refresh()
        config = self.status(name).config
        if not config.needs_approval:
            raise InvalidRequest(f"The server {name} is in your own settings and needs no approval.")
        if config.fingerprint != fingerprint:
            raise InvalidRequest(f"The server {name} is configured differently now. Look at it again: `/mcp`.")
        request = start_request(config)
        rule = Rule(START_SERVER, request.words, Answer.ALWAYS if is_approved else Answer.NEVER)
        await self._store.run(approvals.keep, rule, utc_now())
        await self.refresh()
        return self.status(name)

    async def restart(self, name: str) -> ServerStatus:
        """End a server and start it again; one that was given up is tried again. Raises NotFound or InvalidRequest."""
        await self.refresh()
        status = self.status(name)
        if name not in self._running:
            raise InvalidRequest(f"The server {name} does not run. {status.sentence}")
        async with self._refreshing:
            if (server := self._running.get(name)) is not None and not self._is_closed:
                self._end(name)
                self._start(server.config)
        self._changed()
        return self.status(name)

    # ------------------------------------------------------------------------------------------------------ for others

    def running(self) -> list[McpServer]:
        """The servers that run, or are to run, by name."""
        return [self._running[name] for name in sorted(self._running)]

    def find(self, config: ServerConfig) -> McpServer | None:
        """The server that runs by exactly this configuration."""
        server = self._running.get(config.name)
        return server if server is not None and server.config == config else None

    async def settled(self) -> None:
        """Wait for servers that start for the first time, a short while: a turn that began without their tools would
        be followed by one with another frame."""
        waiting = [server.settled for server in self._running.values() if not server.settled.is_set()]
        if not waiting:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FIRST_WAIT_S):
                for each in waiting:
                    await each.wait()


def carried_out(config: ServerConfig, environ: Mapping[str, str], root: Path) -> ServerConfig:
    """The configuration with its variables, folder and environment filled in. Raises InvalidRequest."""
    filled = filled_in(config, environ, str(root))
    env = {**scrubbed(environ), **filled.env} if filled.command else {}
    return replace(filled, env=env, cwd=str(root / (filled.cwd or ".")))


def read_files(root: Path) -> Configured:
    """The servers that the files of a trusted folder ask for. Only regular files in the folder are opened."""
    return together([_read(WorkspaceFiles(root), origin) for origin in TABLES])


def _read(files: WorkspaceFiles, origin: Origin) -> Configured:
    try:
        found = decode(files.read_below(tuple(origin.value.split("/")), MAX_FILE_BYTES))
    except FileNotFoundError:
        return Configured()
    except OSError as error:
        return Configured(problems=(f"{origin.value} cannot be read: {error.strerror or error}.",))
    return Configured(problems=(f"{origin.value} is no text.",)) if found is None else read_file(origin, found.text)
