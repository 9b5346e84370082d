"""The context engine: from a conversation to a prepared context, and every change of what stands in it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.context.compaction_sizes import KEEP_SHARE
from palimpsest.domain.context.cut import Block, CutCause, Live, Piece, choose, keep_from, leave_out, running_request
from palimpsest.domain.context.measured import Measured
from palimpsest.domain.context.model_switch import ContextAdaptation, adapt
from palimpsest.domain.context.prepared import PreparedContext, ToolChoice
from palimpsest.domain.context.recalled import HEAD
from palimpsest.domain.context.request_layout import Frame, FrameTokens, lay_out
from palimpsest.domain.context.rules.front import Commands, StandingRules
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import ErrorDetail, LedgerTooLarge, RecentMessagesTooLarge
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, TurnId
from palimpsest.domain.models.limits import Budget, Model
from palimpsest.domain.models.provider import TokenUsage
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.services.context import debug_log as context_debug
from palimpsest.services.context.acceptance import Accepted, accept, with_previews
from palimpsest.services.context.calibrating import calibrated, key_of, observe
from palimpsest.services.context.compaction import AHEAD_SHARE, Compactor, distilled
from palimpsest.services.context.fitting import Fit, Fitting, fitting
from palimpsest.services.context.going_on import GoingOn, read_going_on
from palimpsest.services.context.near_limit import counted, is_near
from palimpsest.services.context.recall import DISTILLED, USUAL, Recall
from palimpsest.services.context.rules import front_of, news_of, read_rules, read_rules_of_turn
from palimpsest.services.context.state import ContextState, block, first_state, front, load_everything, load_state
from palimpsest.services.context.summaries.summarizers import ExtractiveSummarizer, Summarizer
from palimpsest.services.context.summaries.writer import SummaryWriter
from palimpsest.services.events import ContextEvent, ContextEventType, EventSink
from palimpsest.services.leases import Leases
from palimpsest.services.models.catalog import Models
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.models.tokenizers import Tokenizer, Tokenizers
from palimpsest.storage import leases
from palimpsest.storage.context import cuts as contexts
from palimpsest.storage.context import knowledge
from palimpsest.storage.conversation import conversations
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.models import learn_limit
from palimpsest.storage.store import Store

_PLANS: Final = 3
"""Re-cuts that are tried for one request before it counts as too large."""
_UNNAMED_LIMIT: Final = 0.9
"""Of a request that its service found too long without saying what fits: what is tried next."""


@dataclass(frozen=True, slots=True)
class Switch:
    """What a model switch did."""

    model: Model
    adaptation: ContextAdaptation


@dataclass(frozen=True, slots=True)
class Beside:
    """What a turn was admitted beside: what comes after that comes with the next turn, where it must."""

    frame: Frame
    commands: Commands


@dataclass(frozen=True, slots=True)
class Trial:
    """What a turn would begin with."""

    state: ContextState
    """With the message, and the model that would answer it. Nobody else has it."""
    rules: StandingRules
    fitting: Fitting


async def quoting(_: Model, __: EditorId | None) -> Summarizer:
    """The summarizer that needs no model."""
    return ExtractiveSummarizer()


MAX_STATES: Final = 32
"""Conversations held in memory, each with all that its cut shows; those that are written are held besides."""


@dataclass(slots=True)
class ContextEngine:
    """The contexts of one store's conversations."""

    store: Store
    models: Models
    tokenizers: Tokenizers
    settings: ContextSettings
    frame: Frame
    """Of turns that begin now."""
    emit: EventSink
    choose_summarizer: Callable[[Model, EditorId | None], Awaitable[Summarizer]] = quoting
    """Who writes the summaries of a conversation with that model, for the editor that asked for its work."""
    background: Background = field(default_factory=Background)
    """What is written while nobody waits."""
    recall: Recall | None = None
    """What tells a turn of what its context does not hold; None: nothing does."""
    leases: Leases = field(init=False)
    _states: dict[ConversationId, ContextState] = field(default_factory=dict)
    """The last used is last."""
    _written: dict[ConversationId, HeldLease] = field(default_factory=dict)
    """Conversations that are written by this engine now: what it holds of them is newer than what anybody reads."""
    _loading: dict[ConversationId, asyncio.Task[ContextState]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.leases = Leases(self.store, self.background)

    async def compactor(self, state: ContextState) -> Compactor:
        """What carries out re-cuts of the state's conversation."""
        summarizer = await self.choose_summarizer(state.model, state.asked_by)
        writer = SummaryWriter(self.store, summarizer, self.background)
        return Compactor(self.store, self.settings, writer, self.emit)

    async def state(self, conversation_id: ConversationId) -> ContextState:
        """The conversation's state, in step with the store; while it is written here, the very state that its writer
        has. For reading. Raises NotFound."""
        if conversation_id in self._written and (known := self._states.get(conversation_id)) is not None:
            return known
        return await self._in_step(conversation_id)

    async def writable(self, lease: HeldLease) -> ContextState:
        """The state of the lease's conversation, for who changes it. Until `let_go` everybody gets this one."""
        self._written.pop(lease.conversation_id, None)
        state = await self._in_step(lease.conversation_id)
        self._written[lease.conversation_id] = lease
        return state

    def let_go(self, lease: HeldLease) -> None:
        """The lease's holder changes the state no more."""
        if self._written.get(lease.conversation_id) == lease:
            del self._written[lease.conversation_id]

    @contextlib.asynccontextmanager
    async def writing(
        self, conversation_id: ConversationId, holder: str, changed: Callable[[ConversationId], None]
    ) -> AsyncIterator[tuple[ContextState, HeldLease]]:
        """The conversation's state and the right to change it, for as long as the block runs. `holder`: words for
        people, such as `a summary`. `changed`: told when the lease could be given back only later.

        Raises NotFound, StoreError, and ConversationBusy while somebody else writes the conversation.
        """
        async with self.leases.hold(conversation_id, holder, changed) as lease:
            try:
                yield await self.writable(lease), lease
            finally:
                self.let_go(lease)

    async def _in_step(self, conversation_id: ConversationId) -> ContextState:
        """Read anew unless what is held says what the store says. One load at a time: two would be two states, and what
        one request changes the next would not see."""

        def read() -> tuple[ConversationRecord, tuple[int, int, int]]:
            version, hidden = contexts.latest_version(conversation_id), conversations.last_hidden(conversation_id)
            return conversations.get(conversation_id), (version, hidden, contexts.last_injection(conversation_id))

        while True:
            record, stands = await self.store.read(read)
            fresh = self.models.assume(record.model)  # its editor or its service may have said more since
            known = self._states.get(conversation_id)
            if known is not None and (
                *(known.n_messages, known.record.model, known.model.limits, known.model.tokenizer),
                *(known.cut.version, known.last_hidden, known.last_injection),
            ) == (record.n_messages, record.model, fresh.limits, fresh.tokenizer, *stands):
                self._keep(known)
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
        state = await load_state(self.store, record.id, model, budget, tokenizer, self.frame)
        known = self._states.get(record.id)
        if known is not None and record.id in self._written:  # whoever began to write meanwhile has that one
            return known
        if known is not None and (known.model.name, known.tokenizer.name) == (model.name, tokenizer.name):
            # What the service said of messages stays true, whatever else has changed: one that it took is taken again.
            state.measured = known.measured
        self._keep(state)
        context_debug.init_counters(
            n_messages=state.n_messages,
            current_tokens=state.raw_tokens - state.frame_tokens.total,
            schema_tokens=state.frame_tokens.total,
            window=budget.window,
            margin=budget.margin,
            tokenizer=tokenizer.name,
        )
        return state

    def _keep(self, state: ContextState) -> None:
        """In memory, in the place of what was; of those that nobody writes, the longest unused makes room."""
        self._states.pop(state.id, None)
        self._states[state.id] = state
        unused = [each for each in self._states if each not in self._written and each != state.id]
        for conversation_id in unused[: max(0, len(self._states) - MAX_STATES)]:
            del self._states[conversation_id]

    async def begin(self, record: ConversationRecord) -> ContextState:
        """The state of a conversation that is not stored yet: so that its first message can be checked before it is.
        Nothing keeps it."""
        return first_state(record, *await self._fitted(record.model), self.frame)

    async def _fitted(self, model_name: str) -> tuple[Model, Budget, Tokenizer]:
        family = self.models.assume(model_name)
        tokenizer = await self.tokenizers.get(family.tokenizer)
        return await calibrated(self.store, family, tokenizer.name), self.models.budget(family), tokenizer

    async def observe(self, state: ContextState, raw_tokens: int, usage: TokenUsage) -> None:
        """Learns from what a provider says a request of `raw_tokens` took. The cut keeps its estimator until the
        next re-cut. A provider that says nothing teaches nothing."""
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
            estimator = await observe(self.store, key, family, raw_tokens, usage.prompt_tokens)
            state.model = replace(state.model, estimator=estimator)
            state.measured = state.measured.observe(state.parts, state.cut.estimator, usage.prompt_tokens)

    def forget(self, conversation_id: ConversationId) -> None:
        """Drops what is held in memory; the next `state` reads the store."""
        self._states.pop(conversation_id, None)
        self._written.pop(conversation_id, None)

    async def accept(self, state: ContextState, contents: Sequence[Content]) -> Accepted:
        """Counts messages that are about to be stored and decides which of them are too large to be sent whole."""
        return await accept(self.settings, state, contents)

    def appended(self, state: ContextState, stored: Sequence[StoredMessage], accepted: Accepted) -> None:
        """Tells the state what was stored, after the transaction."""
        state.append(stored, accepted.tokens, accepted.previews_of(stored))

    def hid(self, state: ContextState, start: MessageId, hid: contexts.Hid) -> None:
        """Tells the state what was hidden from `start` on, after the transaction."""
        if hid.has_new_cut:
            self.forget(state.id)
        else:
            state.hide(start, hid.last_hidden)

    async def push_message(self, state: ContextState, lease: HeldLease, content: Content) -> Live:
        """Stores a message at the end of the conversation, outside any turn: for what was said elsewhere. As it stands
        in the context."""
        accepted = await self.accept(state, [content])

        def write() -> list[StoredMessage]:
            leases.check(lease)
            stored = conversations.append(state.id, accepted.contents, utc_now(), counts=accepted.counts)
            contexts.write_previews(state.id, state.cut.version, accepted.previews_of(stored))
            return stored

        await self.store.commit(write, lambda stored: self.appended(state, stored, accepted))
        pushed = state.pieces[-1]
        assert isinstance(pushed, Live)
        return pushed

    async def prepare(
        self,
        state: ContextState,
        lease: HeldLease,
        limit_tokens: int,
        tool_choice: ToolChoice = "auto",
        turn_id: TurnId | None = None,
        beside: Beside | None = None,
    ) -> PreparedContext:
        """The next request, compacted first where that is due. The only way to a prepared context (invariant 4).

        `turn_id`: of the turn whose first request it is, None for later ones. `beside`: what that turn was admitted
        beside; what the user rules by command since then is told to the next turn. Raises RecentMessagesTooLarge when
        what must be sent verbatim does not fit.
        """
        with state.ruled_by(None if turn_id is None or beside is None else beside.commands):
            return await self._prepare(state, lease, limit_tokens, tool_choice, turn_id, beside)

    async def _prepare(
        self,
        state: ContextState,
        lease: HeldLease,
        limit_tokens: int,
        tool_choice: ToolChoice,
        turn_id: TurnId | None,
        beside: Beside | None,
    ) -> PreparedContext:
        if turn_id is not None:
            frame = self.frame if beside is None else await self._frame_for(state, limit_tokens, beside.frame)
            if state.cut.frame_digest != frame.digest():
                await self._take_up_frame(state, lease, frame)
        is_distilled = self.is_distilled(state)
        if self._is_to_be_restored(state):
            await self.adopt_anew(state, lease, CutCause.USER)
        if is_distilled and turn_id is not None:
            await (await self.compactor(state)).distil(state, lease)
        if state.model.estimator.upper(state.raw_tokens) > limit_tokens:
            # By what was learned meanwhile the request would not fit: then the cut's estimator counts no longer.
            state.cut = replace(state.cut, estimator=state.model.estimator)
        news = ""
        if turn_id is not None:
            news = news_of(state, await read_rules_of_turn(self.store, state))
        if not news and (as_counted := await self._as_counted(state, limit_tokens, tool_choice)) is not None:
            return as_counted
        news_tokens = state.tokenizer.count(news) if news else 0
        if self.is_due(state, limit_tokens, news_tokens):
            if turn_id is not None:
                rules = await read_rules_of_turn(self.store, state)
                fitting(self.settings, state, rules, limit_tokens, news_tokens).check()
            await self._compact(state, lease, limit_tokens, news_tokens)
            news = news_of(state, await read_rules_of_turn(self.store, state)) if news else ""
        if news and turn_id is not None:
            await self._inject(state, lease, turn_id, "rules", news)
        if turn_id is not None and self.recall is not None:
            await self._recall(self.recall, state, lease, turn_id, limit_tokens)
        prepared = self.lay_out(state, limit_tokens, tool_choice)
        state.n_sent = len(state.pieces)
        return prepared

    async def _compact(self, state: ContextState, lease: HeldLease, limit_tokens: int, more_tokens: int) -> None:
        """A re-cut, planned by the estimator and held against what was measured; planned smaller where that says more,
        and as small as can be where nothing else makes room. `more_tokens` (raw) are told beside the request unless a
        new cut puts them to its front.

        Raises RecentMessagesTooLarge when what must stay does not fit by what was measured.
        """
        compactor = await self.compactor(state)
        version = state.cut.version

        def fits() -> bool:
            left = more_tokens if state.cut.version == version else 0
            return state.with_more(left).estimate.upper <= limit_tokens

        for _ in range(_PLANS):
            planned = state.model.estimator.upper(state.raw_tokens)
            room = limit_tokens * planned // max(state.estimate.upper, 1)
            try:
                await compactor.by_threshold(state, lease, room, more_tokens)
            except RecentMessagesTooLarge:
                break
            if fits():
                return
        if not fits():
            await compactor.to_the_least(state, lease, limit_tokens)

    async def _as_counted(
        self, state: ContextState, limit_tokens: int, tool_choice: ToolChoice
    ) -> PreparedContext | None:
        """The request as it stands, where only the spread of the estimate speaks against it, the provider counts it as
        fitting, and a re-cut was found to gain too little."""
        mean, upper = state.estimate
        if upper <= limit_tokens or state.raw_tokens >= state.futile_above or not is_near(mean, upper, limit_tokens):
            return None
        # For the question only: what is sent carries the limit it was proven to fit.
        asked = self.lay_out(state, upper, tool_choice)
        tokens = await counted(self.models.provider(state.model, state.asked_by), asked)
        if tokens is None or tokens > limit_tokens:
            return None
        state.n_sent = len(state.pieces)
        return asked.counted_as(tokens, limit_tokens)

    async def _frame_for(self, state: ContextState, limit_tokens: int, admitted: Frame) -> Frame:
        """The frame of now; that of the admission where the message fits no longer for what came to it since. Then that
        comes with the next turn. A tool that was taken away is in none."""
        if admitted == self.frame or any(tool not in self.frame.tools for tool in admitted.tools):
            return self.frame
        rules = await read_rules_of_turn(self.store, state)
        fits = fitting(self.settings, self.framed(state, self.frame), rules, limit_tokens).fit is not Fit.NEVER
        return self.frame if fits else admitted

    async def _take_up_frame(self, state: ContextState, lease: HeldLease, frame: Frame) -> None:
        """The system prompt, the instructions or the tools changed: the turn that begins is the first to see it. Where
        it is the conversation's first, nobody has seen others, and nothing is re-cut."""
        count = state.tokenizer.count
        state.frame = frame
        state.frame_tokens = FrameTokens(frame.system_tokens(count), frame.tools_tokens(count))
        state.n_sent = 0
        digest = frame.digest()
        if state.cut.version == 0 and len(state.pieces) == 1:
            state.cut = replace(state.cut, frame_digest=digest)
            return
        await (await self.compactor(state)).adopt(state, lease, state.pieces, CutCause.FRAME, frame_digest=digest)

    def _is_to_be_restored(self, state: ContextState) -> bool:
        """Whether messages are left out that the layout of now sends: it is another than the cut was chosen for."""
        return self.settings.infinity and bool(state.cut.left_out) and not self.is_distilled(state)

    def is_distilled(self, state: ContextState) -> bool:
        """Whether the layout of the conversation's requests is `librarian`."""
        return (state.record.layout or self.settings.layout) == "librarian"

    async def _recall(
        self, recall: Recall, state: ContextState, lease: HeldLease, turn_id: TurnId, limit_tokens: int
    ) -> None:
        """Tells the turn what its context does not hold, once; chosen anew where the folder knows something else when
        it is stored: what is hidden, purged or forgotten meanwhile is not told.

        What is told is part of the request, so where a re-cut is due with it, it comes first; where that would free too
        little, the rest of the limit is there for it. When not even that is enough, the editor is told.
        """
        if HEAD in state.asked_in(turn_id).injection:
            return
        for _ in range(_PLANS):
            known = await self.store.read(knowledge.version)
            text = await self._chosen_to_tell(recall, state, lease, turn_id, limit_tokens)
            if not text:
                return
            with contextlib.suppress(knowledge.Changed):
                return await self._inject(state, lease, turn_id, "recall", text, known)

    async def _chosen_to_tell(
        self, recall: Recall, state: ContextState, lease: HeldLease, turn_id: TurnId, limit_tokens: int
    ) -> str:
        asked = state.asked_in(turn_id)
        share = (DISTILLED if self.is_distilled(state) else USUAL).tokens(state)
        if not (text := await recall.text(state, asked, share)):
            return ""
        is_futile = state.raw_tokens < state.futile_above or self.is_distilled(state)
        if not is_futile and self.is_due(state, limit_tokens, state.tokenizer.count(text)):
            with contextlib.suppress(RecentMessagesTooLarge):
                await self._compact(state, lease, limit_tokens, 0)
            text = await recall.text(state, state.asked_in(turn_id), share)  # the context holds less now
        needed = state.with_injection(turn_id, text).estimate.upper
        while text and needed > limit_tokens:
            share //= 2
            if not (text := await recall.text(state, state.asked_in(turn_id), share)):
                self._tell_no_room(state, needed, limit_tokens)
                return ""
            needed = state.with_injection(turn_id, text).estimate.upper
        return text

    def _tell_no_room(self, state: ContextState, needed_tokens: int, limit_tokens: int) -> None:
        self.emit(
            ContextEvent(
                state.id,
                ContextEventType.NOT_RECALLED,
                utc_now(),
                projected_tokens=needed_tokens,
                limit_tokens=limit_tokens,
                remaining_tokens=limit_tokens - needed_tokens,
            )
        )

    async def _inject(
        self,
        state: ContextState,
        lease: HeldLease,
        turn_id: TurnId,
        kind: str,
        text: str,
        known: knowledge.Version | None = None,
    ) -> None:
        """Adds the text behind the turn's own message, until the next re-cut. `known`: what it was chosen from; raises
        knowledge.Changed when that is another by now, and nothing is added."""
        index, version = state.asked_at(turn_id), state.cut.version
        added = state.with_injection(turn_id, text).pieces[index]

        def follow(written: tuple[int, int]) -> None:
            before, last_injection = written
            state.pieces[index] = added
            if state.last_injection == before:  # else something was taken away, and the next turn reads all anew
                state.last_injection = last_injection
            state.n_sent = min(state.n_sent, index)

        def write() -> tuple[int, int]:
            if known is not None:
                knowledge.require(known)
            before = contexts.last_injection(state.id)
            return before, contexts.write_injection(lease, turn_id, version, kind, text, utc_now())

        await self.store.commit(write, follow)

    async def make_room(self, state: ContextState, lease: HeldLease, tokens: int) -> None:
        """Compacts what is committed, so that `tokens` (raw) more fit the wall, as far as that can be had: between two
        steps of a turn there would be room for them."""
        room = state.cut.estimator.raw_within(state.budget.wall) - tokens
        limit = state.cut.estimator.upper(max(room, 0))
        with contextlib.suppress(RecentMessagesTooLarge):
            await (await self.compactor(state)).by_threshold(state, lease, limit)

    def consider_writing_ahead(self, state: ContextState) -> None:
        """Begins, in the background, what the next re-cut will want written: once for every cut."""
        upper = state.estimate.upper
        share = max(AHEAD_SHARE, self.settings.threshold - KEEP_SHARE)
        is_wanted = self.settings.infinity and upper >= share * state.budget.budget
        if is_wanted and state.written_ahead != state.cut.version:
            state.written_ahead = state.cut.version
            newest = state.pieces[keep_from(state.pieces, 0, self.settings.preserve_recent) :]
            end = newest[0].start if newest else state.n_messages
            self.background.start(state.id, self._write_ahead(state), end)

    async def _write_ahead(self, state: ContextState) -> None:
        await (await self.compactor(state)).write_ahead(state)

    def is_due(self, state: ContextState, limit_tokens: int, more_tokens: int = 0) -> bool:
        """Whether a re-cut comes before the next request, with `more_tokens` (raw) added to it."""
        upper = state.with_more(more_tokens).estimate.upper
        if upper > limit_tokens:
            return True
        return upper > self.settings.threshold * state.budget.budget and state.raw_tokens >= state.futile_above

    def lay_out(self, state: ContextState, limit_tokens: int, tool_choice: ToolChoice) -> PreparedContext:
        """The state's pieces as a request. Raises OverLimit when they do not fit."""
        return lay_out(
            state.id,
            state.model.service_name,
            state.frame,
            state.segments,
            state.estimate,
            limit_tokens=limit_tokens,
            max_output_tokens=state.budget.reserve,
            window_tokens=state.budget.window,
            tool_choice=tool_choice,
        )

    async def check_admission(self, state: ContextState, content: Content) -> tuple[Accepted, Beside]:
        """The user's message, counted, and what it is admitted beside. Raises RecentMessagesTooLarge when no compaction
        could make room for it, with no target of the user's: then nothing is stored, and the text stays with the
        editor."""
        accepted = await self.accept(state, [content])
        frame = self.frame
        trial = await self.try_out(state, content)
        trial.fitting.check()
        return accepted, Beside(frame, trial.rules.basis.commands)

    async def try_out(self, state: ContextState, content: Content | None) -> Trial:
        """What a turn with that message would begin with; None: without a new one. Changes nothing."""
        rules, going_on = await read_rules(self.store, state), await read_going_on(self.store, state.id)
        news = news_of(state, rules)
        asked = [] if content is None else await self._asked(state, content)
        if self._is_to_be_restored(state):
            pieces, gone = await self.chosen_anew(state, asked)
            cut = replace(state.cut, left_out=gone, estimator=state.model.estimator)
            state, asked = replace(state, pieces=pieces, cut=cut, n_sent=0), []
        found = first = self._tried(state, rules, going_on, news, asked)
        if found.fitting.fit is not Fit.NEVER:
            return found
        for model in self.models.targets():
            if model.name == state.model.name or self.models.budget(model).budget <= state.budget.budget:
                continue
            with_model = await self._as_with(state, model)
            rules = await read_rules(self.store, with_model)
            if rules.pin_tokens <= rules.cap_tokens:
                asked = [] if content is None else await self._asked(with_model, content)
                with_model.pieces, gone = await self.chosen_anew(with_model, asked)
                with_model.cut = replace(with_model.cut, left_out=gone)
                found = self._tried(with_model, rules, going_on, news, [])
                if found.fitting.fit is not Fit.NEVER:
                    return found
        return first

    async def _asked(self, state: ContextState, content: Content) -> list[Live]:
        """A message that is not stored, as it would stand behind the state's pieces."""
        (tokens,) = await state.tokenizer.count_contents([content])
        return [Live(StoredMessage(state.id, MessageId(state.n_messages), content, "", None, Digest("")), tokens)]

    def _tried(
        self, state: ContextState, rules: StandingRules, going_on: GoingOn, news: str, asked: Sequence[Live]
    ) -> Trial:
        tried = self.framed(replace(state, pieces=[*state.pieces, *asked]), self.frame)
        if asked and self.is_distilled(tried):
            kept, gone = distilled(self.settings, tried)
            tried = replace(tried, pieces=kept, cut=replace(tried.cut, left_out=tuple(gone)))
            tried.front = front_of(tried, rules, gone)
        limit = tried.budget.budget - going_on.tokens(tried)
        news_tokens = tried.tokenizer.count(news) if news else 0
        return Trial(tried, rules, fitting(self.settings, tried, rules, limit, news_tokens))

    def framed(self, state: ContextState, frame: Frame) -> ContextState:
        """The state with the frame that a turn takes up: another one makes a new cut."""
        if state.cut.frame_digest == frame.digest():
            return state
        count = state.tokenizer.count
        tokens = FrameTokens(frame.system_tokens(count), frame.tools_tokens(count))
        cut = replace(state.cut, estimator=state.model.estimator)
        return replace(state, frame=frame, frame_tokens=tokens, n_sent=0, cut=cut)

    async def switch_model(self, state: ContextState, lease: HeldLease, model: Model) -> Switch:
        """Goes on with `model`: the cut is chosen anew for its budget, originals first, in one transaction.

        Raises LedgerTooLarge when the user's pins would take more than their share of it.
        """
        new = await self._as_with(state, model)
        model, budget = new.model, new.budget
        check_pins(new, await read_rules(self.store, new))
        covered = {i for piece in state.pieces if isinstance(piece, Block) for i in range(piece.start, piece.end)}
        await self.adopt_anew(new, lease, CutCause.MODEL)
        new.record = replace(new.record, model=model.name)
        self._keep(new)
        restored = sum(isinstance(piece, Live) and piece.message.id in covered for piece in new.pieces)
        needs = model.estimator.upper(new.raw_tokens) > budget.budget
        old = state.budget.budget
        return Switch(model, adapt(old, budget.budget, needs_summarization=needs, can_restore=restored))

    async def _as_with(self, state: ContextState, model: Model) -> ContextState:
        """The state as it would be with another model, but for the sizes of its pieces."""
        budget = self.models.budget(model)
        tokenizer = await self.tokenizers.get(model.tokenizer)
        model = await calibrated(self.store, model, tokenizer.name)
        count = tokenizer.count
        return replace(
            state,
            model=model,
            budget=budget,
            tokenizer=tokenizer,
            frame_tokens=FrameTokens(state.frame.system_tokens(count), state.frame.tools_tokens(count)),
            front=front(state.front.text, tokenizer),
            n_sent=0,
            cut=replace(state.cut, estimator=model.estimator),
            measured=Measured(),
        )

    async def adopt_anew(
        self, state: ContextState, lease: HeldLease, cause: CutCause, *, frame_digest: str = ""
    ) -> None:
        """A cut chosen over everything visible, originals first, for the state's model and budget."""
        pieces, left_out = await self.chosen_anew(state, ())
        compactor = await self.compactor(state)
        await compactor.adopt(state, lease, pieces, cause, frame_digest=frame_digest, left_out=left_out)

    async def chosen_anew(
        self, state: ContextState, asked: Sequence[Live]
    ) -> tuple[list[Piece], tuple[tuple[MessageId, MessageId], ...]]:
        """The pieces of such a cut, and what it leaves out. `asked`: behind the stored messages."""
        messages, summaries = list[Live](), list[Summary]()
        if state.n_messages:  # a conversation that begins is not stored yet
            messages, summaries = await load_everything(self.store, state, state.tokenizer)
        estimator, budget = state.model.estimator, state.budget.budget
        shown = await asyncio.to_thread(with_previews, self.settings, state, [*messages, *asked])
        share = min(self.settings.switch_target, self.settings.threshold)
        target = estimator.raw_within(int(share * budget)) - state.fixed_tokens
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


def check_pins(state: ContextState, rules: StandingRules) -> None:
    """Raises LedgerTooLarge when the user's pins take more than their share of the state's budget."""
    if rules.pin_tokens > rules.cap_tokens:
        part = state.cut.estimator.part
        raise LedgerTooLarge(part(rules.pin_tokens), part(rules.cap_tokens))
