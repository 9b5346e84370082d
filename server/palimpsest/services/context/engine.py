"""The context engine: from a conversation to a prepared context, and every change of what stands in it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.context.compaction_sizes import KEEP_SHARE
from palimpsest.domain.context.cut import (
    CutCause,
    MessagePiece,
    Piece,
    choose,
    keep_from,
    leave_out,
    prose_tokens,
    running_request,
)
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import ErrorDetail, RecentMessagesTooLarge
from palimpsest.domain.messages import Content, ConversationId, MessageId
from palimpsest.domain.models.limits import Budget, Model
from palimpsest.domain.models.provider import TokenUsage
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.services.context import debug_log as context_debug
from palimpsest.services.context.compaction import AHEAD_SHARE, Compactor
from palimpsest.services.context.counting import calibrated, key_of, observe
from palimpsest.services.context.cut_adoption import CutAdoption
from palimpsest.services.context.fitting import as_planned
from palimpsest.services.context.notebooks import Notebooks
from palimpsest.services.context.previews import Accepted, accept, with_previews
from palimpsest.services.context.rule_patterns import load_patterns
from palimpsest.services.context.state import ContextState, block, first_state, load_everything, load_state
from palimpsest.services.context.summaries.summarizers import ExtractiveSummarizer, Summarizer
from palimpsest.services.context.summaries.writer import SummaryWriter
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.events import EventSink
from palimpsest.services.leases import Leases
from palimpsest.services.models.catalog import Models
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.models.tokenizers import Tokenizer, Tokenizers
from palimpsest.storage import leases
from palimpsest.storage.context import cuts, injections, visibility
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.models import learn_limit
from palimpsest.storage.store import Store

_READING_SHARE: Final = 0.5
_UNNAMED_LIMIT: Final = 0.9
"""Of a request that its service found too long without saying what fits: what is tried next."""


async def quoting(_: Model, __: EditorId | None) -> Summarizer:
    """The summarizer that needs no model."""
    return ExtractiveSummarizer()


def always(frame: Frame) -> Callable[[], Awaitable[Frame]]:
    """What tells of a frame that never changes."""

    async def frame_now() -> Frame:
        return frame

    return frame_now


MAX_STATES: Final = 32
"""Conversations held in memory, each with all that its cut shows; those that are written are held besides."""
MAX_PIECES: Final = 20_000
"""Messages and summaries of the conversations held in memory, 1.4 kB each without their text. One that was imported and
never asked about has all its messages."""


@dataclass(slots=True)
class ContextEngine:
    """The contexts of one store's conversations."""

    leases: Leases
    """Of the store that the conversations are in."""
    models: Models
    tokenizers: Tokenizers
    settings: ContextSettings
    frame_now: Callable[[], Awaitable[Frame]]
    """What stands before a conversation whose turn begins now."""
    emit: EventSink
    choose_summarizer: Callable[[Model, EditorId | None], Awaitable[Summarizer]] = quoting
    """Who writes the summaries of a conversation with that model, for the editor that asked for its work."""
    _states: dict[ConversationId, ContextState] = field(default_factory=dict)
    """The last used is last."""
    _written: dict[ConversationId, WritableContext] = field(default_factory=dict)
    """Conversations that are written by this engine now: what it holds of them is newer than what anybody reads."""
    _loading: dict[ConversationId, asyncio.Task[ContextState]] = field(default_factory=dict)
    notebooks: Notebooks = field(init=False)
    rewriting: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a purge rewrites the store's files: SQLite empties the log for one connection at a time."""

    def __post_init__(self) -> None:
        self.notebooks = Notebooks(self.leases.store, self.leases.background)

    @property
    def store(self) -> Store:
        return self.leases.store

    @property
    def adoption(self) -> CutAdoption:
        """What makes chosen pieces the cut of a conversation."""
        return CutAdoption(self.store, self.emit)

    @property
    def background(self) -> Background:
        """What is written while nobody waits."""
        return self.leases.background

    async def compactor(self, context: WritableContext) -> Compactor:
        """What compacts the conversation for the editor that asked for the work."""
        return await self._compactor(context.state.model, context.asked_by)

    async def _compactor(self, model: Model, asked_by: EditorId | None) -> Compactor:
        summarizer = await self.choose_summarizer(model, asked_by)
        writer = SummaryWriter(self.store, summarizer, self.notebooks, self.background)
        return Compactor(self.adoption, self.settings, writer)

    async def state(self, conversation_id: ConversationId) -> ContextState:
        """The conversation's state, in step with the store; while it is written here, the very state that its writer
        has. For reading. Raises NotFound."""
        if (context := self._written.get(conversation_id)) is not None:
            return context.state
        return await self._in_step(conversation_id)

    async def hold(self, lease: HeldLease, asked_by: EditorId | None = None) -> WritableContext:
        """The context of the lease's conversation, to be changed. Until `let_go` every reader gets its state."""
        self._written.pop(lease.conversation_id, None)
        context = WritableContext(await self._in_step(lease.conversation_id), lease, asked_by)
        self._written[lease.conversation_id] = context
        return context

    async def read_again(self, context: WritableContext) -> None:
        """Puts what the store says in the place of the context's state."""
        self._written.pop(context.id, None)
        context.state = await self._in_step(context.id)
        self._written[context.id] = context

    def let_go(self, lease: HeldLease) -> None:
        """The lease's holder changes the context no more."""
        if (context := self._written.get(lease.conversation_id)) is not None and context.lease == lease:
            del self._written[lease.conversation_id]

    @contextlib.asynccontextmanager
    async def writing(
        self,
        conversation_id: ConversationId,
        holder: str,
        changed: Callable[[ConversationId], None],
        asked_by: EditorId | None = None,
    ) -> AsyncIterator[WritableContext]:
        """The conversation's context and the right to change it, for as long as the block runs. `holder`: words for
        people, such as `a summary`. `changed`: told when the lease could be given back only later.

        Raises NotFound, StoreError, and ConversationBusy while somebody else writes the conversation.
        """
        async with self.leases.hold(conversation_id, holder, changed) as lease:
            try:
                yield await self.hold(lease, asked_by)
            finally:
                self.let_go(lease)

    async def _in_step(self, conversation_id: ConversationId) -> ContextState:
        """Read anew unless what is held says what the store says. One load at a time: two would be two states, and what
        one request changes the next would not see."""

        def read() -> tuple[ConversationRecord, tuple[int, int, int]]:
            version, hidden = cuts.latest_version(conversation_id), hidden_ranges.last_hidden(conversation_id)
            return conversations.get(conversation_id), (version, hidden, injections.last_injection(conversation_id))

        while True:
            record, stands = await self.store.read(read)
            fresh = self.models.assume(record.model)  # its editor or its service may have said more since
            known = self._states.get(conversation_id)
            if known is not None and (
                *(known.n_messages, known.record.model, known.model.limits, known.model.tokenizer),
                *(known.cut.version, known.last_hidden, known.last_injection),
            ) == (record.n_messages, record.model, fresh.limits, fresh.tokenizer, *stands):
                self.keep(known)
                known.record = record
                return known
            if (others := self._loading.get(conversation_id)) is not None:
                await asyncio.wait([others])  # which may have begun before what this call has read
                continue
            loading = asyncio.create_task(self._load(record), name=f"load {conversation_id}")
            self._loading[conversation_id] = loading
            loading.add_done_callback(self._loaded)
            return await asyncio.shield(loading)

    def _loaded(self, loading: asyncio.Task[ContextState]) -> None:
        for conversation_id in [each for each, task in self._loading.items() if task is loading]:
            del self._loading[conversation_id]
        if not loading.cancelled():
            loading.exception()  # whoever waits gets it, and nobody has to

    async def _load(self, record: ConversationRecord) -> ContextState:
        model, budget, tokenizer = await self._fitted(record.model)
        state = await load_state(self.store, record.id, model, budget, tokenizer, await self.frame_now())
        if (context := self._written.get(record.id)) is not None:  # somebody began to write meanwhile
            return context.state
        known = self._states.get(record.id)
        if known is not None and (known.model.name, known.tokenizer.name) == (model.name, tokenizer.name):
            # What the service said of messages stays true, whatever else has changed: one that it took is taken again.
            state.measured = known.measured
        self.keep(state)
        context_debug.init_counters(
            n_messages=state.n_messages,
            current_tokens=state.raw_tokens - state.frame_tokens.total,
            schema_tokens=state.frame_tokens.total,
            window=budget.window,
            margin=budget.margin,
            tokenizer=tokenizer.name,
        )
        return state

    def keep(self, state: ContextState) -> None:
        """In memory, in the place of what was. Of those that nobody writes, the longest unused makes room where there
        are too many, and the longest ones where they hold too much."""
        self._states.pop(state.id, None)
        self._states[state.id] = state
        unused = [each for each in self._states.values() if each.id not in self._written and each is not state]
        n_too_many = max(0, len(self._states) - MAX_STATES)
        for each in unused[:n_too_many]:
            del self._states[each.id]
        n_pieces = sum(len(each.pieces) for each in self._states.values())
        for each in sorted(unused[n_too_many:], key=lambda each: len(each.pieces), reverse=True):
            if n_pieces <= MAX_PIECES:
                break
            del self._states[each.id]
            n_pieces -= len(each.pieces)

    async def begin(self, record: ConversationRecord, frame: Frame) -> ContextState:
        """The state of a conversation that is not stored yet: so that its first message can be checked before it is.
        Nothing keeps it."""
        return first_state(record, *await self._fitted(record.model), frame)

    async def _fitted(self, model_name: str) -> tuple[Model, Budget, Tokenizer]:
        family = self.models.assume(model_name)
        tokenizer = await self.tokenizer_of(family)
        return await calibrated(self.store, family, tokenizer.name), self.models.budget(family), tokenizer

    async def tokenizer_of(self, model: Model) -> Tokenizer:
        """What counts for the model."""
        return replace(await self.tokenizers.get(model.tokenizer), images=model.images)

    async def observe(self, state: ContextState, raw_tokens: int, usage: TokenUsage) -> None:
        """Learns from what a provider says a request of `raw_tokens`, pictures included, took. The cut keeps its
        estimator until the next compaction. A provider that says nothing teaches nothing."""
        estimate = state.estimate
        context_debug.request_metrics(
            raw_tokens=raw_tokens,
            mean_tokens=estimate.mean,
            upper_tokens=estimate.upper,
            real_tokens=usage.prompt_tokens,
        )
        if usage.prompt_tokens > 0:
            family = self.models.assume(state.record.model).estimator
            key = key_of(state.model, state.tokenizer.name)
            images = state.image_tokens
            estimator = await observe(
                self.store, key, family, raw_tokens - images, max(usage.prompt_tokens - images, 0)
            )
            state.model = replace(state.model, estimator=estimator)
            state.measured = state.measured.observe(state.parts, state.cut.estimator, usage.prompt_tokens)

    def forget(self, conversation_id: ConversationId) -> None:
        """Drops what is held in memory; the next `state` reads the store."""
        self._states.pop(conversation_id, None)
        self._written.pop(conversation_id, None)

    async def accept(self, state: ContextState, contents: Sequence[Content]) -> Accepted:
        """Counts messages that are about to be stored, as they will be stored, and decides which of them are too large
        to be sent whole."""
        contents = await self.store.read(message_log.cleaned, state.id, contents)
        return await accept(self.settings, state, contents)

    def appended(self, state: ContextState, stored: Sequence[StoredMessage], accepted: Accepted) -> None:
        """Tells the state what was stored, after the transaction."""
        state.append(stored, accepted.tokens, accepted.previews_of(stored))

    def hid(self, state: ContextState, start: MessageId, hid: visibility.HidingEffect) -> None:
        """Tells the state what was hidden from `start` on, after the transaction."""
        if hid.has_new_cut:
            self.forget(state.id)
        else:
            state.hide(start, hid.last_hidden)

    async def push_message(self, context: WritableContext, content: Content) -> MessagePiece:
        """Stores a message at the end of the conversation, outside any turn: for what was said elsewhere. As it stands
        in the context."""
        state = context.state
        accepted = await self.accept(state, [content])

        def write() -> list[StoredMessage]:
            leases.check(context.lease)
            stored = message_log.append(state.id, accepted.contents, utc_now(), counts=accepted.counts)
            cuts.write_previews(state.id, state.cut.version, accepted.previews_of(stored))
            return stored

        await self.store.commit(write, lambda stored: self.appended(state, stored, accepted))
        pushed = state.pieces[-1]
        assert isinstance(pushed, MessagePiece)
        return pushed

    async def make_room(self, context: WritableContext, tokens: int) -> None:
        """Compacts what is committed, so that `tokens` (the model's) more fit the wall, as far as that can be had:
        between two steps of a turn there would be room for them."""
        state = context.state
        limit = as_planned(state, max(state.budget.wall - tokens, 0))
        with contextlib.suppress(RecentMessagesTooLarge):
            await (await self.compactor(context)).by_threshold(context, limit)

    def consider_writing_ahead(self, context: WritableContext) -> None:
        """Begins, in the background, what the next compaction will want: from half of the budget on the notebook read
        and the patterns of rules compiled, and once for every cut a model's summaries."""
        state = context.state
        upper = state.estimate.upper
        if self.settings.infinity and upper >= _READING_SHARE * state.budget.budget:
            self.notebooks.catch_up(state)
            self.background.start(None, asyncio.to_thread(load_patterns))  # else the next message waits for it
        share = max(AHEAD_SHARE, self.settings.threshold - KEEP_SHARE)
        is_wanted = self.settings.infinity and upper >= share * state.budget.budget
        if is_wanted and state.written_ahead != state.cut.version:
            state.written_ahead = state.cut.version
            newest = state.pieces[keep_from(state.pieces, 0, self.settings.preserve_recent) :]
            end = newest[0].start if newest else state.n_messages
            self.background.start(state.id, self._write_ahead(state, context.asked_by), end)

    async def _write_ahead(self, state: ContextState, asked_by: EditorId | None) -> None:
        await (await self._compactor(state.model, asked_by)).write_ahead(state)

    async def adopt_anew(self, context: WritableContext, cause: CutCause, *, frame_digest: str = "") -> None:
        """A cut chosen over everything visible, originals first, for the state's model and budget."""
        state = context.state
        pieces, left_out = await self.chosen_anew(state, ())
        if cause is CutCause.MODEL:
            compactor, room = await self.compactor(context), self._room(state)
            if (missing := compactor.missing(state, pieces)) > 0:
                fewer, left_out = await self.chosen_anew(state, (), max(room - missing, room // 2))
                pieces = await compactor.larger(state, fewer, room)
        await self.adoption.adopt(context, pieces, cause, frame_digest=frame_digest, left_out=left_out)

    async def chosen_anew(
        self, state: ContextState, asked: Sequence[MessagePiece], room: int | None = None
    ) -> tuple[list[Piece], tuple[tuple[MessageId, MessageId], ...]]:
        """The pieces of such a cut, and what it leaves out. `asked`: behind the stored messages."""
        messages, summaries = list[MessagePiece](), list[Summary]()
        if state.n_messages:  # a conversation that begins is not stored yet
            messages, summaries = await load_everything(self.store, state, state.tokenizer)
        shown = await asyncio.to_thread(with_previews, self.settings, state, [*messages, *asked])
        target = self._room(state) if room is None else room
        pieces = choose(
            shown,
            summaries if self.settings.infinity else (),
            lambda summary: block(summary, state.tokenizer).tokens,
            target,
            self.settings.preserve_recent,
            running_request(shown),
        )
        if self.settings.infinity:
            return pieces, ()
        return leave_out(pieces, target, self.settings.preserve_recent, running_request(shown))

    def _room(self, state: ContextState) -> int:
        """Raw tokens that the pieces of a cut may take which is chosen anew."""
        share = min(self.settings.switch_target, self.settings.threshold)
        return state.model.estimator.raw_within(int(share * state.budget.budget)) - state.fixed_tokens

    def is_due(self, state: ContextState, limit_tokens: int, more_tokens: int = 0) -> bool:
        """Whether a compaction comes before the next request, with `more_tokens` (raw) added to it."""
        upper = state.with_more(more_tokens).estimate.upper
        if upper > limit_tokens:
            return True
        return upper > self.due_tokens(state) and state.raw_tokens >= state.futile_above

    def due_tokens(self, state: ContextState) -> int:
        """The size of a request above which a compaction is due: the threshold and, up to the budget, the models' texts
        behind pages, so that these take no room from anything else."""
        prose = state.cut.estimator.upper(prose_tokens(state.pieces))
        return min(int(self.settings.threshold * state.budget.budget) + prose, state.budget.budget)

    def is_distilled(self, state: ContextState) -> bool:
        """Whether the layout of the conversation's requests is `librarian`."""
        return (state.record.layout or self.settings.layout) == "librarian"

    def is_to_be_restored(self, state: ContextState) -> bool:
        """Whether messages are left out that the layout of now sends: it is another than the cut was chosen for."""
        return self.settings.infinity and bool(state.cut.left_out) and not self.is_distilled(state)

    async def learn_limit(self, state: ContextState, refused: PreparedContext, detail: ErrorDetail) -> None:
        """Takes it that the model's service takes no more than it said, question and answer together, or, where it
        named no number, less than what it refused. From now on that is the model's window in every conversation of the
        folder.

        Nothing is learned where no conversation would be left room: then the request's length was not what it minded.
        """
        if detail.projected_tokens:
            await self.observe(state, state.raw_tokens, TokenUsage(input_tokens=detail.projected_tokens))
        model = state.model
        unnamed = int(_UNNAMED_LIMIT * refused.estimated_tokens)
        limit = next((each for each in (detail.limit_tokens or 0, unnamed) if self._leaves_room(state, each)), None)
        if limit is None:
            return
        await self.store.run(learn_limit, model.provider, model.service_name, limit, utc_now())
        self.models.learn(model, limit)
        for each in {id(each): each for each in (state, *self._states.values())}.values():
            if (each.model.provider, each.model.service_name) == (model.provider, model.service_name):
                fresh = self.models.assume(each.record.model)
                each.model = replace(fresh, estimator=each.model.estimator)
                each.budget = self.models.budget(fresh)

    def _leaves_room(self, state: ContextState, limit_tokens: int) -> bool:
        """Whether more than what stands before the conversation would fit a window of that size."""
        budget = self.models.budget_within(state.model, limit_tokens)
        return budget is not None and budget.budget > state.model.estimator.upper(state.fixed_tokens)
