"""The working context of one conversation in memory, loaded from its store and kept in step with it.

Only what the cut shows is loaded: a conversation of 100,000 messages whose older part stands as summaries costs its
live messages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.domain.context.cut import (
    CutCause,
    MessagePiece,
    Piece,
    SummaryPiece,
    image_tokens,
    running_request,
    total_tokens,
)
from palimpsest.domain.context.measured import Estimate, Measured, Part, whole_estimate
from palimpsest.domain.context.prepared import Segment
from palimpsest.domain.context.recall_report import RecallReport
from palimpsest.domain.context.request_layout import Frame, FrameTokens, Front, segments_of
from palimpsest.domain.context.rules.rule_set import RuleId
from palimpsest.domain.context.rules.standing import Commands, StandingRules, render_front
from palimpsest.domain.context.summaries.hybrid import split_prose
from palimpsest.domain.context.summaries.node import HYBRID, PROSE, Summary, render_summary
from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD, count_content
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, Role, SummaryId, TurnId
from palimpsest.domain.models.limits import Budget, Model
from palimpsest.services.models.tokenizers import Tokenizer
from palimpsest.storage.context import cuts, summary_tree
from palimpsest.storage.context import injections as stored_injections
from palimpsest.storage.context.cuts import CutRecord
from palimpsest.storage.context.injections import Injected
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.store import Store


@dataclass(slots=True)
class ContextState:
    """What would be sent, as pieces. Changed only by whoever holds the conversation's lease."""

    record: ConversationRecord
    model: Model
    budget: Budget
    tokenizer: Tokenizer
    cut: CutRecord
    pieces: list[Piece]
    frame: Frame
    """What stands before the conversation since its last turn began."""
    frame_tokens: FrameTokens
    front: Front
    """As the cut has it."""
    expansions: tuple[tuple[MessageId, MessageId], ...] = ()
    """[start, end) of what the user wants to see as originals, as long as it fits."""
    ruling: tuple[StoredMessage, ...] = ()
    """The user's messages below `ruling_until` that make or take back a standing rule, oldest first."""
    ruling_until: int = 0
    """The first message that was not looked at for that yet."""
    reading_rules: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    """Held by who looks."""
    n_sent: int = 0
    """How many leading pieces stood unchanged in the last request."""
    futile_above: int = 0
    """Raw tokens under which another compaction by threshold is not tried: the last one gained too little."""
    demoted: frozenset[RuleId] = frozenset()
    """Standing rules over their share of the budget, as they were last told."""
    rules: StandingRules | None = None
    """As they were last derived; None when they were not yet."""
    commands: Commands | None = None
    """What counts as ruled by command for the request that is being made; None: what was up to now."""
    written_ahead: int = -1
    """The version of the cut for which summaries were begun ahead of need."""
    measured: Measured = field(default_factory=Measured)
    """What the model's service said of the last request."""
    _estimated: tuple[tuple[object, ...], Estimate] | None = None
    """The newest estimate, and what it was made of: between compactions pieces are only appended or added to."""
    last_hidden: int = 0
    """The newest of what was rolled back or purged, as the state knows it."""
    last_injection: int = 0
    """The newest of what was added behind a message, as the state knows it."""
    recalled: tuple[MessageId, RecallReport] | None = None
    """How what the newest turn is told was chosen, and the message it was chosen for; None when this process did not
    choose."""
    noted: tuple[MessageId, RecallReport] | None = None
    """The same of the newest step note; the message is the one that the note follows."""

    @property
    def id(self) -> ConversationId:
        return self.record.id

    @property
    def fixed_tokens(self) -> int:
        """Raw tokens of the next request before the conversation."""
        return self.frame_tokens.total + self.front.tokens

    @property
    def budget_raw(self) -> int:
        """The budget in raw tokens, as the cut's estimator counts."""
        return self.cut.estimator.raw_within(self.budget.budget)

    @property
    def raw_tokens(self) -> int:
        """Of the next request, frame included."""
        return self.fixed_tokens + total_tokens(self.pieces)

    @property
    def image_tokens(self) -> int:
        """What the pictures of the next request take, in the model's own tokens."""
        return image_tokens(self.pieces)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Of the next request, in its order."""
        return (Part(-1, 0, self.fixed_tokens), *[piece.part for piece in self.pieces])

    @property
    def estimate(self) -> Estimate:
        """Of the next request: what was measured counts as measured, the rest by the cut's estimator. A model whose
        own tokens are counted needs no measuring."""
        estimator, raw = self.cut.estimator, self.raw_tokens
        if self.model.is_exact or not self.measured.request:
            return whole_estimate(estimator, raw, self.image_tokens)
        made_of = (raw, len(self.pieces), self.cut.version, estimator, self.measured.request, self.measured.real_tokens)
        if self._estimated is None or self._estimated[0] != made_of:
            self._estimated = (made_of, self.measured.estimate(self.parts, estimator))
        return self._estimated[1]

    def estimate_of(self, front: Front, pieces: Sequence[Piece]) -> Estimate:
        """The same of a request with another front and other pieces."""
        return replace(self, front=front, pieces=list(pieces), _estimated=None).estimate

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Of the next request, in its order. Their tokens add up to the mean of `estimate`."""
        estimator = self.cut.estimator
        measured = Measured() if self.model.is_exact else self.measured
        return segments_of(
            self.frame,
            self.frame_tokens,
            self.front,
            self.pieces,
            whole=self.estimate.mean,
            shares=measured.shares_of(self.parts, estimator),
            overhead=estimator.overhead,
            n_known_pieces=self.n_sent,
        )

    def renew_estimator(self) -> None:
        """Counts by what is known of the model now: a cut freezes its estimator, and a compaction takes it anew."""
        self.cut = replace(self.cut, estimator=self.model.estimator)

    @property
    def n_messages(self) -> int:
        """The next message's id, as the state knows it."""
        return self.record.n_messages

    @property
    def kept(self) -> frozenset[MessageId]:
        """Messages that no compaction summarizes: the running turn's request, and what the user expanded."""
        expanded = (MessageId(each) for start, end in self.expansions for each in range(start, end))
        return running_request(self.pieces).union(expanded)

    @property
    def n_blocks(self) -> int:
        return sum(isinstance(piece, SummaryPiece) for piece in self.pieces)

    def report_of(self, chosen: tuple[MessageId, RecallReport] | None) -> RecallReport | None:
        """The report of `recalled` or `noted`, as long as its message stands in the context."""
        lives = {piece.message.id for piece in self.pieces if isinstance(piece, MessagePiece)}
        return chosen[1] if chosen is not None and chosen[0] in lives else None

    @contextlib.contextmanager
    def ruled_by(self, commands: Commands | None) -> Iterator[None]:
        """What is made of the state in the block is made as if the user had ruled by command no more than that."""
        before, self.commands = self.commands, commands
        try:
            yield
        finally:
            self.commands = before

    def hide(self, start: MessageId, last_hidden: int) -> None:
        """The messages from `start` on were rolled back, and no summary in the context speaks of them."""
        self.pieces = [piece for piece in self.pieces if piece.end <= start]
        self.ruling = tuple(message for message in self.ruling if message.id < start)
        self.n_sent = min(self.n_sent, len(self.pieces))
        self.last_hidden = last_hidden

    def asked_at(self, turn_id: TurnId) -> int:
        """The position of the turn's own message among the pieces."""
        return next(
            i
            for i, piece in enumerate(self.pieces)
            if isinstance(piece, MessagePiece) and piece.message.turn_id == turn_id
        )

    def asked_in(self, turn_id: TurnId) -> MessagePiece:
        """The turn's own message."""
        piece = self.pieces[self.asked_at(turn_id)]
        assert isinstance(piece, MessagePiece)
        return piece

    def with_injection(self, turn_id: TurnId, text: str) -> ContextState:
        """A copy of the state in which the text stands behind the turn's own message."""
        asked = self.asked_in(turn_id)
        whole = stored_injections.joined(filter(None, (asked.injection, text)))
        added = replace(asked, injection=whole, injection_tokens=self.tokenizer.count(whole))
        index = self.asked_at(turn_id)
        return replace(self, pieces=[*self.pieces[:index], added, *self.pieces[index + 1 :]])

    def with_note(self, text: str) -> ContextState:
        """A copy of the state in which the text stands behind the newest message, as a message of its own."""
        newest = self.pieces[-1]
        assert isinstance(newest, MessagePiece)
        noted = replace(newest, note=text, note_tokens=self.tokenizer.count(text) + MESSAGE_OVERHEAD)
        return replace(self, pieces=[*self.pieces[:-1], noted])

    def with_more(self, tokens: int) -> ContextState:
        """A copy as large as the state will be when so many raw tokens are told behind the user's newest message: what
        was measured makes an estimate of parts other than the sum of their estimates."""
        for index in reversed(range(len(self.pieces)) if tokens else ()):
            piece = self.pieces[index]
            if isinstance(piece, MessagePiece) and piece.message.content.role is Role.USER:
                larger = replace(piece, injection_tokens=piece.injection_tokens + tokens)
                return replace(self, pieces=[*self.pieces[:index], larger, *self.pieces[index + 1 :]])
        return self

    def append(
        self, stored: Sequence[StoredMessage], tokens: Sequence[int], previews: dict[MessageId, Content]
    ) -> None:
        """Newly stored messages, live."""
        for message, size in zip(stored, tokens, strict=True):
            self.pieces.append(live(message, size, previews.get(message.id), self.tokenizer))
        if stored:
            self.record = replace(self.record, n_messages=stored[-1].id + 1)


def live(
    message: StoredMessage,
    tokens: int,
    preview: Content | None,
    tokenizer: Tokenizer,
    injected: Injected | None = None,
    note: Injected | None = None,
) -> MessagePiece:
    piece = MessagePiece(message, tokens, image_tokens=tokenizer.image_tokens(preview or message.content))
    if preview is not None:
        piece = replace(piece, preview=preview, preview_tokens=count_content(preview, tokenizer.count))
    if injected is not None:
        size = tokenizer.count(injected.text)
        piece = replace(piece, injection=injected.text, injection_tokens=size, injection_ids=injected.ids)
    if note is not None:
        size = tokenizer.count(note.text) + MESSAGE_OVERHEAD
        piece = replace(piece, note=note.text, note_tokens=size, note_id=note.ids[0])
    return piece


def front(text: str, tokenizer: Tokenizer) -> Front:
    return Front(text, count_content(render_front(text), tokenizer.count)) if text else Front()


def block(summary: Summary, tokenizer: Tokenizer) -> SummaryPiece:
    prose = split_prose(summary.text)[1] if summary.kind == HYBRID else ""
    tokens = count_content(render_summary(summary), tokenizer.count)
    return SummaryPiece(summary, tokens, tokenizer.count(prose) if prose else 0)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What is read of a conversation in one transaction."""

    record: ConversationRecord
    cut: CutRecord | None
    summaries: dict[SummaryId, Summary]
    previews: dict[MessageId, Content]
    live_messages: list[StoredMessage]
    expansions: tuple[tuple[MessageId, MessageId], ...]
    injections: dict[MessageId, Injected]
    notes: dict[MessageId, Injected]
    last_hidden: int
    last_injection: int
    counts: dict[MessageId, int] = field(default_factory=dict)


def _read(conversation_id: ConversationId, tokenizer: str) -> _Rows:
    record = conversations.get(conversation_id)
    cut = cuts.latest_cut(conversation_id)
    hidden = hidden_ranges.read(conversation_id)
    absent = [(each.start, each.end) for each in hidden]
    absent += [] if cut is None else cut.left_out
    expansions = tuple(cuts.expansions(conversation_id))
    summaries = [] if cut is None else summary_tree.read(conversation_id, cut.blocks)
    # A server may have died between hiding messages and choosing the cut without them.
    summaries = [summary for summary in summaries if summary_tree.is_usable(summary, hidden)]
    messages: list[StoredMessage] = []
    position = 0
    for summary in sorted(summaries, key=lambda each: each.start):
        if position < summary.start:
            messages += message_log.read(conversation_id, position, summary.start)
        position = summary.end
    messages += message_log.read(conversation_id, position)
    messages = [message for message in messages if not any(start <= message.id < end for start, end in absent)]
    first = messages[0].id if messages else position
    counts = message_log.read_counts(conversation_id, tokenizer, first)
    version = 0 if cut is None else cut.version
    previews = cuts.read_previews(conversation_id, version)
    injections = stored_injections.read(conversation_id, version)
    notes = stored_injections.read_notes(conversation_id, version)
    by_id = {each.id: each for each in summaries}
    last = hidden_ranges.last_hidden(conversation_id), stored_injections.last_injection(conversation_id)
    return _Rows(record, cut, by_id, previews, messages, expansions, injections, notes, *last, counts)


async def ensure_counts(
    store: Store,
    conversation_id: ConversationId,
    messages: Sequence[StoredMessage],
    counts: dict[MessageId, int],
    tokenizer: Tokenizer,
) -> dict[MessageId, int]:
    """Counts for all messages; those that had none are counted now and stored."""
    missing = [message for message in messages if message.id not in counts]
    if missing:
        sizes = await tokenizer.count_contents([message.content for message in missing])
        fresh = {message.id: size for message, size in zip(missing, sizes, strict=True)}
        await store.run(message_log.write_counts, conversation_id, tokenizer.name, fresh)
        counts = counts | fresh
    return counts


async def load_state(
    store: Store,
    conversation_id: ConversationId,
    model: Model,
    budget: Budget,
    tokenizer: Tokenizer,
    frame: Frame,
) -> ContextState:
    """The state as the store has it. A conversation without a cut begins with everything live."""
    rows = await store.search(_read, conversation_id, tokenizer.name)
    counts = await ensure_counts(store, conversation_id, rows.live_messages, rows.counts, tokenizer)
    frame_tokens = FrameTokens(frame.system_tokens(tokenizer.count), frame.tools_tokens(tokenizer.count))
    pieces: list[Piece] = [block(summary, tokenizer) for summary in rows.summaries.values()]
    pieces += [
        live(m, counts[m.id], rows.previews.get(m.id), tokenizer, rows.injections.get(m.id), rows.notes.get(m.id))
        for m in rows.live_messages
    ]
    pieces.sort(key=lambda piece: piece.start)
    cut = rows.cut or first_cut(model, frame.digest())
    return ContextState(
        rows.record,
        model,
        budget,
        tokenizer,
        cut,
        pieces,
        frame,
        frame_tokens,
        front(cut.front, tokenizer),
        rows.expansions,
        last_hidden=rows.last_hidden,
        last_injection=rows.last_injection,
    )


def first_state(
    record: ConversationRecord, model: Model, budget: Budget, tokenizer: Tokenizer, frame: Frame
) -> ContextState:
    """The state of a conversation in which nothing was said yet."""
    frame_tokens = FrameTokens(frame.system_tokens(tokenizer.count), frame.tools_tokens(tokenizer.count))
    cut = first_cut(model, frame.digest())
    return ContextState(record, model, budget, tokenizer, cut, [], frame, frame_tokens, Front(), ())


def first_cut(model: Model, frame_digest: Digest) -> CutRecord:
    """The cut of a conversation that was never compacted: nothing is summarized. Version 0 is not stored."""
    return CutRecord(0, CutCause.FIRST, model.name, model.estimator, frame_digest, MessageId(0), ())


async def load_everything(
    store: Store, state: ContextState, tokenizer: Tokenizer
) -> tuple[list[MessagePiece], list[Summary]]:
    """All visible messages, live and without previews, and all summaries that may be blocks and speak of nothing
    hidden: for choosing a cut anew."""

    def read() -> tuple[list[StoredMessage], dict[MessageId, int], list[Summary]]:
        hidden = hidden_ranges.read(state.id)
        visible = [
            message
            for message in message_log.read(state.id, 0)
            if not any(each.start <= message.id < each.end for each in hidden)
        ]
        whole = (summary for summary in summary_tree.read(state.id) if summary.kind != PROSE)
        usable = [summary for summary in whole if summary_tree.is_usable(summary, hidden)]
        return visible, message_log.read_counts(state.id, tokenizer.name, 0), usable

    messages, counts, summaries = await store.search(read)
    counts = await ensure_counts(store, state.id, messages, counts, tokenizer)
    return [live(message, counts[message.id], None, tokenizer) for message in messages], summaries
