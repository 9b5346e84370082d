"""The facts and standings of this folder that the hub lacks."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from palimpsest.domain.facts.fact import FactId, StoredFact
from palimpsest.domain.facts.staleness.anchor import BYTES_ALONE, Anchor
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.sharing.facts import SharedFact, SharedPlace, plain, written
from palimpsest.domain.sharing.repository import RepositoryIdentity
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.facts.sources import Link
from palimpsest.storage.sharing.shared_facts import (
    LOST,
    LOST_FORGOTTEN,
    NEVER_AGAIN,
    Share,
    Standing,
    facts_here,
    holding,
    known_facts,
    note,
    share,
)
from palimpsest.storage.sql import execute


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
class Change:
    """A fact whose standing the hub does not have."""

    key: str
    standing: Standing
    body: str | None
    """None for a forgotten fact."""
    fact_id: FactId | None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The changes that the hub lacks, and counts for the user."""

    changes: tuple[Change, ...]
    n_open: int
    """The facts of this folder that the team has, once they are pushed."""
    left_out: Mapping[LeftOutBecause, int]
    n_cleaned: int
    """The facts whose statement is shared without something that may not leave this machine."""
    twins: tuple[tuple[str, FactId, tuple[FactId, ...]], ...]
    """Statements that this store learned again: their key, the fact that holds now, and those of colleagues that go."""


def outgoing(cleaner: Cleaner, identity: RepositoryIdentity) -> Outgoing:
    """The changes that the hub lacks: open facts of this store's own, and the standing of each fact that it has,
    also of a colleague's. A fact that is gone from here was forgotten, or its words were purged."""
    known = known_facts()
    here = facts_here(cleaner, known)
    changes: list[Change] = []
    left_out = Counter({LeftOutBecause.PINNED: here.n_pinned} if here.n_pinned else {})
    twins: list[tuple[str, FactId, tuple[FactId, ...]]] = []
    n_open = n_cleaned = 0
    for key, found in here.by_key.items():
        at_hub = known.get(key)
        held = holding(found)
        if at_hub is not None and at_hub.standing in NEVER_AGAIN:
            continue
        if held is not None and held.author is not None and (at_hub is None or at_hub.standing == LOST):
            left_out[LeftOutBecause.COLLEAGUE] += at_hub is None
            continue  # its author pushes it, or it is none of this team's
        if held is not None and held.is_open and at_hub is not None:
            theirs = tuple(each.id for each in found if held.author is None and each.author is not None)
            if theirs or at_hub.fact_id != held.id:
                twins.append((key, held.id, theirs))
        told = held or found[-1]
        standing = Standing.OPEN if held is not None else Standing.CLOSED
        if held is None and facts.is_forgotten(told.fact):
            standing = Standing.FORGOTTEN
        if at_hub is None and standing is not Standing.OPEN:
            continue
        if held is not None and not held.is_open and (at_hub is None or at_hub.standing != LOST):
            n_open += at_hub is not None and at_hub.standing == Standing.OPEN
            continue  # a pin is the user's own, and changes nothing for others
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
        if each.standing == LOST_FORGOTTEN or (is_gone and each.standing != Standing.FORGOTTEN):
            changes.append(Change(each.key, Standing.FORGOTTEN, None, None))
    return Outgoing(tuple(changes), n_open, left_out, n_cleaned, tuple(twins))


def drop_twins(twins: Sequence[tuple[str, FactId, tuple[FactId, ...]]]) -> None:
    """The team's fact is the one that holds now. Where this store learned by itself what a colleague had noted, its own
    stays and the colleague's goes."""
    for key, held, theirs in twins:
        if facts.read([held]):
            facts.remove(theirs)
            execute("UPDATE shared_fact SET fact = ?, body = NULL, n_bytes = 0 WHERE fact_key = ?", held, key)


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


def note_pushed(changes: Sequence[Change], shared: Share) -> None:
    """The hub has these standings now, unless another server has ended that sharing meanwhile."""
    if shared.is_with(share()):
        for each in changes:
            note(each.key, each.standing.value, each.fact_id, shared.member, None, 0)
