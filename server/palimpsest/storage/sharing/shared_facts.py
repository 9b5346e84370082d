"""The facts of this folder that are shared: with whom, and which standing of each the hub is known to have.

What a fact says never changes, so there are only three standings, and the hub's order decides: the last word counts,
and a forgotten fact stays forgotten. A row of `shared_fact` has the standing that the hub is known to have; where the
fact here is in another one, that is what is to be pushed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from palimpsest.domain.facts.fact import FactId, FactType, StoredFact
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.sharing.facts import SharedFact, plain
from palimpsest.domain.sharing.repository import RepositoryIdentity
from palimpsest.storage.facts import facts
from palimpsest.storage.sql import execute


class Standing(StrEnum):
    """The values are in the hub."""

    OPEN = "open"
    CLOSED = "closed"
    FORGOTTEN = "forgotten"


LOST: Final = ""
"""The standing of a fact that a hub from an older backup may not have."""
LOST_FORGOTTEN: Final = "gone"
"""The same for a forgotten one."""
NEVER_AGAIN: Final = (Standing.FORGOTTEN.value, LOST_FORGOTTEN)


@dataclass(frozen=True, slots=True)
class Share:
    """The sharing of this folder's facts."""

    hub: str
    incarnation: str
    """The hub's incarnation when this store was compared with it."""
    member: str
    """The user's id there."""
    team: str
    repository: str
    identity: RepositoryIdentity
    """As the user confirmed it."""
    hub_seq: int
    """The last change that was taken in."""

    def is_with(self, other: Share | None) -> bool:
        """Whether both are with the same team, about the same repository, by the same member."""
        mine = self.hub, self.member, self.team, self.repository
        return other is not None and mine == (other.hub, other.member, other.team, other.repository)


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
    if known is not None and known.is_with(new):
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
        *(*NEVER_AGAIN, LOST_FORGOTTEN, LOST),
    )


def mark() -> str:
    """Another text whenever a fact was added, closed, opened or removed, or the hub's standing of one is another. Sums
    over ids, because it is compared every few seconds and a folder may have 100,000 facts."""
    (facts_now,) = execute(
        """SELECT COUNT(*), MAX(id), TOTAL(id), TOTAL(CASE WHEN closed_at IS NULL THEN 0 ELSE id * id % 1000003 END),
            TOTAL(superseded_by * (id % 1009)) FROM fact"""
    )
    standings = execute("SELECT standing, COUNT(*), TOTAL(fact) FROM shared_fact GROUP BY standing ORDER BY standing")
    return repr((tuple(facts_now), [tuple(row) for row in standings]))


@dataclass(slots=True)
class Known:
    """A row of `shared_fact`."""

    key: str
    standing: str
    fact_id: FactId | None


@dataclass(slots=True)
class Here:
    """The facts of this store by their keys."""

    by_key: dict[str, list[StoredFact]] = field(default_factory=dict)
    ids: set[FactId] = field(default_factory=set)
    texts: dict[FactId, str] = field(default_factory=dict)
    """The statements as they may be shared."""
    n_pinned: int = 0


def known_facts() -> dict[str, Known]:
    rows = execute("SELECT fact_key, standing, fact FROM shared_fact")
    return {key: Known(key, standing, None if fact is None else FactId(fact)) for key, standing, fact in rows}


def facts_here(cleaner: Cleaner, known: Mapping[str, Known]) -> Here:
    """A fact keeps the key under which it was shared, whatever is taken out of statements by now."""
    keys = {each.fact_id: each.key for each in known.values() if each.fact_id is not None}
    found = Here()
    for stored in facts.all_known():
        found.ids.add(stored.id)
        found.texts[stored.id] = text = plain(cleaner.text(stored.fact.content))
        if stored.fact.fact_type is FactType.PINNED:
            found.n_pinned += stored.is_open
        else:
            key = keys.get(stored.id) or SharedFact(stored.fact.fact_type, text).key
            found.by_key.setdefault(key, []).append(stored)
    return found


def holding(found: Sequence[StoredFact]) -> StoredFact | None:
    """The fact among those of one statement that holds: the store's own before a colleague's. One in whose place the
    user put a pinned one holds too, and is closed."""
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


def note(key: str, standing: str, fact_id: FactId | None, member: str, body: str | None, n_bytes: int) -> None:
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
