"""The facts of this folder that are shared: with whom, what the hub has of them, and what it lacks.

What a fact says never changes, so there are only three standings, and the hub's order decides: the last word counts,
and a forgotten fact stays forgotten. A row of `shared_fact` has the standing that the hub is known to have; where the
fact here is in another one, that is what is to be pushed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from palimpsest.domain.facts.fact import FactId, FactState, FactType, StoredFact
from palimpsest.domain.facts.staleness.anchor import BYTES_ALONE, Anchor
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.sharing.facts import SharedFact, SharedPlace, plain, read, written
from palimpsest.domain.sharing.repository import RepositoryIdentity
from palimpsest.storage.context import visibility
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.facts.sources import Link, Version
from palimpsest.storage.sql import execute

MOST_TAKEN: Final = 2_000
"""The most facts of colleagues in one folder: a member may push any number."""
MOST_BYTES_TAKEN: Final = 64 << 20


class Standing(StrEnum):
    """The values are in the hub."""

    OPEN = "open"
    CLOSED = "closed"
    FORGOTTEN = "forgotten"


_LOST: Final = ""
"""The standing of a fact that a hub from an older backup may not have."""
_LOST_FORGOTTEN: Final = "gone"
"""The same for a forgotten one."""
_NEVER_AGAIN: Final = (Standing.FORGOTTEN.value, _LOST_FORGOTTEN)


class LeftOutBecause(StrEnum):
    """Why an open fact is not shared."""

    PINNED = "pinned"
    PLACE = "place"
    """One of its places cannot be told from the repository's top, or its lines hold a secret or a place here."""
    TEXT = "text"
    """Nothing is left of the statement without what may not leave this machine."""
    COLLEAGUE = "colleague"
    """It came from a team, and this team does not have it."""


@dataclass(frozen=True, slots=True)
class Share:
    """The sharing of this folder's facts."""

    hub: str
    incarnation: str
    """Of the hub, when all that is here was compared with it."""
    member: str
    """The user's id there."""
    team: str
    repository: str
    identity: RepositoryIdentity
    """As the user confirmed it."""
    hub_seq: int
    """The last change that was taken in."""


@dataclass(frozen=True, slots=True)
class Change:
    """A fact whose standing the hub does not have."""

    key: str
    standing: Standing
    body: str | None
    """None for a forgotten fact."""
    fact_id: FactId | None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What the hub lacks."""

    changes: tuple[Change, ...]
    n_open: int
    """The facts of this folder that the team has, once they are pushed."""
    left_out: Mapping[LeftOutBecause, int]
    n_cleaned: int
    """The facts whose statement is shared without something that may not leave this machine."""
    twins: tuple[tuple[str, FactId, tuple[FactId, ...]], ...]
    """Statements that this store learned by itself while it had them from a colleague: key, its own fact, theirs."""


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
    """What came of changes."""

    paths: frozenset[str]
    """The files below the folder that new facts rest on."""
    is_changed: bool
    """Whether a fact was added, closed, opened or removed here."""


# ------------------------------------------------------------------------------------------------------- with whom


_SHARE: Final = "hub, incarnation, member, team, repository, root_commit, remote, subfolder, hub_seq"


def share() -> Share | None:
    """None when the facts of this folder are not shared."""
    row = execute(f"SELECT {_SHARE} FROM repository_share").fetchone()
    if row is None:
        return None
    hub, incarnation, member, team, repository, *identity, hub_seq = row
    return Share(hub, incarnation, member, team, repository, RepositoryIdentity(*identity), hub_seq)


def begin(new: Share) -> None:
    """From now on the facts are shared. What is known of the hub's facts stays where they were shared there already."""
    known = share()
    if known is not None:
        if (known.hub, known.member, known.team, known.repository) == (new.hub, new.member, new.team, new.repository):
            new = replace(new, incarnation=known.incarnation, hub_seq=known.hub_seq)
        else:
            end()
    identity = new.identity
    execute(
        f"INSERT OR REPLACE INTO repository_share (id, {_SHARE}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(new.hub, new.incarnation, new.member, new.team, new.repository),
        *(identity.root_commit, identity.remote, identity.subfolder, new.hub_seq),
    )


def end() -> None:
    """The facts are this store's alone from now on. Those of colleagues stay, with their authors."""
    execute("DELETE FROM repository_share")
    execute("DELETE FROM shared_fact")


def begin_again(incarnation: str) -> None:
    """The hub has lost changes, as after a backup was restored: what is here is pushed, because it is newer, and all
    that the hub has is taken in once more."""
    execute("UPDATE repository_share SET hub_seq = 0, incarnation = ?", incarnation)
    execute(
        "UPDATE shared_fact SET standing = CASE WHEN standing IN (?, ?) THEN ? ELSE ? END",
        *(*_NEVER_AGAIN, _LOST_FORGOTTEN, _LOST),
    )


def mark() -> str:
    """Another text whenever a fact was added, closed, opened or removed, or the hub's standing of one is another."""
    said = hashlib.sha256()
    for row in execute("SELECT id, closed_at, superseded_by FROM fact ORDER BY id"):
        said.update(repr(tuple(row)).encode())
    for row in execute("SELECT fact_key, standing FROM shared_fact ORDER BY fact_key"):
        said.update(repr(tuple(row)).encode())
    return said.hexdigest()


# --------------------------------------------------------------------------------------------------------- outgoing


@dataclass(slots=True)
class _Known:
    """A row of `shared_fact`."""

    key: str
    standing: str
    fact_id: FactId | None


@dataclass(slots=True)
class _Here:
    """The facts of this store by their keys."""

    by_key: dict[str, list[StoredFact]] = field(default_factory=dict)
    ids: set[FactId] = field(default_factory=set)
    texts: dict[FactId, str] = field(default_factory=dict)
    """The statements as they may be shared."""
    n_pinned: int = 0


def _known() -> dict[str, _Known]:
    rows = execute("SELECT fact_key, standing, fact FROM shared_fact")
    return {key: _Known(key, standing, None if fact is None else FactId(fact)) for key, standing, fact in rows}


def _here(cleaner: Cleaner, known: Mapping[str, _Known]) -> _Here:
    """A fact keeps the key under which it was shared, whatever is taken out of statements by now."""
    keys = {each.fact_id: each.key for each in known.values() if each.fact_id is not None}
    found = _Here()
    for stored in facts.all_known():
        found.ids.add(stored.id)
        found.texts[stored.id] = text = plain(cleaner.text(stored.fact.content))
        if stored.fact.fact_type is FactType.PINNED:
            found.n_pinned += stored.is_open
        else:
            key = keys.get(stored.id) or SharedFact(stored.fact.fact_type, text).key
            found.by_key.setdefault(key, []).append(stored)
    return found


def outgoing(cleaner: Cleaner, identity: RepositoryIdentity) -> Outgoing:
    """What the hub lacks. An open fact of this store's own that it does not have is pushed; of those it has, their
    standing, whoever wrote them. A fact that is gone from here was forgotten, or its words were purged."""
    known = _known()
    here = _here(cleaner, known)
    changes: list[Change] = []
    left_out = Counter({LeftOutBecause.PINNED: here.n_pinned} if here.n_pinned else {})
    twins: list[tuple[str, FactId, tuple[FactId, ...]]] = []
    n_open = n_cleaned = 0
    for key, found in here.by_key.items():
        at_hub = known.get(key)
        holding = _holding(found)
        if at_hub is not None and at_hub.standing in _NEVER_AGAIN:
            continue
        if holding is not None and holding.author is not None and (at_hub is None or at_hub.standing == _LOST):
            left_out[LeftOutBecause.COLLEAGUE] += at_hub is None
            continue  # its author pushes it, or it is none of this team's
        if holding is not None and holding.author is None and any(each.author is not None for each in found):
            twins.append((key, holding.id, tuple(each.id for each in found if each.author is not None)))
        told = holding or found[-1]
        standing = Standing.OPEN if holding is not None else Standing.CLOSED
        if holding is None and facts.is_forgotten(told.fact):
            standing = Standing.FORGOTTEN
        if at_hub is None and standing is not Standing.OPEN:
            continue
        if at_hub is None or at_hub.standing != standing:
            body, why = _body(told, here.texts[told.id], cleaner, identity)
            if at_hub is None and body is None:
                left_out[why] += 1
                continue
            # The hub keeps the words and places of a fact's author. They are asked for where it has lost them.
            body = body or written(SharedFact(told.fact.fact_type, here.texts[told.id])) or "{}"
            changes.append(Change(key, standing, None if standing is Standing.FORGOTTEN else body, told.id))
        if standing is Standing.OPEN:
            n_open += 1
            n_cleaned += here.texts[told.id] != plain(told.fact.content)
    for each in known.values():
        is_gone = each.fact_id is not None and each.fact_id not in here.ids and each.key not in here.by_key
        if each.standing == _LOST_FORGOTTEN or (is_gone and each.standing != Standing.FORGOTTEN):
            changes.append(Change(each.key, Standing.FORGOTTEN, None, None))
    return Outgoing(tuple(changes), n_open, left_out, n_cleaned, tuple(twins))


def drop_twins(twins: Sequence[tuple[str, FactId, tuple[FactId, ...]]]) -> None:
    """Where this store learned by itself what a colleague had noted, its own fact stays and the colleague's goes."""
    for key, own, theirs in twins:
        if facts.read([own]):
            facts.remove(theirs)
            execute("UPDATE shared_fact SET fact = ?, body = NULL, n_bytes = 0 WHERE fact_key = ?", own, key)


def _holding(found: Sequence[StoredFact]) -> StoredFact | None:
    """The fact among those of one statement that holds: the store's own before a colleague's. One that the user pinned
    holds too, in another form."""
    is_open = sorted((each for each in found if each.is_open), key=lambda each: (each.author is not None, each.id))
    if is_open:
        return is_open[0]
    for each in found:
        by = [] if each.superseded_by is None else facts.read([each.superseded_by])
        if any(
            one.is_open and one.fact.fact_type is FactType.PINNED and one.fact.content == each.fact.content
            for one in by
        ):
            return each
    return None


def _body(
    stored: StoredFact, text: str, cleaner: Cleaner, identity: RepositoryIdentity
) -> tuple[str | None, LeftOutBecause]:
    """The fact as it is pushed; None with the reason when it is not."""
    if not text:
        return None, LeftOutBecause.TEXT
    places = [_place(link, cleaner, identity) for link in fact_sources.links_of_fact(stored.id)]
    if any(place is None for place in places):
        return None, LeftOutBecause.PLACE
    names = [plain(each) for each in stored.fact.entities if cleaner.text(each) == each]
    entities = tuple(dict.fromkeys(name for name in names if name))
    shared = SharedFact(stored.fact.fact_type, text, entities, tuple(each for each in places if each is not None))
    bare = written(SharedFact(shared.type, text, entities))
    return written(shared), LeftOutBecause.TEXT if bare is None else LeftOutBecause.PLACE


def _place(link: Link, cleaner: Cleaner, identity: RepositoryIdentity) -> SharedPlace | None:
    path = identity.to_top(link.version.path)
    lines = base64.b64encode(link.version.lines).decode()
    start, end = (0, 0) if link.span is None else (link.span.start, link.span.end)
    symbol = plain(link.symbol)
    anchor: Anchor | None = None
    if link.anchor != BYTES_ALONE:
        anchor = Anchor.from_json(json.loads(link.anchor))
        said = "\n".join((path, symbol, anchor.head, anchor.sample, anchor.name, anchor.symbol))
        if cleaner.text(said) != said:
            return None
    return SharedPlace(path, link.version.sha256, lines, symbol, start, end, anchor).under(path)


def note_pushed(changes: Sequence[Change], member: str) -> None:
    """The hub has these standings now. `member`: the user."""
    for each in changes:
        _note(each.key, each.standing.value, each.fact_id, member, None, 0)


def _note(key: str, standing: str, fact_id: FactId | None, member: str, body: str | None, n_bytes: int) -> None:
    is_forgotten = standing == Standing.FORGOTTEN
    execute(
        """INSERT INTO shared_fact (fact_key, standing, fact, member, body, n_bytes) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (fact_key) DO UPDATE SET standing = excluded.standing,
        fact = CASE WHEN ? THEN NULL ELSE COALESCE(excluded.fact, fact) END,
        body = CASE WHEN ? THEN NULL ELSE COALESCE(excluded.body, body) END,
        n_bytes = CASE WHEN ? THEN 0 ELSE MAX(excluded.n_bytes, n_bytes) END""",
        *(key, standing, None if is_forgotten else fact_id, member, body, n_bytes),
        *(is_forgotten, is_forgotten, is_forgotten),
    )


# --------------------------------------------------------------------------------------------------------- incoming


def take(arrivals: Sequence[Arrival], cleaner: Cleaner, identity: RepositoryIdentity, now: str) -> Taken:
    """Takes changes in, in the hub's order. What no store of ours would push is passed over."""
    known = _known()
    ((n, n_bytes),) = execute("SELECT COUNT(*), COALESCE(SUM(n_bytes), 0) FROM shared_fact WHERE n_bytes > 0")
    taking = _Taking(known, _here(cleaner, known), identity, now, n, n_bytes)
    sharing = share()
    for each in arrivals:
        if sharing is not None and each.seq > sharing.hub_seq:  # else another server took it in meanwhile
            taking.take(each)
    if arrivals:
        execute("UPDATE repository_share SET hub_seq = MAX(hub_seq, ?)", arrivals[-1].seq)
    return Taken(frozenset(taking.paths), taking.is_changed)


@dataclass(slots=True)
class _Taking:
    """Changes that are taken in, in one transaction."""

    known: dict[str, _Known]
    here: _Here
    identity: RepositoryIdentity
    now: str
    n_theirs: int
    n_bytes: int
    paths: set[str] = field(default_factory=set)
    is_changed: bool = False

    def take(self, arrival: Arrival) -> None:
        known = self.known.get(arrival.key)
        if known is not None and known.standing in (arrival.standing, *_NEVER_AGAIN):
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
        if ids:
            visibility.untell(ids, self.now)
            facts.forget(ids)
            self.is_changed = True
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
        if (holding := _holding(found)) is not None:
            self._settle(arrival, holding.id)
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
        _note(arrival.key, arrival.standing, fact_id, arrival.member, body, n_bytes)
        self.known[arrival.key] = _Known(arrival.key, arrival.standing, fact_id)
