"""Finds the messages of a conversation and the facts of the folder that a question is about.

There is one configuration, with the weights of `domain/facts/retrieval`. Messages that were rolled back or purged are
never found, nor are those of the running turn; what the context holds anyway is not given again.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.facts.fact import FactId, StoredFact
from palimpsest.domain.facts.retrieval import packing, question
from palimpsest.domain.facts.retrieval.packing import Excerpt, Packed
from palimpsest.domain.facts.retrieval.passages import to_saying
from palimpsest.domain.facts.retrieval.question import About, Reading
from palimpsest.domain.facts.retrieval.reranking import MOST_EXCERPTS
from palimpsest.domain.facts.retrieval.scoring import WHO, Ranked, Turn, rank
from palimpsest.domain.messages import ConversationId, MessageId, Role
from palimpsest.domain.offline_texts import without_fixed_texts
from palimpsest.storage.conversation import conversations, hidden_ranges, passage_search
from palimpsest.storage.conversation.passage_search import IndexedMessage, Stretch
from palimpsest.storage.facts import facts as stored_facts
from palimpsest.storage.store import Store

_MOST_HITS: Final = 400
"""Passages and facts that are scored."""
_MOST_HIDDEN: Final = 2_000
"""The same for a conversation with hidden messages."""
_MOST_RULES: Final = 200
_MOST_ON_DAYS: Final = 400
_MOST_YEARS: Final = 10
"""The newest years with messages."""
_NAMED_SHARE: Final = 0.5
"""The share of messages that begin with a name from which on the frequent names are speakers."""
_FEWEST_OF_A_SPEAKER: Final = 3
_OWN_QUERY: Final = 0.5
"""A factor of the weight of the side, for a query that the engine made up: its side is less certain."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question in a conversation."""

    text: str
    conversation_id: ConversationId
    now: str
    """UTC, ISO 8601: "two weeks ago" counts from here. Without a date at its beginning, such words mean nothing."""
    about: About | None = None
    """The side or the speaker; None: guessed from the words."""
    files: tuple[str, ...] = ()
    """Paths in view, below the folder."""
    own_query: bool = False
    """Whether the engine made the text up by itself."""
    exclude_from: MessageId | None = None
    """The first message of the running turn: nothing is found from there on."""
    already_live: frozenset[MessageId] = field(default_factory=frozenset)
    """Messages that the context holds anyway."""
    is_told: Callable[[str], bool] = lambda _: False
    """Whether the context holds an excerpt, as it is rendered, because it was found for an earlier question."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The text for a question, within the budget."""

    text: str
    """A record to be quoted: facts first, then turns in the order of time, a date above each session. Empty when
    nothing was found."""
    items: tuple[Ranked, ...]
    """The turns and facts of the text, in its order."""
    token_estimate: int
    """At least as many as the text takes by the tokenizer, and at most the budget."""


Order = Callable[[Question, Sequence[str]], Awaitable[Sequence[int] | None]]
"""Reorders excerpts that are given best first: their positions, counted from 0. None: the order stays."""


@dataclass(frozen=True, slots=True)
class Retriever:
    """Retrieval from the store of one folder."""

    store: Store
    count: CountText
    order: Order | None = None
    """Used by `retrieve`; None: the scores decide."""

    async def retrieve(self, asked: Question, budget_tokens: int) -> Retrieved:
        """The best turns and facts in at most `budget_tokens`. Raises NotFound for an unknown conversation."""
        first = [] if self.order is None else await self._ordered(asked, self.order)
        packed = await self.store.search(self._pack, asked, budget_tokens, first)
        return Retrieved(packed.text, tuple(excerpt.ranked for excerpt in packed.excerpts), packed.tokens)

    async def search(self, asked: Question, k: int) -> list[Ranked]:
        """The `k` best turns and facts, with the parts of their scores. Raises NotFound for an unknown conversation."""
        found = await self.store.search(self._find, asked)
        return found.ranked[:k]

    async def _ordered(self, asked: Question, order: Order) -> list[_Key]:
        best = await self.store.search(self._best, asked)
        positions = await order(asked, [text for _, text in best]) if len(best) > 1 else None
        return [] if positions is None else [best[position][0] for position in positions]

    def _best(self, asked: Question) -> list[tuple[_Key, str]]:
        """The best by their scores, each with the text that would be shown."""
        excerpts = itertools.islice(self._find(asked).excerpts(asked.is_told), MOST_EXCERPTS)
        return [(_key(each.ranked), each.passage or each.whole) for each in excerpts]

    def _pack(self, asked: Question, budget_tokens: int, first: Sequence[_Key]) -> Packed:
        found = self._find(asked)
        places = {key: place for place, key in enumerate(first)}
        found.ranked.sort(key=lambda each: (_is_stale(each), places.get(_key(each), len(places))))
        return packing.pack(found.excerpts(asked.is_told), budget_tokens, self.count)

    def _find(self, asked: Question) -> _Found:
        conversations.get(asked.conversation_id)
        stretches = conversations.lineage(asked.conversation_id, 0, asked.exclude_from)
        visible = _Visible(asked.conversation_id)
        speakers = _speakers(stretches)
        reading = question.read(
            asked.text, question.day_of(asked.now), _years(stretches, asked.now), speakers, asked.about
        )
        rows, turns, facts = _candidates(reading, stretches, visible)
        read = stored_facts.read(sorted(facts)) if facts else []
        ranked = rank(
            reading,
            [(_turn(rows[row_id], passage), score) for row_id, (score, passage) in turns.items()],
            [(fact, facts[fact.id]) for fact in read if fact.is_open and not _is_said(fact, asked)],
            asked.files,
            WHO * _OWN_QUERY if asked.own_query else WHO,
        )
        wanted = [each for each in ranked if not _is_live(each, asked.already_live)]
        return _Found(wanted, {MessageId(row.message_id): row for row in rows.values()}, bool(speakers))


_Key = tuple[type, int]


def _key(each: Ranked) -> _Key:
    return type(each.found), each.found.id


@dataclass(frozen=True, slots=True)
class _Visible:
    """The messages that a conversation shows."""

    conversation_id: ConversationId
    hidden: list[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        ranges = hidden_ranges.read(self.conversation_id)
        object.__setattr__(self, "hidden", [(each.start, each.end) for each in ranges])

    def __contains__(self, row: IndexedMessage) -> bool:
        return not any(start <= row.message_id < end for start, end in self.hidden)


def _candidates(
    reading: Reading, stretches: Sequence[Stretch], visible: _Visible
) -> tuple[dict[int, IndexedMessage], dict[int, tuple[float, int]], dict[FactId, float]]:
    """The messages by row, the scores and best passages of messages, and the scores of facts. All scores are
    lexical."""
    hits = passage_search.matches(reading.terms, stretches, _MOST_HIDDEN if visible.hidden else _MOST_HITS)
    rows = {
        row.row_id: row
        for row in passage_search.read({hit.row_id for hit in hits if hit.fact is None})
        if row in visible
    }
    hits = [hit for hit in hits if hit.fact is not None or hit.row_id in rows][:_MOST_HITS]
    turns: dict[int, tuple[float, int]] = {}
    facts: dict[FactId, float] = {}
    for hit in hits:
        if hit.fact is not None:
            facts[hit.fact] = hit.score
        else:
            turns.setdefault(hit.row_id, (hit.score, hit.passage))
    others = passage_search.rules(stretches, _MOST_RULES)
    if reading.days:
        others += passage_search.said_on(reading.days, stretches, _MOST_ON_DAYS)
    for row in others:
        if row in visible:
            rows[row.row_id] = row
            turns.setdefault(row.row_id, (0.0, 0))
    return rows, turns, facts


def _speakers(stretches: Sequence[Stretch]) -> tuple[str, ...]:
    """The speakers of a conversation whose messages begin with names; none for any other."""
    counted = {name: n for name, n in passage_search.names(stretches).items() if n >= _FEWEST_OF_A_SPEAKER}
    n_messages = sum(after - first for _, first, after in stretches)
    return tuple(counted) if sum(counted.values()) > _NAMED_SHARE * n_messages else ()


def _years(stretches: Sequence[Stretch], now: str) -> list[int]:
    days = passage_search.first_and_last_day(stretches)
    if days is None:
        return []
    first, last = (date.fromordinal(day).year for day in days)
    return list(range(max(first, last - _MOST_YEARS + 1), last + 1))


def _turn(row: IndexedMessage, passage: int) -> Turn:
    return Turn(
        row.message_id,
        row.role,
        row.name,
        row.n_words,
        row.is_rule,
        (row.owner, row.session),
        row.day,
        passage,
    )


def _is_said(fact: StoredFact, asked: Question) -> bool:
    """Whether the message that the fact rests on is in the context anyway."""
    said = fact.evidence
    return said is not None and said.conversation_id == asked.conversation_id and said.message_id in asked.already_live


def _is_live(each: Ranked, live: Collection[MessageId]) -> bool:
    return isinstance(each.found, Turn) and each.found.id in live


def _is_stale(each: Ranked) -> bool:
    return isinstance(each.found, StoredFact) and each.found.is_stale


@dataclass(frozen=True, slots=True)
class _Found:
    """The turns and facts for a question, the best first. Used inside the transaction that read them."""

    ranked: list[Ranked]
    rows: dict[MessageId, IndexedMessage]
    has_speakers: bool

    def excerpts(self, is_told: Callable[[str], bool]) -> Iterator[Excerpt]:
        """The excerpts, the best first. A message with a passage in the context counts as told."""
        for position, each in enumerate(self.ranked):
            match each.found:
                case Turn() as turn:
                    excerpt = self._excerpt(each, turn)
                case StoredFact() as fact:
                    excerpt = _fact_excerpt(each, fact, position)
            if excerpt is None:  # it has nothing but fixed texts
                continue
            told = is_told(excerpt.whole) or (excerpt.passage is not None and is_told(excerpt.passage))
            yield replace(excerpt, is_told=told)

    def _excerpt(self, ranked: Ranked, turn: Turn) -> Excerpt | None:
        """None for a message of nothing but fixed texts."""
        content = passage_search.content_of(self.rows[turn.id].row_id)
        saying = to_saying(content)
        whole = "\n".join(saying.passages) if turn.role is Role.TOOL or not content.text.strip() else content.text
        passage = saying.passages[turn.passage]
        if content.role is Role.ASSISTANT:
            whole, passage = without_fixed_texts(whole), without_fixed_texts(passage)
        if not whole or not passage:
            return None
        is_cut = len(saying.passages) > 1
        said_by = turn.name if self.has_speakers else ""
        return Excerpt(
            ranked,
            (turn.session, turn.day),
            packing.render_day(turn.day),
            packing.render_turn(turn.role, said_by, whole),
            packing.render_passage(turn.role, turn.id, passage) if is_cut else None,
            (1, turn.id),
        )


def _fact_excerpt(ranked: Ranked, fact: StoredFact, position: int) -> Excerpt:
    return Excerpt(ranked, "facts", "[facts]", packing.render_fact(fact), None, (0, position))
