"""Another folder of a simulated machine, which may be moved, and what left the first one in files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.world import BASE, FOLDER, Server, World

from palimpsest.app.places import store_directory
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId
from palimpsest.mcp_server.record import Record
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.maintenance import health
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.maintenance.health import Verdict

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_STORES: Final = BASE / "data" / "folders"
_MOST_READ: Final = 60
_MAY_BE_FOUND: Final = ("room", "permissions", "turns")
"""Checks of doctor that may find something while servers run: of the machine, and a turn of a server that was killed a
moment ago, which the others close when they next look. At the end of a run no turn may be open."""


@dataclass(frozen=True, slots=True)
class Export:
    """A file that somebody has."""

    of: ConversationId
    text: str


@dataclass(eq=False, slots=True)
class Elsewhere:
    """The other folder of a world."""

    world: World
    exports: list[Export] = field(default_factory=list)
    left: list[Path] = field(default_factory=list)
    """Stores of the other folder as it lay before."""
    adopted: set[Path] = field(default_factory=set)
    """Those of them that were brought along, wholly."""
    n_imports: int = 0
    """That are under way."""
    wants_doctor: bool = False
    _n_moves: int = 0

    def __post_init__(self) -> None:
        shutil.rmtree(self._base, ignore_errors=True)
        self.root.mkdir(parents=True)
        self._make_store()

    @property
    def _base(self) -> Path:
        return BASE / "data" / "elsewhere"

    @property
    def root(self) -> Path:
        return self._base / f"other{self._n_moves}"

    @property
    def directory(self) -> Path:
        return store_directory(_STORES, self.root)

    def _make_store(self) -> None:
        if (template := BASE / "template.db").exists() and not self.directory.exists():
            self.directory.mkdir(parents=True, mode=0o700)
            shutil.copy(template, self.directory / DATABASE_NAME)
            (self.directory / DATABASE_NAME).chmod(0o600)

    async def open(self, server: Server) -> FolderSession:
        FOLDER.set(self.root)
        session = await server.folders.get(self.root)
        server.is_busy.append(lambda: not session.folder.is_idle)
        return session

    def move(self) -> None:
        """The folder has another name from now on, and its store is left."""
        before, directory = self.root, self.directory
        self._n_moves += 1
        self.adopted = set()  # not into this place
        before.rename(self.root)
        self._make_store()
        if directory not in self.left and rows_of(directory, "conversation"):
            self.left.append(directory)

    # --------------------------------------------------------------------------------------------------------- looking

    def look(self, oracle: Oracle) -> None:
        self.world.disk.repair()
        for left in sorted(self.adopted):
            self._look_at_adopted(left)
        if not self.wants_doctor or not self.world.servers or not oracle.view.exists:
            return
        self.wants_doctor = False
        server = self.world.servers[0]
        if server.session is None:
            return
        before = dump(self.world.directory)
        self.world.do(server, self._read_all(server.session, oracle))
        self.world.settle()
        if (changed := differing(before, dump(self.world.directory))) != []:
            self.world.problem("reading has changed", ", ".join(changed))

    def _look_at_adopted(self, left: Path) -> None:
        """What was there is here, unless it was purged or changed here meanwhile; under another id what somebody had
        imported here before, in another state; and nothing is here twice."""
        theirs = {(row[0], row[1], row[2]) for row in rows_of(left, "message", "conversation, message_id, digest")}
        owners = {row[0] for row in theirs}
        origins = rows_of(self.directory, "meta WHERE key LIKE 'origin:%'", "key, value")
        copied = {json.loads(value)["id"] for key, value in origins if key.removeprefix("origin:") not in owners}
        theirs = {row for row in theirs if row[0] not in copied}
        here = rows_of(self.directory, "message", "conversation, message_id, digest")
        if self.directory == left:
            return
        if lost := theirs - set(here):
            self.world.problem("adoption lost", f"{len(lost)} of {len(theirs)} messages")

    async def _read_all(self, session: FolderSession, oracle: Oracle) -> None:
        """As another agent reads, and as doctor looks: nothing that is gone, and nothing changes."""
        record, purged = Record(session), oracle.view.purged_words()
        listed = await record.conversations(50)
        texts = [json.dumps([each.title for each in listed.conversations])]
        for each in listed.conversations:
            hidden = oracle.view.hidden_words(each.conversation_id)
            try:
                text = await record.read(each.conversation_id, 0, min(each.n_messages - 1, _MOST_READ))
            except PalimpsestError:
                continue
            if told := sorted(word for word in hidden if word in text):
                self.world.problem("hidden word read", told[0])
            texts.append(text)
        found = await record.search("pump", None, 50)
        texts += [each.excerpt for each in found.messages]
        texts += [each.content for each in (await record.facts("pump", 50, includes_stale=True)).facts]
        if told := sorted(word for word in purged for text in texts if word in text):
            self.world.problem("purged word read", told[0])
        report = await health.examine(self.world.directory)
        for finding in report.findings:
            if finding.verdict is Verdict.PROBLEM and finding.check not in _MAY_BE_FOUND:
                self.world.problem("health", f"{finding.check}: {finding.text}")

    def end(self) -> None:
        """With no server there, doctor mends a sound store by changing nothing."""
        self.world.disk.repair()
        for server in list(self.world.servers):
            self.world.kill(server)
        server = self.world.add_server()
        for directory in (self.world.directory, self.directory):
            if not (directory / DATABASE_NAME).exists() or rows_of(directory, "pending_work"):
                continue  # what is left to do is done by whoever opens it, doctor too
            before = dump(directory)
            report = self.world.do(server, health.repair(directory))
            bad = [each.text for each in report.findings if each.verdict is Verdict.PROBLEM] if report else []
            if bad := [each for each in bad if "permissions" not in each and "free" not in each]:
                self.world.problem("doctor finds", bad[0])
            if report and report.backup is not None:
                self.world.problem("doctor mends what is sound", ", ".join(differing(before, dump(directory))))
            elif (changed := differing(before, dump(directory))) != []:
                self.world.problem("doctor changes", ", ".join(changed))


def rows_of(directory: Path, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    """All rows of a table; none where there is no store."""
    path = directory / DATABASE_NAME
    if not path.exists():
        return []
    with contextlib.closing(Context().run(sqlite3.connect, f"{path.as_uri()}?mode=ro", uri=True)) as database:
        return database.execute(f"SELECT {columns} FROM {table}").fetchall()


def dump(directory: Path) -> dict[str, str]:
    """A digest of each table's rows, but for what an index keeps for itself."""
    names = [name for (name,) in rows_of(directory, "sqlite_master WHERE type = 'table'", "name")]
    return {
        name: hashlib.sha256(repr(sorted(map(repr, rows_of(directory, name)))).encode()).hexdigest()
        for name in names
        if not name.startswith(("message_search", "passage_search"))
    }


def differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def look(world: World, oracle: Oracle) -> None:
    if world.has(Elsewhere):
        world.part(Elsewhere).look(oracle)


def end(world: World, oracle: Oracle) -> None:
    if world.has(Elsewhere) and not world.problems:
        world.part(Elsewhere).end()
