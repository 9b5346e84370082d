"""Takes in what the hub has of the facts of this repository. What no store of ours would push is passed over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.facts.fact import FactId, FactState, StoredFact
from palimpsest.domain.facts.staleness.anchor import BYTES_ALONE
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.sharing.facts import SharedPlace, read
from palimpsest.domain.sharing.repository import RepositoryIdentity
from palimpsest.storage.context import visibility
from palimpsest.storage.conversation import pending_work
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.facts.sources import Version
from palimpsest.storage.sharing.shared_facts import (
    NEVER_AGAIN,
    Here,
    Known,
    Share,
    Standing,
    facts_here,
    holding,
    known_facts,
    note,
    share,
)
from palimpsest.storage.sql import execute

MOST_TAKEN: Final = 2_000
"""The most facts of colleagues in one folder: a member may push any number."""
MOST_KNOWN: Final = 20_000
"""The most facts of the hub of which the store keeps the standing, though it never had them."""
MOST_BYTES_TAKEN: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Arrival:
    """A change as the hub has it. A member may have written anything into it."""

    seq: int
    key: str
    standing: str
    member: str
    name: str | None
    """As it is shown beside the fact; None for the user himself, on this machine or another one."""
    body: str | None


@dataclass(frozen=True, slots=True)
class Taken:
    """The effect of changes that were taken in."""

    paths: frozenset[str]
    """The files below the folder that new facts rest on."""
    is_changed: bool
    """Whether a fact was added, closed, opened or removed here."""
    has_forgotten: bool
    """Whether words were removed, which `pending_work` takes out of the index."""


def take(arrivals: Sequence[Arrival], cleaner: Cleaner, shared: Share, now: str) -> Taken:
    """Takes changes in, in the hub's order, unless another server has ended that sharing meanwhile. What no store of
    ours would push is passed over."""
    sharing = share()
    if sharing is None or not shared.is_with(sharing):
        return Taken(frozenset(), False, False)
    known = known_facts()
    ((n, n_bytes),) = execute("SELECT COUNT(*), COALESCE(SUM(n_bytes), 0) FROM shared_fact WHERE n_bytes > 0")
    taking = _Taking(known, facts_here(cleaner, known), shared.identity, now, n, n_bytes)
    for each in arrivals:
        if each.seq > sharing.hub_seq:  # else another server took it in meanwhile
            taking.take(each)
    if arrivals:
        execute("UPDATE repository_share SET hub_seq = MAX(hub_seq, ?)", arrivals[-1].seq)
    if taking.has_forgotten:
        pending_work.settle("passage_search")
    return Taken(frozenset(taking.paths), taking.is_changed, taking.has_forgotten)


@dataclass(slots=True)
class _Taking:
    """Changes that are taken in, in one transaction."""

    known: dict[str, Known]
    here: Here
    identity: RepositoryIdentity
    now: str
    n_theirs: int
    n_bytes: int
    paths: set[str] = field(default_factory=set)
    is_changed: bool = False
    has_forgotten: bool = False

    def take(self, arrival: Arrival) -> None:
        known = self.known.get(arrival.key)
        if known is not None and known.standing in (arrival.standing, *NEVER_AGAIN):
            return  # what was pushed from here comes back; what was forgotten stays so
        if arrival.standing == Standing.FORGOTTEN:
            self._forget(arrival)
        elif arrival.standing == Standing.CLOSED:
            self._close(arrival)
        elif arrival.standing == Standing.OPEN:
            self._open(arrival)

    def _facts(self, key: str) -> list[StoredFact]:
        return facts.read([each.id for each in self.here.by_key.get(key, ())])

    def _forget(self, arrival: Arrival) -> None:
        ids = [each.id for each in self._facts(arrival.key)]
        if not ids and arrival.key not in self.known and len(self.known) >= MOST_KNOWN:
            return
        if ids:
            visibility.untell(ids, self.now)
            facts.forget(ids)
            self.is_changed = self.has_forgotten = True
        self._settle(arrival, None)

    def _close(self, arrival: Arrival) -> None:
        found = self._facts(arrival.key)
        for each in found:
            if each.is_open:
                facts.close(each.id, self.now)
                self.is_changed = True
        if found or arrival.key in self.known:
            self._settle(arrival, found[-1].id if found else None)

    def _open(self, arrival: Arrival) -> None:
        found = self._facts(arrival.key)
        known = self.known.get(arrival.key)
        if (held := holding(found)) is not None:
            if arrival.body is not None and read(arrival.key, arrival.body) is not None:  # else the team has it not
                self._settle(arrival, held.id)
        elif found and known is not None:
            facts.open_again(found[-1].id)
            self.is_changed = True
            self._settle(arrival, found[-1].id)
        else:
            self._add(arrival)

    def _add(self, arrival: Arrival) -> None:
        shared = None if arrival.body is None else read(arrival.key, arrival.body)
        if shared is None or arrival.body is None:
            return
        n_bytes = 0 if arrival.name is None else len(arrival.body)
        if n_bytes and (self.n_theirs >= MOST_TAKEN or self.n_bytes + n_bytes > MOST_BYTES_TAKEN):
            return
        if facts.is_forgotten(shared.fact):  # the user does not want to read it again
            self._settle(arrival, None)
            return
        self.n_theirs += n_bytes > 0
        self.n_bytes += n_bytes
        inside = [(self.identity.below(place.path), place) for place in shared.places]
        if inside and all(path is None for path, _ in inside):
            self._settle(arrival, None, arrival.body, n_bytes)
            return
        fact_id = facts.add(shared.fact, 0, None, self.now)
        if arrival.name is not None:
            facts.set_author(fact_id, arrival.member, arrival.name)
        for path, place in inside:
            if path is not None:
                self._tie(fact_id, place.under(path))
        self.is_changed = True
        self.here.by_key.setdefault(arrival.key, []).append(facts.get(fact_id))
        self._settle(arrival, fact_id, None, n_bytes)

    def _tie(self, fact_id: FactId, place: SharedPlace) -> None:
        anchor = BYTES_ALONE if place.anchor is None else json.dumps(place.anchor.to_json())
        version = Version(place.path, place.sha256, place.line_hashes)
        fact_sources.add(fact_id, version, anchor, place.symbol, place.span, self.now)
        self.paths.add(place.path)
        # Until this checkout is looked at, nothing says that the place is here.
        for link in fact_sources.links_of_fact(fact_id):
            if link.version == version and link.anchor == anchor:
                fact_sources.set_state(link, FactState.MISSING, None)

    def _settle(self, arrival: Arrival, fact_id: FactId | None, body: str | None = None, n_bytes: int = 0) -> None:
        note(arrival.key, arrival.standing, fact_id, arrival.member, body, n_bytes)
        self.known[arrival.key] = Known(arrival.key, arrival.standing, fact_id)
