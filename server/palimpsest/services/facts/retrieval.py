"""Finds the messages of a conversation and the facts of the folder that a question is about.

There is one configuration, with the weights of `domain/facts/retrieval`. Messages that were rolled back or purged are
never found, nor are those of the running turn; what the context holds anyway is not given again.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from palimpsest.domain.context.recall_report import (
    MOST_LEFT_OUT,
    Found,
    LeftOut,
    LeftOutBecause,
    RecallReport,
    Taken,
)
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
_MOST_OF_COLLEAGUES: Final = 10
"""Facts of colleagues, the best: what others push, however much it is, takes no place from what was said here."""
_SHARE_OF_COLLEAGUES: Final = 1 / 3
"""The largest share of the budget for them."""
_MOST_RULES: Final = 200
_MOST_ON_DAYS: Final = 400
_MOST_YEARS: Final = 10
"""The newest years with messages."""
_NAMED_SHARE: Final = 0.5
"""The share of messages that begin with a name from which on the frequent names are speakers."""
_FEWEST_OF_A_SPEAKER: Final = 3
_MOST_TRIMMED_CHARS: Final = 20_000
"""Of a longer message a passage is shown, and only that is held against the context."""
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
    untold: Callable[[str], str] = lambda text: text
    """What the context does not tell of a text, as in `Told.untold`."""


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
    report: RecallReport


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
        return await self.store.search(self._pack, asked, budget_tokens, first)

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
        excerpts = itertools.islice(self._find(asked).excerpts(asked.untold), MOST_EXCERPTS)
        return [(_key(each.ranked), each.passage or each.whole) for each in excerpts]

    def _pack(self, asked: Question, budget_tokens: int, first: Sequence[_Key]) -> Retrieved:
        found = self._find(asked)
        places = {key: place for place, key in enumerate(first)}
        found.ranked.sort(key=lambda each: (_is_stale(each), places.get(_key(each), len(places))))
        excerpts = self._few_of_colleagues(found.excerpts(asked.untold), int(budget_tokens * _SHARE_OF_COLLEAGUES))
        packed = packing.pack(excerpts, budget_tokens, self.count)
        report = RecallReport(
            found.terms,
            budget_tokens,
            self.count(packed.text) if packed.text else 0,
            tuple(Taken(_to_found(excerpt.ranked), tokens) for excerpt, tokens in packed.excerpts),
            tuple(itertools.islice(found.left_out(packed), MOST_LEFT_OUT)),
        )
        return Retrieved(packed.text, tuple(excerpt.ranked for excerpt, _ in packed.excerpts), packed.tokens, report)

    def _few_of_colleagues(self, excerpts: Iterator[Excerpt], most_tokens: int) -> Iterator[Excerpt]:
        for each in excerpts:
            if isinstance(fact := each.ranked.found, StoredFact) and fact.author is not None:
                most_tokens -= self.count(each.whole)
                if most_tokens < 0:
                    continue
            yield each

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
            [(fact, facts[fact.id]) for fact in read if fact.is_open],
            asked.files,
            WHO * _OWN_QUERY if asked.own_query else WHO,
        )
        live = [each for each in ranked if _is_live(each, asked)]
        return _Found(
            [each for each in ranked if not _is_live(each, asked)],
            live,
            {MessageId(row.message_id): row for row in rows.values()},
            bool(speakers),
            (*reading.terms.telling, *reading.terms.asking),
        )


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
    theirs = stored_facts.of_colleagues()
    most = (_MOST_HIDDEN if visible.hidden else _MOST_HITS) + len(theirs)
    hits = passage_search.matches(reading.terms, stretches, most)
    few = {hit.fact for hit in [hit for hit in hits if hit.fact in theirs][:_MOST_OF_COLLEAGUES]}
    hits = [hit for hit in hits if hit.fact not in theirs or hit.fact in few]
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


def _is_live(each: Ranked, asked: Question) -> bool:
    """Whether the message, or the message that the fact rests on, is in the context anyway."""
    match each.found:
        case Turn() as turn:
            return turn.id in asked.already_live
        case StoredFact(evidence=said):
            return (
                said is not None
                and said.conversation_id == asked.conversation_id
                and said.message_id in asked.already_live
            )


def _is_stale(each: Ranked) -> bool:
    return isinstance(each.found, StoredFact) and each.found.is_stale


@dataclass(frozen=True, slots=True)
class _Found:
    """The turns and facts for a question, the best first. Used inside the transaction that read them."""

    ranked: list[Ranked]
    live: list[Ranked]
    """What the context holds anyway."""
    rows: dict[MessageId, IndexedMessage]
    has_speakers: bool
    terms: tuple[str, ...]

    def excerpts(self, untold: Callable[[str], str]) -> Iterator[Excerpt]:
        """The excerpts, the best first, without the sentences that the context tells. Where it tells the passage that
        answers best, the message counts as told."""
        for position, each in enumerate(self.ranked):
            match each.found:
                case Turn() as turn:
                    excerpt = self._excerpt(each, turn, untold)
                case StoredFact() as fact:
                    excerpt = _fact_excerpt(each, fact, position, untold)
            if excerpt is not None:
                yield excerpt

    def left_out(self, packed: Packed) -> Iterator[LeftOut]:
        """What `packed` does not tell, the best first."""
        reasons = {_key(excerpt.ranked): because for excerpt, because in packed.passed_over}
        taken = {_key(excerpt.ranked) for excerpt, _ in packed.excerpts}
        reasons |= dict.fromkeys(map(_key, self.live), LeftOutBecause.TOLD)
        for each in sorted((*self.ranked, *self.live), key=lambda each: -each.score):
            if (key := _key(each)) not in taken:
                yield LeftOut(_to_found(each), reasons.get(key, LeftOutBecause.NO_ROOM))

    def _excerpt(self, ranked: Ranked, turn: Turn, untold: Callable[[str], str]) -> Excerpt | None:
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
        rest = untold(whole) if len(whole) <= _MOST_TRIMMED_CHARS else whole
        rest_of_passage = untold(passage) if is_cut and rest else rest
        if rest in ("", whole):
            shown = packing.render_turn(turn.role, said_by, whole)
        else:
            shown = packing.render_passage(turn.role, turn.id, rest)
        return Excerpt(
            ranked,
            (turn.session, turn.day),
            packing.render_day(turn.day),
            shown,
            packing.render_passage(turn.role, turn.id, rest_of_passage or passage) if is_cut else None,
            (1, turn.id),
            is_told=not rest_of_passage,
        )


def _fact_excerpt(ranked: Ranked, fact: StoredFact, position: int, untold: Callable[[str], str]) -> Excerpt:
    text = packing.render_fact(fact)
    return Excerpt(ranked, "facts", "[facts]", text, None, (0, position), is_told=not untold(text))


def _to_found(ranked: Ranked) -> Found:
    match ranked.found:
        case Turn(id=message_id):
            return Found(message_id, None, round(ranked.score, 3))
        case StoredFact(id=fact_id):
            return Found(None, fact_id, round(ranked.score, 3))
