"""Simulated servers on one machine, composed by the product's own composition root: only the edges of the process are
other ones (event loop, threads, time, ids, the disk's errors, what tells of files, models' services)."""

from __future__ import annotations

import atexit
import contextlib
import gc
import logging
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar
from unittest import mock

from filelock import FileLock
from tests.simulation.disk import Disk, connections_on
from tests.simulation.listening import Listening, place_of, unheard
from tests.simulation.scheduler import NODE, Node, Schedule, SimLoop, SimThread
from tests.simulation.service import LARGE, MAX_OUTPUT, SMALL, WINDOWS, Bytes, Clients, NoStoredKeys, Service

from palimpsest.app.compose import Composer
from palimpsest.app.folder_settings import FolderSettings
from palimpsest.app.hubs import HubPool
from palimpsest.app.places import Places, store_directory
from palimpsest.data import load_frame, load_model_table
from palimpsest.domain.errors import ErrorKind, PalimpsestError, StoreError
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.settings.settings import ContextSettings, HubSettings, LibrarianSettings, ModelSettings, Settings
from palimpsest.domain.upgrade import TellUpgrade
from palimpsest.machine import machine
from palimpsest.services.facts.folder_events import FolderEvents, Take
from palimpsest.services.folder.folders import EditorsWord, Folders
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.models.editor_models import EditorModels
from palimpsest.services.models.keys import Keys
from palimpsest.services.models.live_limits import LiveLimits
from palimpsest.storage import server_locks
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.maintenance import store_files

T = TypeVar("T")
S = TypeVar("S")

BASE: Final = Path(os.environ.get("SIMULATION_DIR") or ("/dev/shm" if os.path.isdir("/dev/shm") else "/tmp")) / (
    f"palimpsest-simulation-{os.getpid()}"
)
"""Of this process; in memory where there is such a place."""
_MOST_STEPS: Final = 400_000
"""Until it must be quiet: ten sessions that follow each other take 200 a second."""


FOLDER: ContextVar[Path | None] = ContextVar("folder", default=None)
"""For which folder the code runs. Tasks inherit it; None: the one of the world."""


def settings_of(variant: int) -> Settings:
    """One of the ways in which a folder may be set up."""
    v = random.Random(f"settings {variant}")
    window: dict[str, Any] = {"max_output": MAX_OUTPUT, "buffer": 200, "tokenizer": "cl100k_base"}
    return Settings(
        model=SMALL,
        targets=v.choice(((), (LARGE,))),
        context=ContextSettings(
            infinity=v.random() < 0.85,
            layout=v.choices(("log", "librarian"), (6, 1))[0],
            summary_kind=v.choice(("extractive", "hybrid", "llm")),
            preserve_recent=v.choice((1, 4)),
        ),
        librarian=LibrarianSettings(daily_tokens=v.choice((0, 0, 200_000))),
        models={name: ModelSettings(window=size, **window) for name, size in WINDOWS.items()},
        redaction=v.random() < 0.2,
        storage_path=str(BASE / "data"),
    )


@dataclass(slots=True)
class SettingsReader:
    """Stands for `FolderSettingsReader`: settings by a number that the editor says."""

    variant: int
    """Where the editor has said none."""
    hub: HubSettings
    user_file: Path = Path("/nowhere/config.toml")

    def read(self, root: Path, word: EditorsWord) -> FolderSettings:
        settings, learns = settings_of(int(word.settings.get("variant", self.variant))), word.settings.get("librarian")
        settings = replace(settings, librarian=replace(settings.librarian, enabled=learns is not False))
        settings = replace(settings, run_command=word.settings.get("programs") is True, hub=self.hub)
        return FolderSettings(settings, bool(word.is_trusted), dict(word.settings), ())

    def read_again(self, root: Path, word: EditorsWord, before: FolderSettings) -> FolderSettings:
        return self.read(root, word)


class NoEvents:
    """Stands for what tells of files, where none change."""

    most_folders: Final = 1_000

    def __init__(self, take: Take) -> None: ...

    def watch(self, folder: str) -> None: ...

    def let_go(self, folder: str) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Opening:
    """The opening of a store by a server."""

    began_at: int
    """The step."""
    n_failed: int
    """Statements that the disk had refused by then."""


@dataclass(eq=False, slots=True)
class Server:
    """A simulated server process."""

    node: Node
    folders: Folders
    root: Path
    is_busy: list[Callable[[], bool]] = field(default_factory=list)
    """Whether anything else of it is under way, such as at its edge."""
    is_private: bool = False
    """Whether it lives with one editor, and nobody else asks it."""
    opened: dict[str, Opening] = field(default_factory=dict)
    """By what its stores call it."""
    sessions: list[FolderSession] = field(default_factory=list)
    """All that it ever opened, each as it was then."""
    killed_at: int | None = None
    """The step; None: it lives."""

    @property
    def session(self) -> FolderSession | None:
        """The session of the folder, where it is open."""
        opening = self.folders._sessions.get(self.root)
        if opening is None or not opening.done() or opening.cancelled() or opening.exception() is not None:
            return None
        return opening.result()

    @property
    def is_idle(self) -> bool:
        return (
            self.node.is_quiet
            and (self.session is None or self.session.folder.is_idle)
            and not any(is_busy() for is_busy in self.is_busy)
        )


@dataclass(eq=False, slots=True)
class Request:
    """Something a client asked for."""

    kind: str
    server: Server
    task: Any = None
    was_cancelled: bool = False

    @property
    def is_answered(self) -> bool:
        return self.task is not None and self.task.done()


@dataclass(eq=False, slots=True)
class Woken:
    """A process that had no processor for a while."""

    at: int
    """Its step."""
    n_looks: int
    """Of its looks at what is hidden those that were under way: the one call each of them allows may still come."""


@dataclass(eq=False, slots=True)
class World:
    """One run: a folder, its servers, and what their clients know."""

    loop: SimLoop
    variant: int
    service: Service
    disk: Disk
    root: Path = BASE / "work"
    homes: list[Path] = field(init=False)
    """The folder of each machine: of this one, and of those with which conversations are shared."""
    hub_settings: HubSettings = field(default_factory=HubSettings)
    open_hubs: Callable[[Path], Any] = lambda _: HubPool({}, Places(BASE, BASE))
    """The ways to hubs of a new server on the machine with that folder."""
    servers: list[Server] = field(default_factory=list)
    graveyard: list[Server] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    conversations: list[ConversationId] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    """What is wrong: a short name, and what was seen."""
    wall_s: float = 0.0
    """By how much the wall clock is off."""
    woken: dict[Node, Woken] = field(default_factory=dict)
    """Servers that got a processor again, each as it did last."""
    kept: set[str] = field(default_factory=set)
    """Words of messages that a user has moved into an input, which is the user's own."""
    has_unlocked: bool = False
    """Whether a server was taken for dead that lives: it may hear that it lost a conversation."""
    open_events: Callable[[Take], FolderEvents] = NoEvents
    on_server: list[Callable[[Server], None]] = field(default_factory=list)
    """Called with each server that begins."""
    kinds: set[str] = field(default_factory=set)
    """Of the operations that were carried out."""
    _parts: dict[type, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.homes = [self.root]

    def part(self, kind: Callable[[World], S]) -> S:
        """The state of an area of operations in this run, made at its first use."""
        key: Any = kind
        if key not in self._parts:
            self._parts[key] = kind(self)
        found: S = self._parts[key]
        return found

    def has(self, kind: type) -> bool:
        """Whether such a part was asked for."""
        return kind in self._parts

    def problem(self, name: str, seen: str = "") -> None:
        if (name, seen) not in self.problems:
            self.problems.append((name, seen))

    @property
    def directory(self) -> Path:
        """The directory of the store."""
        return self.directory_of(self.root)

    @staticmethod
    def directory_of(root: Path) -> Path:
        return store_directory(BASE / "data" / "folders", root)

    def make_home(self, root: Path) -> None:
        """A folder with an empty store."""
        root.mkdir(parents=True)
        if (template := BASE / "template.db").exists():
            self.directory_of(root).mkdir(parents=True, mode=0o700)
            shutil.copy(template, self.directory_of(root) / DATABASE_NAME)

    # ---------------------------------------------------------------------------------------------------------- servers

    def add_server(self, root: Path | None = None) -> Server:
        """A new process on the machine with that folder, this one without; its store is opened by the first request."""
        root = root or self.root
        node = Node(f"s{len(self.servers) + len(self.graveyard)}")
        node.context.run(FOLDER.set, None if root == self.root else root)
        hubs = node.context.run(self.open_hubs, root)
        table = load_model_table()
        parts: tuple[Any, ...] = (
            SettingsReader(self.variant, self.hub_settings),
            Clients({self.service.name: self.service}),
            table,
            Bytes(),
            LiveLimits(BASE / "live.json"),
            load_frame(),
            EditorModels(),
            hubs,
            lambda take: self.open_events(take),
        )
        composer = Composer({}, *parts)
        opened: dict[str, Opening] = {}
        sessions: list[FolderSession] = []

        async def open_session(root: Path, word: EditorsWord, tell: TellUpgrade) -> FolderSession:
            FOLDER.set(root)
            opening = Opening(self.loop.n_steps, self.disk.n_failed)
            session = await composer.open_session(root, word, tell)
            opened[session.folder.store.server_id] = opening
            sessions.append(session)
            return session

        folders = Folders(
            open_session, composer.renew, Keys({}, NoStoredKeys(), lambda _, __: None), parts[6], parts[1]
        )
        folders.hold(root, self)
        server = Server(node, folders, root, opened=opened, sessions=sessions)
        self.loop.nodes.append(node)
        self.servers.append(server)
        for tell in self.on_server:
            tell(server)
        return server

    def server(self, number: int) -> Server:
        """One of those that anybody may ask; the first when there is none."""
        home = self.homes[number % len(self.homes)]
        found = [server for server in self.servers_of(home) if not server.is_private]
        return found[number // len(self.homes) % len(found)] if found else self.add_server(home)

    def servers_of(self, root: Path) -> list[Server]:
        return [server for server in self.servers if server.root == root]

    def kill(self, server: Server) -> None:
        """The process ends as by SIGKILL: the system lets go of its files and locks, and nothing else happens."""
        server.node.kill()
        server.killed_at = self.loop.n_steps
        self.loop.nodes.remove(server.node)
        self.servers.remove(server)
        self.graveyard.append(server)  # nothing of it may be finalized: its `finally` blocks would run
        self.requests = [request for request in self.requests if request.server is not server]

    # --------------------------------------------------------------------------------------------------------- requests

    def request(self, kind: str, server: Server, work: Callable[[Request], Coroutine[Any, Any, None]]) -> Request:
        """Sets work going, as a request of its own. An error that no client expects is a problem."""
        request = Request(kind, server)
        request.task = self.loop.spawn(server.node, self._answered(request, work))
        self.requests.append(request)
        return request

    async def _answered(self, request: Request, work: Callable[[Request], Coroutine[Any, Any, None]]) -> None:
        folders = request.server.folders
        folders.hold(request.server.root, request)
        try:
            await work(request)
        except BaseException as error:
            if isinstance(error, Exception):
                self.judge(request.kind, error)
            elif not request.was_cancelled:
                self.problem("cancelled", f"{request.kind} was cancelled by nobody")
                raise
            else:
                raise
        finally:
            folders.leave(request.server.root, request)

    def judge(self, kind: str, error: Exception) -> None:
        """Whether a client may be answered with that."""
        if isinstance(error, StoreError):
            if not self.disk.n_failed:
                self.problem("store", f"{kind}: {error}")
        elif isinstance(error, PalimpsestError):
            if error.kind is ErrorKind.LEASE_LOST and self.has_unlocked:
                return
            if error.kind in (ErrorKind.INTERNAL, ErrorKind.CONTEXT_TOO_LONG, ErrorKind.LEASE_LOST):
                self.problem("request", f"{kind}: {error.kind} {error}")
        else:
            self.problem("request", f"{kind}: {type(error).__name__} at {place_of(error)}")

    async def open_folder(self, server: Server) -> FolderSession:
        """The session as a request gets it."""
        return await server.folders.get(server.root)

    def newest_opening(self, root: Path) -> int:
        """The step at which the folder's store, open now, began to be opened, the last since which no disk failed.
        When nothing is under way, what was left open or undone before is closed and done. 0 where there is none."""
        sessions = [(server, server.session) for server in self.servers_of(root)]
        opened = [server.opened[session.folder.store.server_id] for server, session in sessions if session is not None]
        return max((each.began_at for each in opened if each.n_failed == self.disk.n_failed), default=0)

    # --------------------------------------------------------------------------------------------------------- its time

    def is_idle(self) -> bool:
        """Whether nothing is under way but what goes on for ever."""
        if self.requests:
            self.requests = [request for request in self.requests if not request.is_answered]
        return not self.requests and all(server.is_idle for server in self.servers)

    def settle(self, limit_s: float = 900.0) -> None:
        """Goes on until nothing is under way."""
        end_s, n_most = self.loop.now_s + limit_s, self.loop.n_steps + _MOST_STEPS
        while not self.is_idle():
            if self.loop.now_s > end_s or self.loop.n_steps > n_most or not self.loop.step():
                kinds = sorted({request.kind for request in self.requests})
                self.problem("hang", ", ".join(kinds) or "something in the background")
                for server in list(self.servers):
                    self.kill(server)
                return

    def do(self, server: Server, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of a coroutine on a server, carried out to its end; None where it has none."""
        task = self.loop.spawn(server.node, work)
        while not task.done():
            if not self.loop.step():
                self.problem("hang", "a look at the state")
                return None
        return task.result()


class _Lock(FileLock):
    """Let go of when its process ends."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if (node := NODE.get(None)) is not None:
            node.held.append(lambda: self.release(force=True))


@contextlib.contextmanager
def simulated(
    schedule: Schedule,
    variant: int,
    truth: float,
    watch: Callable[[World, Any], None] = lambda *_: None,
    *,
    keeps_trace: bool = False,
) -> Iterator[World]:
    """A world with an empty store; afterwards all is as it was. `watch` is called with each request to a service."""
    for part in ("data", "work", "homes", "live.json"):
        shutil.rmtree(BASE / part, ignore_errors=True)
    (BASE / "live.json").unlink(missing_ok=True)
    service = Service(truth, lambda context: watch(world, context))
    world = World(SimLoop(schedule, keeps_trace=keeps_trace), variant, service, Disk())
    world.make_home(world.root)
    ids = random.Random(variant)
    begun = datetime(2026, 1, 1, tzinfo=UTC)

    def now() -> datetime:
        return begun + timedelta(seconds=world.loop.now_s + world.wall_s)

    def new_id() -> str:
        return f"{ids.getrandbits(128):032x}"

    listening, logger = Listening(world.problem), logging.getLogger("palimpsest")
    logger.addHandler(listening)
    was_propagated, logger.propagate = logger.propagate, False

    def hear(_: object, told: dict[str, Any]) -> None:
        if "never retrieved" not in told["message"]:  # said when the collector comes by, and whoever waited was told
            world.problem("loop", f"{told['message']} {type(told.get('exception')).__name__}")

    world.loop.set_exception_handler(hear)
    gc.disable()  # when it comes is not ours to choose
    try:
        with (
            mock.patch.object(machine, "call_thread", SimThread),
            mock.patch.object(machine, "now", now),
            mock.patch.object(machine, "monotonic_s", world.loop.time),
            mock.patch.object(machine, "new_id", new_id),
            mock.patch.object(sqlite3, "connect", connections_on(world.disk)),
            mock.patch.object(server_locks, "FileLock", _Lock),
            mock.patch.object(store_files, "FileLock", _Lock),
        ):
            yield world
            for server in list(world.servers):
                world.kill(server)
    finally:
        # What was dropped is finalized here, where nobody listens: coroutines that never ended try to clean up.
        logger.removeHandler(listening)
        with unheard(logger):
            world.loop.forget()
            for each in (world.graveyard, world.requests, world.on_server, world._parts):
                each.clear()
        logger.propagate = was_propagated
        gc.enable()


def make_template() -> None:
    """An empty store, once a process: bringing the schema up takes longer than a run."""
    if (BASE / "template.db").exists():
        return
    atexit.register(shutil.rmtree, BASE, ignore_errors=True)
    with simulated(Schedule(None), 0, 1.0) as world:
        server = world.add_server()
        world.do(server, world.open_folder(server))
        world.settle()
        world.kill(server)
        with contextlib.closing(sqlite3.connect(world.directory / DATABASE_NAME)) as database:
            database.execute("VACUUM INTO ?", (str(BASE / "template.db"),))
    gc.collect()
    gc.freeze()  # what is loaded now stays, and need not be looked at after every run
