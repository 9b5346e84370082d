"""One turn, from its first request to its end.

However it ends, everything that was shown is committed, the turn is closed, and its lease is released.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.guard import Counters, Outcome, turn_preflight
from palimpsest.domain.context.prepared import PreparedContext, ToolChoice
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.sent_request import Outline
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import (
    NO_HANDLES,
    ErrorKind,
    PalimpsestError,
    ProviderError,
    RecentMessagesTooLarge,
    is_out_of_handles,
)
from palimpsest.domain.messages import Content, ConversationId, TurnId
from palimpsest.domain.models.limits import Model
from palimpsest.domain.models.provider import (
    Counted,
    Finished,
    Pause,
    Provider,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.turns.answers import IncomingAnswer
from palimpsest.domain.turns.journal import (
    Ending,
    EventType,
    JournalEvent,
    ToldPause,
    counted_event,
    done_event,
    has_answer,
    opaque_event,
    to_messages,
)
from palimpsest.domain.turns.states import ENDING_STATES, TurnState
from palimpsest.machine import utc_now
from palimpsest.services.context import debug_log as context_debug
from palimpsest.services.context.continuation import Continuation, read_continuation
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.past_requests import describe
from palimpsest.services.context.pictures import with_pictures
from palimpsest.services.context.requests import Beginning, Requests
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.models.catalog import OFFLINE
from palimpsest.services.models.redaction import RedactingProvider
from palimpsest.services.tools.toolbox import OfferedTools, Toolbox, TurnScope
from palimpsest.services.turns.fallback import Fallback
from palimpsest.services.turns.journal import ActiveJournal
from palimpsest.services.turns.live_output import LiveOutput
from palimpsest.services.turns.reruns import choose_cut
from palimpsest.services.turns.running import RunningTurn
from palimpsest.services.turns.tool_batch import ToolBatch, report
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store
from palimpsest.storage.turns import turns
from palimpsest.storage.turns.recovery import Reopened
from palimpsest.storage.turns.turns import NewStep, StepEnd, StepMessages, TurnEnd

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing

log = logging.getLogger(__name__)

MAX_STEPS: Final = 500
"""The most model calls of one turn. Then the model is told to answer with what it has."""
_BROKE: Final = "The turn failed inside Palimpsest. The partial answer is kept. The server's log has the details."


@dataclass(slots=True)
class _Step:
    """The running step."""

    journal: ActiveJournal
    raw_tokens: int
    """The size of the request as it was prepared."""
    stop_reason: StopReason | None = None
    usage: TokenUsage | None = None


@dataclass(frozen=True, slots=True)
class TurnServices:
    """The services that turns use."""

    store: Store
    contexts: ContextEngine
    requests: Requests
    toolbox: Toolbox
    frame_of: Callable[[Sequence[ToolSchema]], Awaitable[Frame]]
    """The frame (system prompt and tools) of a turn that begins now with these tools."""
    changed: Callable[[ConversationId], None]
    """Runs after every commit."""
    sharing: Sharing | None = None
    """None: no hub is configured."""
    may_spend: Callable[[TurnScope], Awaitable[None]] | None = None
    """Raises BudgetSpent when this month's budget is spent and the user does not agree to more. None: no budget."""


@dataclass(slots=True)
class TurnRun:
    """One running turn, under the lease of its admission."""

    services: TurnServices
    turn: RunningTurn
    lease: HeldLease
    reopened: Reopened | None
    """None for a turn with a user message of its own."""
    _context: WritableContext | None = None
    """None until it is read."""
    _continuation: Continuation = field(default=Continuation(frozenset()))
    _step: _Step | None = None
    """The step whose answer is streamed or whose tools run; None between two steps."""
    _live: LiveOutput = field(default_factory=LiveOutput)
    _n_steps: int = 0
    """The number of steps. A refused request is a step too, so there are more steps than answers of a model."""

    async def run(self) -> TurnEnd:
        """Run all steps of the turn. Whatever happens, the turn is closed and its lease is released."""
        try:
            return await self._run()
        except asyncio.CancelledError:
            ending, end = self.turn.stopped_as, TurnEnd(ENDING_STATES[self.turn.stopped_as])
        except PalimpsestError as error:
            log.warning("turn %s failed: %s", self.turn.id, error.kind)
            ending, end = Ending.ERRORED, TurnEnd(TurnState.ERRORED, None, error.kind, str(error))
        except Exception as error:
            log.exception("turn %s broke", self.turn.id)
            kind, sentence = ErrorKind.INTERNAL, _BROKE
            if is_out_of_handles(error):
                kind, sentence = ErrorKind.STORE, NO_HANDLES
            ending, end = Ending.ERRORED, TurnEnd(TurnState.ERRORED, None, kind, sentence)
        await _to_the_end(self._close(ending, end))
        return end

    async def _run(self) -> TurnEnd:
        services, turn = self.services, self.turn
        turn.begin()
        self._context = context = await services.contexts.hold(self.lease, self.turn.asked_by)
        if self.reopened is not None:
            has_hidden = self.reopened.has_hidden
            await choose_cut(services.contexts, context, turn.user_message_id, turn.beside, has_hidden=has_hidden)
        self._continuation = await read_continuation(services.store, turn.conversation_id)
        fallback = Fallback(services.contexts)
        await services.toolbox.settle()
        scope = TurnScope(turn.conversation_id, turn.id, self._live.say, self._live.wait)
        if services.may_spend is not None and context.state.model.provider != OFFLINE:
            await services.may_spend(scope)
        tools = services.toolbox.for_turn(scope)
        frame = await services.frame_of(tools.schemas)
        has_refused = False
        for number in range(MAX_STEPS + 1):
            is_last = has_refused or number == MAX_STEPS
            step = await self._answer(context, fallback, frame if number == 0 else None, is_last=is_last)
            if step.usage is not None:
                await services.contexts.observe(context.state, step.raw_tokens, step.usage)
            said = to_messages(step.journal.events, Ending.COMPLETE)[:1]
            has_calls = bool(said and said[0].calls)
            # A model may call tools although it was told to answer: these calls are not run.
            if is_last or not has_calls:
                was_stopped = has_calls or number == MAX_STEPS
                reason = "tool_rounds" if was_stopped else (step.stop_reason or StopReason.END).value
                end = TurnEnd(TurnState.COMMITTED, reason)
                # The answer is complete: a cancel comes too late from here on.
                await _to_the_end(self._commit(context, step, Ending.COMPLETE, end))
                return end
            has_refused = await self._run_tools(context, step, said[0], tools) or has_refused
        raise AssertionError("the last step always ends the turn")

    async def _answer(
        self, context: WritableContext, fallback: Fallback, frame: Frame | None, *, is_last: bool
    ) -> _Step:
        """The step with a complete answer of a model. A refused request is tried in other ways, each of them a step.
        `frame`: for the turn's first request, None for later ones."""
        while True:
            prepared: PreparedContext | None = None
            try:
                prepared = await self._prepare(context, fallback, frame, is_last=is_last)
                provider = self.services.contexts.models.provider(context.state.model, self.turn.asked_by)
                self._step = step = await self._begin_step(context, provider, prepared)
                whole = await with_pictures(self.services.store, prepared, context.state.model)
                await _stream(step, provider.stream(whole), self.turn)
                return step
            except (ProviderError, RecentMessagesTooLarge) as error:
                failed = self._step
                if failed is not None:
                    await failed.journal.drain()  # events on their way to the journal count as said
                    if has_answer(failed.journal.events):
                        raise
                if not await fallback.after(error, context, prepared):
                    raise _explained(error, prepared, context.state.model) from None
                if failed is not None:
                    await self._commit(context, failed, Ending.ERRORED, None)
                    self._step = None

    async def _run_tools(self, context: WritableContext, step: _Step, message: Content, tools: OfferedTools) -> bool:
        """Run the calls of a message and commit the step. Returns whether a result was refused because it does not
        fit."""
        batch = ToolBatch(self.services.contexts, step.journal, context, self._live)
        has_refused = await batch.run(message, tools.by_name)
        was_cancelled = await _to_the_end(self._commit(context, step, Ending.COMPLETE, None))
        self._step = None
        if was_cancelled:
            raise asyncio.CancelledError
        return has_refused

    async def _prepare(
        self, context: WritableContext, fallback: Fallback, frame: Frame | None, *, is_last: bool
    ) -> PreparedContext:
        """The step's request. The budget bounds the first request with a new message. The wall bounds later ones, and
        those of a turn that continues an ended one: a message that was sent once can be sent again."""
        state, turn, contexts = context.state, self.turn, self.services.contexts
        beginning = None if frame is None else Beginning(self._asked_in(context), frame, turn.beside)
        has_message = beginning is not None and beginning.turn_id == turn.id
        limit = fallback.limit(state.budget.budget if has_message else state.budget.wall)
        room = limit - self._continuation.tokens(state)
        tool_choice: ToolChoice = "none" if is_last else "auto"
        prepared = await self.services.requests.prepare(context, room, tool_choice, beginning)
        prepared = self._continuation.add_to(prepared, state, limit)
        schema = state.frame_tokens.total
        counters = Counters(state.raw_tokens - schema, 0, 0, schema)
        context_debug.loop_init(
            step=self._n_steps,
            current_tokens=counters.current,
            pending_tokens=counters.pending,
            new_tokens=counters.new,
            schema_tokens=counters.schema,
        )
        context_debug.schema_estimate(n_tools=len(prepared.tools), schema_tokens=counters.schema)
        decision = turn_preflight(prepared.upper_tokens, limit, tool_budget_exceeded=is_last)
        context_debug.provider_eval(decision, provider=state.model.provider, model=state.model.name)
        if decision.outcome is not Outcome.OK:
            report(contexts, state, decision)
        return prepared

    def _asked_in(self, context: WritableContext) -> TurnId:
        """The turn that stored the user's message: this one, or the ended one that it continues."""
        for piece in context.state.pieces:
            if isinstance(piece, MessagePiece) and piece.message.id == self.turn.user_message_id:
                return piece.message.turn_id or self.turn.id
        return self.turn.id

    async def _begin_step(self, context: WritableContext, provider: Provider, prepared: PreparedContext) -> _Step:
        state = context.state
        outline = Outline.of(state.front, state.pieces, self._continuation.behind)
        is_redacted = isinstance(provider, RedactingProvider)
        request = await asyncio.to_thread(describe, prepared, outline, state.cut.version, is_redacted=is_redacted)
        step_id = await self.services.store.run(
            turns.begin_step,
            self.lease,
            self.turn.id,
            NewStep(self._n_steps, provider.name, state.model.name, prepared.estimated_tokens, request),
            utc_now(),
        )
        self._n_steps += 1
        journal = ActiveJournal(self.services.store, self.lease, self.turn.id, step_id, self.turn.show)
        return _Step(journal, state.raw_tokens)

    async def _commit(self, context: WritableContext, step: _Step, ending: Ending, turn_end: TurnEnd | None) -> None:
        """Commit the step's messages, in one transaction."""
        contexts, state = self.services.contexts, context.state
        accepted = await contexts.accept(state, to_messages(step.journal.events, ending))

        cost = None if step.usage is None else contexts.models.cost(state.model, step.usage)

        def write() -> list[StoredMessage]:
            return turns.commit_step(
                self.lease,
                self.turn.id,
                step.journal.step_id,
                StepMessages(accepted.contents, accepted.counts, accepted.previews, state.cut.version),
                StepEnd(ending, step.usage, cost, turn_end),
                utc_now(),
            )

        stored = await self.services.store.commit(write, lambda stored: contexts.appended(state, stored, accepted))
        if stored:
            contexts.consider_writing_ahead(context)
        self.services.changed(self.turn.conversation_id)

    async def _close(self, ending: Ending, end: TurnEnd) -> None:
        """End a turn that was stopped or failed: commit what it showed, flagged, and release the lease.

        When this fails too, the turn stays open for recovery, because its journal is durable. Raises that failure.
        """
        step = self._step
        try:
            if step is None or self._context is None:
                await self.services.store.run(turns.end_turn, self.lease, self.turn.id, end, utc_now())
                return
            await step.journal.finish()
            if end.error_message is not None:
                await step.journal.append(JournalEvent(EventType.ERROR, end.error_message))
                await step.journal.drain()
            await self._commit(self._context, step, ending, end)
        except Exception as error:
            kind = error.kind if isinstance(error, PalimpsestError) else type(error).__name__
            log.error("turn %s could not be closed and is left to recovery: %s", self.turn.id, kind)
            self.services.contexts.leases.leave(self.lease, self._closed_late)
            raise

    def _closed_late(self, conversation_id: ConversationId) -> None:
        self.services.contexts.forget(conversation_id)
        self.services.changed(conversation_id)


def _explained(
    error: ProviderError | RecentMessagesTooLarge, prepared: PreparedContext | None, model: Model
) -> ProviderError | RecentMessagesTooLarge:
    """The error; of a refusal of a request with pictures, also what to do if those are why."""
    has_pictures = prepared is not None and any(content.images for content in prepared.messages)
    is_refusal = isinstance(error, ProviderError) and error.kind in (ErrorKind.BAD_RESPONSE, ErrorKind.NOT_FOUND)
    if not isinstance(error, ProviderError) or not (has_pictures and is_refusal and model.images is not None):
        return error
    told = (
        f"{error} The request held pictures. If this model sees none, set `models.{model.service_name}.images` to "
        "false: it is then told their names."
    )
    return ProviderError(error.kind, told, error.detail, is_retryable=error.is_retryable)


async def _stream(step: _Step, events: AsyncGenerator[StreamEvent, None], turn: RunningTurn) -> None:
    """Journal one model call of `turn`. Raises ProviderError when the call fails or breaks the protocol."""
    answer = IncomingAnswer()
    async with contextlib.aclosing(events) as stream:
        async for came in stream:
            event = answer.take(came)
            turn.pause = event if isinstance(event, Pause) else None
            match event:
                case Pause():
                    told = ToldPause(event.reason, round(1000 * event.seconds), event.n_failed)
                    await step.journal.append(told.to_event())
                    await step.journal.drain()
                case Counted():
                    await step.journal.append(counted_event(event.usage))
                case TextDelta():
                    await step.journal.append(JournalEvent(EventType.TEXT, event.text))
                case ThinkingDelta():
                    await step.journal.append(JournalEvent(EventType.THINKING, event.text))
                case ToolCallStart():
                    await step.journal.append(JournalEvent(EventType.TOOL_CALL, "", event.call_id, event.name))
                case ToolArguments():
                    await step.journal.append(JournalEvent(EventType.TOOL_ARGUMENTS, event.text, event.call_id))
                case Finished():
                    step.stop_reason, step.usage = event.stop_reason, event.usage
                    for part in event.opaque:
                        await step.journal.append(opaque_event(part))
                case _:
                    assert_never(event)
    if step.stop_reason is None:
        raise ProviderError(
            ErrorKind.BAD_RESPONSE, "The model's answer broke off before it was complete. The partial answer is kept."
        )
    await step.journal.append(done_event(step.usage))
    await step.journal.drain()


async def _to_the_end(work: Coroutine[None, None, None]) -> bool:
    """Finish `work` even when this task is cancelled meanwhile. Returns whether it was cancelled."""
    task = asyncio.create_task(work)
    was_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            was_cancelled = True
    task.result()
    return was_cancelled
