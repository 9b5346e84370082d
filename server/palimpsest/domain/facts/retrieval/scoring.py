"""Scores of turns and facts as answers to a question.

The unit of every part of a score is the best lexical hit of the question. The weights were measured on recorded
conversations; the parts are kept, so that a report can tell why something was found.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.facts.fact import StoredFact
from palimpsest.domain.facts.retrieval.question import Named, Reading, Side, day_of, nearness
from palimpsest.domain.facts.retrieval.words import WORD
from palimpsest.domain.messages import MessageId, Role

WHO: Final = 0.4
"""For a turn of the side that the question is about."""
LENGTH: Final = 0.06
"""Subtracted for each doubling of a turn beyond `SHORT_WORDS`: a long answer touches every subject and fills the
budget."""
SHORT_WORDS: Final = 60
RULE: Final = 0.2
"""For a user's standing rule, also when it has no word of the question."""
DATE: Final = 0.2
"""For a turn of a day that the question points at."""
SESSION: Final = 0.2
"""Multiplied by the score of the session's best turn, relative to the best session."""
ENTITY: Final = 0.2
"""For a fact about something that the question names."""
IN_VIEW: Final = 0.1
"""For a fact about a file that the user looks at."""
RECENCY: Final = 0.05
"""For a fact of today; half of it after a month."""
_HALF_LIFE_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class Turn:
    """A message as it is scored."""

    id: MessageId
    role: Role
    name: str
    """The name that its text begins with; empty for none."""
    n_words: int
    is_rule: bool
    session: Hashable
    """A sitting: turns without a long pause between them."""
    day: int | None
    passage: int
    """The passage of it that answers best, counted from 0."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a score."""

    lexical: float = 0.0
    """0 to 1."""
    who: float = 0.0
    length: float = 0.0
    """At most 0."""
    rule: float = 0.0
    date: float = 0.0
    session: float = 0.0
    entity: float = 0.0
    in_view: float = 0.0
    recency: float = 0.0

    @property
    def total(self) -> float:
        said = self.lexical + self.who + self.length + self.rule + self.date + self.session
        return said + self.entity + self.in_view + self.recency


@dataclass(frozen=True, slots=True)
class Ranked:
    """A turn or a fact with its score."""

    found: Turn | StoredFact
    score: float
    parts: Parts
    """The parts that add up to the score."""


def rank(
    reading: Reading,
    turns: Sequence[tuple[Turn, float]],
    facts: Sequence[tuple[StoredFact, float]],
    files: Collection[str] = (),
    who: float = WHO,
) -> list[Ranked]:
    """The best first; stale facts behind all others; of equals the older first, turns before facts.

    The numbers are lexical scores on one scale, 0 when no word matches. `files`: paths in view. `who`: the weight of
    the side.
    """
    best = max([score for _, score in (*turns, *facts)], default=0.0) or 1.0
    ranked = _rank_turns(reading, [(turn, score / best) for turn, score in turns], who)
    ranked += _rank_facts(reading, [(fact, score / best) for fact, score in facts], files)
    return sorted(ranked, key=_order)


def _order(each: Ranked) -> tuple[bool, float, bool, int]:
    is_fact = isinstance(each.found, StoredFact)
    return isinstance(each.found, StoredFact) and each.found.is_stale, -each.score, is_fact, each.found.id


def _rank_turns(reading: Reading, turns: Iterable[tuple[Turn, float]], who: float) -> list[Ranked]:
    sessions: dict[Hashable, float] = {}
    found: list[tuple[Turn, float, float, float]] = []
    for turn, lexical in turns:
        rule = RULE if turn.is_rule else 0.0
        near = DATE * nearness(turn.day, reading.days) if reading.days and turn.day is not None else 0.0
        found.append((turn, lexical, rule, near))
        sessions[turn.session] = max(lexical + rule + near, sessions.get(turn.session, 0.0))
    best = max(sessions.values(), default=0.0) or 1.0
    ranked: list[Ranked] = []
    for turn, lexical, rule, near in found:
        parts = Parts(
            lexical=lexical,
            who=who * reading.certainty if _is_preferred(reading, turn) else 0.0,
            length=-LENGTH * math.log2(turn.n_words / SHORT_WORDS) if turn.n_words > SHORT_WORDS else 0.0,
            rule=rule,
            date=near,
            session=SESSION * sessions[turn.session] / best,
        )
        ranked.append(Ranked(turn, parts.total, parts))
    return ranked


def _is_preferred(reading: Reading, turn: Turn) -> bool:
    match reading.about:
        case Named(name):
            return turn.name == name
        case Side.USER:
            return turn.role is Role.USER
        case Side.ASSISTANT:
            return turn.role is Role.ASSISTANT
        case Side.NONE:
            return False


def _rank_facts(
    reading: Reading, facts: Iterable[tuple[StoredFact, float]], files: Collection[str]
) -> Iterator[Ranked]:
    asked = {*reading.terms.telling, *reading.terms.asking}
    in_view = {name for path in files for name in (path, path.rsplit("/", 1)[-1])}
    for fact, lexical in facts:
        names = {*fact.fact.entities, *(source.place.path for source in fact.sources)}
        parts = Parts(
            lexical=lexical,
            entity=ENTITY if any(_is_named(entity, asked) for entity in fact.fact.entities) else 0.0,
            in_view=IN_VIEW if not names.isdisjoint(in_view) else 0.0,
            recency=_recency(fact.created_at, reading.today),
        )
        yield Ranked(fact, parts.total, parts)


def _is_named(entity: str, asked: Collection[str]) -> bool:
    """Whether the question has every word of an entity; for a path, of its last name."""
    words = WORD.findall(entity.rsplit("/", 1)[-1].casefold())
    return bool(words) and all(word in asked for word in words)


def _recency(created_at: str, today: int | None) -> float:
    day = day_of(created_at)
    if day is None or today is None:
        return 0.0
    return RECENCY * math.exp2(-max(today - day, 0) / _HALF_LIFE_DAYS)
