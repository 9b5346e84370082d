"""What must be true of facts and their places, from the rows of the store and the files as they are."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.folder import Files, lines_of
from tests.simulation.world import Server, World

from palimpsest.domain.facts.fact import FactId, StoredFact
from palimpsest.machine import machine
from palimpsest.services.facts.watcher import SWEEP_S

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_DAY_S: Final = 24 * 3600.0
_RESTORABLE_S: Final = 30 * _DAY_S
_BELOW: Final = 3
"""Lines below a place that must be the same for it to be surely the same: a block may have grown."""
_LINKS: Final = """
    SELECT link.id, fact, file_path, sha256, anchor, start_line, end_line, state
    FROM fact_source_link AS link JOIN fact_source ON fact_source.id = source JOIN fact ON fact.id = fact
    WHERE closed_at IS NULL ORDER BY link.id
"""


@dataclass(frozen=True, slots=True)
class _Forgotten:
    known: StoredFact
    at: datetime


@dataclass(eq=False, slots=True)
class KeptFacts:
    """The record of what a run did to facts, beside the store."""

    world: World
    taken: set[FactId] = field(default_factory=set)
    """Facts that may rest on something else since the last look."""
    forgotten: dict[FactId, _Forgotten] = field(default_factory=dict)
    maybe_restored: set[FactId] = field(default_factory=set)
    latest: datetime = field(default_factory=machine.now)
    """What the clock has ever said."""
    _said: dict[int, tuple[int, list[str]]] = field(default_factory=dict)
    """By place: its fact, and the lines it stands for."""
    _n_injections: int = 0
    _gone: frozenset[str] = frozenset()
    """What facts said that were forgotten before the last look."""
    _servers: list[Server] = field(default_factory=list)

    def forget(self, known: StoredFact) -> None:
        self.look_at_clock()
        self.forgotten[known.id] = _Forgotten(known, machine.now())
        self.maybe_restored.discard(known.id)

    def look_at_clock(self) -> None:
        self.latest = max(self.latest, machine.now())

    def look(self, oracle: Oracle) -> None:
        self.look_at_clock()
        self.world.disk.repair()
        for each in self.world.servers_of(self.world.root):
            session = each.session
            if session is not None and session.folder.store.reads_until_writable:  # what only reads looks at no file
                self.world.do(each, self.world.open_folder(each))
        keepers = [each for each in self.world.servers_of(self.world.root) if each.session is not None]
        if not keepers or not oracle.view.exists:
            return
        files = self.world.part(Files)
        places = [row[0] for row in oracle.view.ask(_LINKS)]
        if files.changed or keepers != self._servers or places != list(self._said):
            is_waited_for = False
            while files.changed or not is_waited_for:  # an editor may save meanwhile
                files.changed, is_waited_for = False, True
                self._wait(SWEEP_S + 5.0)
            self._servers = [each for each in keepers if each in self.world.servers]
        self._look_at_places(oracle, files)
        self._look_at_rows(oracle)
        self._look_at_forgotten(oracle)
        for server in self._servers:
            self.world.do(server, self._look_at_server(server, oracle))

    def _wait(self, seconds: float) -> None:
        """Waits for the periodic look at files."""
        end_s = self.world.loop.now_s + seconds
        while self.world.loop.now_s < end_s and self.world.loop.step():
            pass
        self.world.settle()

    # --------------------------------------------------------------------------------------------------------- places

    def _look_at_places(self, oracle: Oracle, files: Files) -> None:
        said: dict[int, tuple[int, list[str]]] = {}
        for link, fact, path, sha256, anchor, *where in oracle.view.ask(_LINKS):
            was, now = files.texts.get(sha256), files.read(path)
            if was is None:
                self.world.problem("place in no version", path)
                continue
            self._look_at_state(files, path, sha256, anchor, was, now, where)
            start, end, state = where
            if state == "fresh":
                stands = _lines(was, start, end)
                owner, before = self._said.get(link, (fact, stands))
                is_taken = {owner, fact} & self.taken or path in files.given
                if stands != before and not is_taken:
                    self.world.problem("place says something else", f"{path}: {before} became {stands}")
                said[link] = fact, stands
            else:
                said[link] = self._said.get(link) or (fact, _lines(was, *_span(anchor)))
        self._said = said
        self.taken.clear()

    def _look_at_state(
        self, files: Files, path: str, sha256: str, anchor: str, was: str, now: str | None, where: list[Any]
    ) -> None:
        start, end, state = where
        is_given = sha256 in files.given.get(path, ())
        if now is None:
            if state != "missing" and not is_given:
                self.world.problem("place of a missing file", f"{state} in {path}")
            return
        if files.know(now) == sha256:
            if state != "fresh":
                self.world.problem("stale as it was", f"{state} in {path}")
        elif state == "fresh":
            if not is_given:
                self.world.problem("fresh of another version", path)
        elif _stands(anchor, was, now):
            self.world.problem("stale though it stands", f"{state} in {path}")
        text = was if is_given and state == "fresh" else now
        if start is not None and state != "missing" and not 1 <= start <= end <= len(text.split("\n")):
            self.world.problem("lines beyond the file", f"{start}-{end} in {path}")

    # ----------------------------------------------------------------------------------------------------------- rows

    def _look_at_rows(self, oracle: Oracle) -> None:
        ask = oracle.view.ask
        for kind, content, n in ask(
            "SELECT fact_type, content, COUNT(*) FROM fact WHERE closed_at IS NULL "
            "GROUP BY fact_type, lower(content) HAVING COUNT(*) > 1"
        ):
            self.world.problem("fact twice", f"{n} of {kind}: {content}")
        for path, n in ask(
            "SELECT file_path, COUNT(*) FROM fact_source_link JOIN fact_source ON fact_source.id = source "
            "GROUP BY fact, source, anchor HAVING COUNT(*) > 1"
        ):
            self.world.problem("place twice", f"{n} in {path}")
        known = {fact for (fact,) in ask("SELECT id FROM fact")}
        found = {-row for (row,) in ask("SELECT id FROM passage_search_docsize WHERE id < 0")}
        if known != found:
            self.world.problem("index of facts", f"{len(known - found)} are not in it, {len(found - known)} are gone")
        for (path,) in ask(
            "SELECT file_path FROM fact_source WHERE NOT EXISTS "
            "(SELECT 1 FROM fact_source_link WHERE source = fact_source.id)"
        ):
            self.world.problem("version of nothing", path)

    def _look_at_forgotten(self, oracle: Oracle) -> None:
        ask = oracle.view.ask
        left = {fact for (fact,) in ask("SELECT fact FROM forgotten")}
        known = dict(ask("SELECT id, content FROM fact"))
        for fact, each in list(self.forgotten.items()):
            is_old = (self.latest - each.at).total_seconds() >= _RESTORABLE_S
            said = each.known.evidence
            is_purged = said is not None and any(
                row.is_purged
                for row in oracle.view.rows.values()
                if (row.owner, row.id) == (said.conversation_id, said.message_id)
            )
            if is_old or is_purged or fact in self.maybe_restored:
                if fact not in left:
                    del self.forgotten[fact]
            elif fact not in left:
                self.world.problem("forgotten for good", each.known.fact.content)
            elif fact in known:
                self.world.problem("forgotten and there", each.known.fact.content)
        ((newest,),) = ask("SELECT COALESCE(MAX(id), 0) FROM injection")
        if newest > self._n_injections:
            for (text,) in ask("SELECT text FROM injection WHERE kind = 'recall' AND id > ?", self._n_injections):
                for content in sorted(self._gone - set(known.values())):
                    if content in text:
                        self.world.problem("forgotten fact told", content)
        self._n_injections = newest
        # What a message says as well may be recalled from there.
        pinned = (each.known.fact.content for each in self.forgotten.values() if each.known.evidence is None)
        self._gone = frozenset(content for content in pinned if content not in known.values())

    async def _look_at_server(self, server: Server, oracle: Oracle) -> None:
        assert server.session is not None
        keeper = server.session.folder.facts.keeper
        open_facts = oracle.view.ask("SELECT id, content FROM fact WHERE closed_at IS NULL ORDER BY id")
        ((n_stale,),) = oracle.view.ask(
            "SELECT COUNT(*) FROM fact WHERE closed_at IS NULL AND id IN "
            "(SELECT fact FROM fact_source_link WHERE state IN ('changed', 'missing'))"
        )
        counts = await keeper.counts()
        if (counts.n_open, counts.n_stale) != (len(open_facts), n_stale):
            self.world.problem("counts", f"{counts}, not {len(open_facts)} and {n_stale}")
        for fact, content in open_facts[-2:]:
            if fact not in {each.id for each in await keeper.search(content, 50)}:
                self.world.problem("fact not found", content)
        listed = {each.id for each in await keeper.forgotten()}
        now = machine.now()
        for each in self.forgotten.values():
            is_young = (self.latest - each.at).total_seconds() < _RESTORABLE_S and each.at <= now
            if is_young and each.known.id not in self.maybe_restored and each.known.id not in listed:
                self.world.problem("cannot be restored", each.known.fact.content)


def _lines(text: str, start: int | None, end: int | None) -> list[str]:
    """The lines at a place that are not empty; none for a whole file, which is not compared."""
    return [] if start is None or end is None else [each for each in lines_of(text)[start - 1 : end] if each]


def _span(anchor: str) -> tuple[int | None, int | None]:
    """The lines in the version that it was made of; None for a whole file."""
    told = json.loads(anchor) if anchor != "bytes" else {}
    return told.get("start") or None, told.get("end") or None


def _stands(anchor: str, was: str, now: str) -> bool:
    """Whether a place is surely as it was: with all above it and what follows, or with all below and what is before."""
    start, end = _span(anchor)
    if start is None or end is None or not _lines(was, start, end):
        return False
    old, new = ([" ".join(line.split()) for line in text.split("\n")] for text in (was, now))
    if old[: end + _BELOW] == new[: end + _BELOW]:
        return True
    tail = len(old) - max(0, start - 2)
    return start > 1 and len(new) >= tail and old[-tail:] == new[-tail:]


def look(world: World, oracle: Oracle) -> None:
    if world.has(KeptFacts):
        world.part(KeptFacts).look(oracle)
