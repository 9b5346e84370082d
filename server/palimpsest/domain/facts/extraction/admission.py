"""Decides which proposed facts are kept: each rests on words that were said, is kept once, and is closed by its
opposite.

Pure and deterministic. Admitting the same candidates again gives only duplicates.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.context.rules.detection import as_rule
from palimpsest.domain.context.rules.supersession import is_near
from palimpsest.domain.facts.extraction.by_rules import Proposal, Retraction, change_of
from palimpsest.domain.facts.extraction.code_changes import Change
from palimpsest.domain.facts.extraction.likeness import RULINGS, LikenessIndex
from palimpsest.domain.facts.extraction.refusals import Refusal, refusal
from palimpsest.domain.facts.fact import (
    Candidate,
    Evidence,
    Fact,
    FactId,
    FactType,
    Place,
    StoredFact,
)
from palimpsest.domain.messages import MessageId

MOST_OPEN: Final = 150
"""The most open facts of a folder in its first `FIRST_EXCHANGES`, without pinned ones."""
FIRST_EXCHANGES: Final = 200


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision about candidates."""

    new: tuple[Candidate, ...]
    """To be stored, in the order of the candidates. Changes of one file are one candidate, merged with the known
    ones."""
    duplicates: tuple[tuple[Candidate, FactId], ...]
    """Candidates that say what a stored fact says."""
    closes: tuple[tuple[FactId, Candidate], ...]
    """Facts that hold no longer, each with the one of `new` that takes its place."""
    taken_back: tuple[tuple[FactId, MessageId], ...]
    """Facts that hold no longer, because the user took them back and ruled nothing in their place; each with the
    message that did."""
    refused: tuple[tuple[Candidate, Refusal], ...]
    evicted: tuple[FactId, ...]
    """Facts to be closed because there is no room, none of `closes` or `taken_back` among them."""


def most_open(n_exchanges: int) -> int:
    """The most open facts of a folder after so many exchanges."""
    return max(MOST_OPEN, MOST_OPEN * n_exchanges // FIRST_EXCHANGES)


def admit(proposed: Iterable[Proposal], existing: Sequence[StoredFact], cap: int = MOST_OPEN) -> Admission:
    """The decision about proposals, in the order in which they were said. `existing`: all facts of the folder, also
    closed ones."""
    return _Admitter(list(proposed), existing, cap).run()


@dataclass(slots=True)
class _Admitter:
    proposed: list[Proposal]
    existing: Sequence[StoredFact]
    cap: int
    _keys: Iterator[int] = field(default_factory=lambda: itertools.count(-1, -1))
    _index: LikenessIndex = field(default_factory=LikenessIndex)
    _open: dict[FactId, StoredFact] = field(default_factory=dict)
    _rests_on: dict[tuple[object, ...], FactId] = field(default_factory=dict)
    _by_path: dict[str, dict[int, None]] = field(default_factory=dict)
    _gone: set[int] = field(default_factory=set)
    """Keys of facts that are closed or overtaken."""
    _new: dict[int, Candidate] = field(default_factory=dict)
    """Under negative keys, so that the index tells them from facts of the store."""
    _duplicates: list[tuple[Candidate, FactId]] = field(default_factory=list)
    _closes: list[tuple[FactId, int]] = field(default_factory=list)
    _taken_back: dict[int, Retraction] = field(default_factory=dict)
    """Keys of facts that were taken back, by what."""
    _refused: list[tuple[Candidate, Refusal]] = field(default_factory=list)

    def run(self) -> Admission:
        sound: list[Proposal] = []
        for each in self.proposed:
            if isinstance(each, Retraction) or (why := refusal(each)) is None:
                sound.append(each)
            else:
                self._refused.append((each, why))
        wanted = {each.fact.fact_type for each in sound if isinstance(each, Candidate)}
        if len(sound) > sum(isinstance(each, Candidate) for each in sound):
            wanted.add(FactType.CONSTRAINT)
        self._read_existing(wanted)
        for each in _one_a_file(sound):
            if isinstance(each, Retraction):
                self._take_back(each)
            else:
                self._decide(each)
        evicted = self._make_room()
        return Admission(
            tuple(self._new.values()),
            tuple(self._duplicates),
            tuple((id, self._new[key]) for id, key in self._closes if key in self._new),
            tuple((FactId(key), by.message_id) for key, by in self._taken_back.items() if key >= 0),
            tuple(self._refused),
            (*evicted, *(id for id, key in self._closes if key not in self._new)),
        )

    def _read_existing(self, wanted: set[FactType]) -> None:
        if wanted & RULINGS:
            wanted = wanted | RULINGS
        for stored in self.existing:
            if stored.evidence is not None:
                self._rests_on[_grounds(stored.fact, stored.evidence)] = stored.id
            if not stored.is_open:
                continue
            self._open[stored.id] = stored
            if stored.fact.fact_type not in wanted:
                continue
            if stored.fact.fact_type is not FactType.CODE_STATE:
                self._index.add(stored.id, stored.fact, stored.evidence)
                continue
            self._place(stored.id, (source.place for source in stored.sources))
            if (path := Change.path_in(stored.fact.content)) is not None:
                self._place(stored.id, [Place(path)])
            else:
                self._index.add(stored.id, stored.fact)

    def _decide(self, candidate: Candidate) -> None:
        if (id := self._rests_on.get(_grounds(candidate.fact, candidate.evidence))) is not None:
            self._duplicates.append((candidate, id))
            return
        change = _change(candidate)
        older = self._states_of(candidate, change)
        twin: int | None = None
        if change is not None:
            for key in older:
                if (before := Change.read(self._content(key))) is not None:
                    change = before.followed_by(change)
            candidate = change_of(candidate, change)
            twin = next((key for key in older if self._content(key) == candidate.fact.content), None)
        else:
            twin = self._index.same(candidate.fact)
        if twin is not None:
            if twin >= 0:
                self._duplicates.append((candidate, FactId(twin)))
            else:
                self._refused.append((candidate, Refusal.REPEATED))
            return
        said = candidate.evidence
        beaten = dict.fromkeys((*older, *self._index.contradicted(candidate.fact, said)))
        rivals = (*(beaten if change is None else ()), *self._index.contradicting(candidate.fact, said))
        if any(self._is_later(key, candidate) for key in rivals):
            self._refused.append((candidate, Refusal.OVERTAKEN))
            return
        key = next(self._keys)
        self._close_in_its_place(candidate, key)
        for closed in beaten:
            if self._index.holds(closed):
                self._index.remove(closed)
            self._gone.add(closed)
            if closed < 0:
                self._refused.append((self._new.pop(closed), Refusal.OVERTAKEN))
                self._closes = [(id, key if by == closed else by) for id, by in self._closes]
            else:
                self._closes.append((FactId(closed), key))
        self._new[key] = candidate
        if candidate.fact.fact_type is FactType.CODE_STATE:
            self._place(key, candidate.places)
        if change is None:
            self._index.add(key, candidate.fact, said)

    def _take_back(self, retraction: Retraction) -> None:
        """Closes the facts that the user takes back: those that the words name, or the newest ruling of the
        conversation when they name none. Facts that were said later stay."""
        withdrawal = retraction.withdrawal
        if withdrawal.subject_words or withdrawal.is_judged:
            meant = [key for key in self._index.ended(withdrawal, retraction) if not self._is_behind(key, retraction)]
        else:
            meant = self._newest_before(retraction)
        for key in meant:
            self._index.remove(key)
            self._gone.add(key)
            self._taken_back[key] = retraction
            if key < 0:
                self._refused.append((self._new.pop(key), Refusal.OVERTAKEN))

    def _newest_before(self, retraction: Retraction) -> list[int]:
        """The last ruling of the conversation before the retraction; none when only a near one can be meant and it is
        far."""
        known: dict[int, MessageId] = {}
        for key in (*self._open, *self._new):
            said = self._evidence(key)
            is_ruling = key not in self._gone and self._fact(key).fact_type in (FactType.CONSTRAINT, FactType.DECISION)
            if is_ruling and said is not None and said.conversation_id == retraction.conversation_id:
                known[key] = said.message_id
        before = [key for key in known if known[key] <= retraction.message_id]
        if retraction.withdrawal.is_near:
            before = [key for key in before if is_near(known[key], retraction.message_id)]
        newest = max(before, key=lambda key: (known[key], -key if key < 0 else 0), default=None)
        return [] if newest is None else [newest]

    def _close_in_its_place(self, candidate: Candidate, key: int) -> None:
        """Makes the candidate the successor of the facts that its own sentence took back."""
        said = candidate.evidence
        if candidate.fact.fact_type not in RULINGS:
            return
        for closed, by in list(self._taken_back.items()):
            is_same = by.message_id == said.message_id and by.conversation_id == said.conversation_id
            if is_same and said.quote in by.withdrawal.text and not as_rule(said.quote).is_prohibition:
                del self._taken_back[closed]
                if closed >= 0:
                    self._closes.append((FactId(closed), key))

    def _is_behind(self, key: int, retraction: Retraction) -> bool:
        """Whether a fact was said after the retraction. The store keeps the last statement of a message."""
        said = self._evidence(key)
        if said is None or said.conversation_id != retraction.conversation_id:
            return False
        return said.message_id > retraction.message_id or (key >= 0 and said.message_id == retraction.message_id)

    def _evidence(self, key: int) -> Evidence | None:
        return self._new[key].evidence if key < 0 else self._open[FactId(key)].evidence

    def _fact(self, key: int) -> Fact:
        return self._new[key].fact if key < 0 else self._open[FactId(key)].fact

    def _is_later(self, key: int, candidate: Candidate) -> bool:
        """Whether a fact was said after the candidate, which therefore cannot close it. The store keeps the last
        statement of a message."""
        known = self._evidence(key)
        said = candidate.evidence
        if known is None or known.conversation_id != said.conversation_id:
            return False
        return known.message_id > said.message_id or (key >= 0 and known.message_id == said.message_id)

    def _place(self, key: int, places: Iterable[Place]) -> None:
        for place in places:
            self._by_path.setdefault(place.path, {})[key] = None

    def _states_of(self, candidate: Candidate, change: Change | None) -> tuple[int, ...]:
        """Open code states that the candidate replaces, the oldest first."""
        if candidate.fact.fact_type is not FactType.CODE_STATE:
            return ()
        found: dict[int, None] = {}
        for place in candidate.places if change is None else (*candidate.places, Place(change.path)):
            for key in self._by_path.get(place.path, ()):
                if key in self._gone:
                    continue
                is_of_file = change is not None and Change.path_in(self._content(key)) == change.path
                if is_of_file or any(_overlap(place, each) for each in self._places(key)):
                    found[key] = None
        return tuple(found)

    def _content(self, key: int) -> str:
        return self._fact(key).content

    def _places(self, key: int) -> tuple[Place, ...]:
        if key < 0:
            return self._new[key].places
        return tuple(source.place for source in self._open[FactId(key)].sources)

    def _make_room(self) -> tuple[FactId, ...]:
        """The stored facts to evict so that `cap` is kept; new facts of little worth are refused."""
        closed = {id for id, _ in self._closes} | {FactId(key) for key in self._taken_back if key >= 0}
        if len(self._open) - len(closed) + len(self._new) <= self.cap:
            return ()
        open_facts = [each for id, each in self._open.items() if id not in closed]
        ranked: list[tuple[tuple[int, int, int, int], int]] = [
            ((_worth(each.fact.fact_type), each.n_uses, 0, each.id), each.id)
            for each in open_facts
            if each.fact.fact_type is not FactType.PINNED
        ]
        ranked += [
            ((_worth(each.fact.fact_type), 0, 1, -key), key)
            for key, each in self._new.items()
            if each.fact.fact_type is not FactType.PINNED
        ]
        out = [key for _, key in heapq.nsmallest(max(0, len(ranked) - self.cap), ranked)]
        for key in out:
            if key < 0:
                self._refused.append((self._new.pop(key), Refusal.NO_ROOM))
        return tuple(FactId(key) for key in out if key >= 0)


def _grounds(fact: Fact, evidence: Evidence) -> tuple[object, ...]:
    return (fact.fact_type, evidence.conversation_id, evidence.message_id, evidence.quote)


def _change(candidate: Candidate) -> Change | None:
    return Change.read(candidate.fact.content) if candidate.fact.fact_type is FactType.CODE_STATE else None


def _one_a_file(proposed: Sequence[Proposal]) -> list[Proposal]:
    """The proposals with all changes of a file merged into one, at the position of the first, with the evidence of the
    last."""
    merged: list[Proposal] = []
    at: dict[str, tuple[int, Change]] = {}
    for each in proposed:
        if isinstance(each, Retraction) or (change := _change(each)) is None:
            merged.append(each)
        elif change.path in at:
            index, before = at[change.path]
            both = before.followed_by(change)
            merged[index], at[change.path] = change_of(each, both), (index, both)
        else:
            at[change.path] = len(merged), change
            merged.append(each)
    return merged


def _overlap(one: Place, other: Place) -> bool:
    """Whether two places of one file are the same symbol or share lines."""
    if one.path != other.path:
        return False
    if one.symbol or other.symbol:
        return one.symbol == other.symbol
    if one.span is None or other.span is None:
        return False
    return one.span.start <= other.span.end and other.span.start <= one.span.end


def _worth(fact_type: FactType) -> int:
    """Rulings are worth most; the content of a file can be read again."""
    return {FactType.CONSTRAINT: 2, FactType.DECISION: 1, FactType.PINNED: 3}.get(fact_type, 0)
