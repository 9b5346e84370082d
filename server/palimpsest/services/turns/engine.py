"""The turn engine: from a user's message to a committed answer, step by step (DESIGN §7).

A turn is a task of its own, not of the request that began it: editors come and go, the turn goes on. However it ends,
what an editor was shown is committed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from palimpsest.domain.context.cut import Live
from palimpsest.domain.context.guard import Outcome, turn_preflight
from palimpsest.domain.context.prepared import PreparedContext, ToolChoice
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import (
    NO_HANDLES,
    ErrorKind,
    InvalidRequest,
    PalimpsestError,
    ProviderError,
    RecentMessagesTooLarge,
    is_out_of_handles,
)
from palimpsest.domain.messages import Content, ConversationId, TurnId
from palimpsest.domain.models.provider import (
    Finished,
    Provider,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)
from palimpsest.domain.turns.answers import IncomingAnswer
from palimpsest.domain.turns.journal import Ending, EventType, JournalEvent, opaque_event, to_messages
from palimpsest.domain.turns.recovery import Rerun
from palimpsest.domain.turns.states import ENDING_STATES, TurnState
from palimpsest.machine import machine, utc_now
from palimpsest.services.context import debug_log as context_debug
from palimpsest.services.context.engine import Beside, ContextEngine
from palimpsest.services.context.going_on import GoingOn, read_going_on
from palimpsest.services.context.state import ContextState
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.tools.toolbox import Toolbox, TurnScope
from palimpsest.services.turns.continuing import check_again, choose_cut
from palimpsest.services.turns.fallback import Fallback
from palimpsest.services.turns.journal import ActiveJournal
from palimpsest.services.turns.running import RunningTurn
from palimpsest.services.turns.tool_batch import ToolBatch, counters_of, report
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store
from palimpsest.storage.turns import recovery as recovering
from palimpsest.storage.turns import turns
from palimpsest.storage.turns.recovery import Reopened
from palimpsest.storage.turns.turns import StepEnd, TurnEnd, TurnRecord

log = logging.getLogger(__name__)

MAX_STEPS: Final = 500
"""Model calls in one turn before the model is asked to answer with what it has."""
_BROKE: Final = "The turn failed inside Palimpsest. What was said is kept; see the server's log."


@dataclass(slots=True)
class _Step:
    """What is known of the running step."""

    journal: ActiveJournal
    raw_tokens: int
    """Of the request, as it was prepared."""
    stop_reason: StopReason | None = None
    usage: TokenUsage | None = None


@dataclass(slots=True)
class TurnEngine:
    """Runs the turns of one store. One turn a conversation, many conversations at once."""

    store: Store
    contexts: ContextEngine
    toolbox: Toolbox
    changed: Callable[[ConversationId], None]
    """Told after every commit."""
    frame_now: Callable[[], Awaitable[Frame]] | None = None
    """What stands before a conversation whose turn begins now; None where that never changes."""
    running: dict[TurnId, RunningTurn] = field(default_factory=dict)

    async def start(
        self, conversation_id: ConversationId, request_id: str, content: Content, asked_by: EditorId | None = None
    ) -> RunningTurn | TurnId:
        """Admits a turn with the user's message and sets it going, for the editor `asked_by`. The id of the turn
        instead, when `request_id` had made one that has ended.

        The user's message is durable when this returns. Raises InvalidRequest, NotFound, ConversationBusy or
        RecentMessagesTooLarge; then nothing was stored. A caller that is cancelled meanwhile cancels the turn.
        """
        return await _started(self._start(conversation_id, request_id, content, None, asked_by))

    async def begin(
        self, conversation: ConversationRecord, request_id: str, content: Content, asked_by: EditorId | None = None
    ) -> RunningTurn | TurnId:
        """As `start`, in a conversation that is stored together with its first message, or not at all."""
        return await _started(self._start(conversation.id, request_id, content, conversation, asked_by))

    async def go_on(
        self,
        ended: TurnId,
        how: Rerun,
        conversation_id: ConversationId | None = None,
        asked_by: EditorId | None = None,
    ) -> RunningTurn | TurnId:
        """Sets a turn going with the user's message of an ended one: to continue its partial answer, or, hiding that,
        to answer again. The id of the turn instead, when the same choice had made one that has ended.
        `conversation_id`: a fork of the ended turn's conversation; None: that conversation itself.

        Raises InvalidRequest, NotFound or ConversationBusy; then nothing has changed. A caller that is cancelled
        meanwhile cancels the turn.
        """
        return await _started(self._go_on(ended, how, conversation_id, asked_by))

    async def _start(
        self,
        conversation_id: ConversationId,
        request_id: str,
        content: Content,
        new: ConversationRecord | None,
        asked_by: EditorId | None,
    ) -> RunningTurn | TurnId:
        state = await (self.contexts.state(conversation_id) if new is None else self.contexts.begin(new))
        self.contexts.models.provider(state.model)  # raises while no turn is begun yet
        if not content.text.strip():
            raise InvalidRequest("The message holds no readable character. Write something, then send it.")
        if self.frame_now is not None:
            self.contexts.frame = await self.frame_now()  # what is admitted must fit beside it
        accepted, beside = await self.contexts.check_admission(state, content)
        await self.contexts.leases.settle(conversation_id)
        admission = await self.store.run(
            turns.admit,
            TurnId(machine.new_id()),
            conversation_id,
            request_id,
            content,
            accepted.counts,
            self.store.server_id,
            self.store.is_alive,
            utc_now(),
            new,
        )
        turn, lease = admission.turn, admission.lease
        if lease is None:
            return self.running.get(turn.id) or turn.id
        # Messages that came in between (another server's, or what was just closed) are not in `state`: then it is left
        # behind the store, and read anew when the turn runs.
        if admission.message is not None and admission.message.id == state.n_messages:
            self.contexts.appended(state, [admission.message], accepted)
        return self._set_going(turn, lease, None, asked_by, beside)

    async def _go_on(
        self, ended: TurnId, how: Rerun, fork: ConversationId | None, asked_by: EditorId | None
    ) -> RunningTurn | TurnId:
        record = await self.store.read(turns.find, ended)
        conversation_id = fork or record.conversation_id
        state = await self.contexts.state(conversation_id)
        self.contexts.models.provider(state.model)  # raises while no turn is begun yet
        if (made := await self.store.read(recovering.made_by, ended, how, conversation_id)) is not None:
            return self.running.get(made.id) or made.id
        if self.frame_now is not None:
            self.contexts.frame = await self.frame_now()
        beside = await check_again(self.contexts, conversation_id, record.user_message_id, how)
        await self.contexts.leases.settle(conversation_id)
        reopened = await self.store.run(
            recovering.reopen,
            TurnId(machine.new_id()),
            ended,
            how,
            conversation_id,
            self.store.server_id,
            self.store.is_alive,
            utc_now(),
        )
        if reopened.lease is None:
            return self.running.get(reopened.turn.id) or reopened.turn.id
        return self._set_going(reopened.turn, reopened.lease, reopened, asked_by, beside)

    def _set_going(
        self,
        turn: TurnRecord,
        lease: HeldLease,
        reopened: Reopened | None,
        asked_by: EditorId | None,
        beside: Beside,
    ) -> RunningTurn:
        running = RunningTurn(turn.id, turn.conversation_id, turn.user_message_id, asked_by, beside)
        self.running[turn.id] = running
        running.task = asyncio.create_task(self._run(running, lease, reopened), name=f"turn {turn.id}")
        running.task.add_done_callback(lambda task: self._forget(turn.id, lease, task))
        self.changed(turn.conversation_id)
        return running

    def _closed_late(self, conversation_id: ConversationId) -> None:
        self.contexts.forget(conversation_id)
        self.changed(conversation_id)

    def _forget(self, turn_id: TurnId, lease: HeldLease, task: asyncio.Task[TurnEnd]) -> None:
        self.running.pop(turn_id, None)
        self.contexts.let_go(lease)
        if not task.cancelled():
            task.exception()  # logged when it came; whoever waits for the turn gets it, and nobody has to

    async def interrupt_all(self) -> None:
        """Stops every turn, because the folder closes, and waits until what they said is committed."""
        running = list(self.running.values())
        for turn in running:
            turn.interrupt()
        await asyncio.gather(*(turn.task for turn in running if turn.task is not None), return_exceptions=True)

    async def _run(self, turn: RunningTurn, lease: HeldLease, reopened: Reopened | None) -> TurnEnd:
        """All steps of a turn. Whatever happens, the turn is closed and its lease released. `reopened`: None for a turn
        with a message of its own."""
        step: _Step | None = None
        state: ContextState | None = None
        try:
            turn.begin()
            if reopened is not None:
                await choose_cut(
                    self.contexts, lease, turn.user_message_id, turn.beside, has_hidden=reopened.has_hidden
                )
            going_on = await read_going_on(self.store, turn.conversation_id)
            state = await self.contexts.writable(lease)
            fallback = Fallback(self.contexts)
            tools = self.toolbox.for_turn(TurnScope(turn.conversation_id, turn.id))
            if self.frame_now is not None:
                self.contexts.frame = await self.frame_now()
            refused, n_begun = False, 0
            for number in range(MAX_STEPS + 1):
                has_answer = False
                while not has_answer:
                    context: PreparedContext | None = None
                    try:
                        is_last = refused or number == MAX_STEPS
                        context = await self._prepare(turn, state, lease, fallback, going_on, number, is_last=is_last)
                        provider = self.contexts.models.provider(state.model, turn.asked_by)
                        # A request that was not taken was a step of its own, so steps outnumber model answers.
                        step = await self._begin(turn, lease, state, provider, context, n_begun)
                        n_begun += 1
                        await self._stream(step, provider.stream(context))
                        has_answer = True
                    except (ProviderError, RecentMessagesTooLarge) as error:
                        following = None
                        if step is not None:
                            await step.journal.drain()  # what is on its way to the journal was said as well
                        if step is None or not step.journal.events:
                            following = await fallback.after(error, state, lease, context)
                        if following is None:
                            raise
                        if step is not None:
                            await self._commit(turn, lease, state, step, Ending.ERRORED, None)
                            step = None
                        state = following
                assert step is not None
                if step.usage is not None:
                    await self.contexts.observe(state, step.raw_tokens, step.usage)
                events = step.journal.events
                calls = to_messages(events, Ending.COMPLETE)[:1]
                has_calls = bool(calls and calls[0].calls)
                # A model may call tools although it was told that there are none any more: those are not run.
                if is_last or not has_calls:
                    was_stopped = has_calls or number == MAX_STEPS
                    reason = "tool_rounds" if was_stopped else (step.stop_reason or StopReason.END).value
                    end = TurnEnd(TurnState.COMMITTED, reason)
                    # The answer is whole: a cancel that comes now comes too late.
                    await _to_the_end(self._commit(turn, lease, state, step, Ending.COMPLETE, end))
                    return end
                batch = ToolBatch(self.contexts, step.journal, state, lease)
                refused = await batch.run(calls[0], tools) or refused
                was_cancelled = await _to_the_end(self._commit(turn, lease, state, step, Ending.COMPLETE, None))
                step = None
                if was_cancelled:
                    raise asyncio.CancelledError
            raise AssertionError("the last step always ends the turn")
        except asyncio.CancelledError:
            ending, end = turn.stopped_as, TurnEnd(ENDING_STATES[turn.stopped_as])
        except PalimpsestError as error:
            log.warning("turn %s failed: %s", turn.id, error.kind)
            ending, end = Ending.ERRORED, TurnEnd(TurnState.ERRORED, None, error.kind, str(error))
        except Exception as error:
            log.exception("turn %s broke", turn.id)
            kind, sentence = ErrorKind.INTERNAL, _BROKE
            if is_out_of_handles(error):
                kind, sentence = ErrorKind.STORE, NO_HANDLES
            ending, end = Ending.ERRORED, TurnEnd(TurnState.ERRORED, None, kind, sentence)
        await _to_the_end(self._close(turn, lease, state, step, ending, end))
        return end

    async def _prepare(
        self,
        turn: RunningTurn,
        state: ContextState,
        lease: HeldLease,
        fallback: Fallback,
        going_on: GoingOn,
        number: int,
        *,
        is_last: bool,
    ) -> PreparedContext:
        """The step's request: the budget bounds the first one that holds a message, the wall the later ones, those of a
        turn that goes on from an ended one among them: what was once admitted and sent can be sent again."""
        state.asked_by = turn.asked_by
        asked_in = _asked_in(state, turn) if number == 0 else None
        limit = fallback.limit(state.budget.budget if asked_in == turn.id else state.budget.wall)
        room = limit - going_on.tokens(state)
        tool_choice: ToolChoice = "none" if is_last else "auto"
        context = await self.contexts.prepare(state, lease, room, tool_choice, asked_in, turn.beside)
        context = going_on.add_to(context, state, limit)
        counters = counters_of(state)
        context_debug.loop_init(
            step=number,
            current_tokens=counters.current,
            pending_tokens=counters.pending,
            new_tokens=counters.new,
            schema_tokens=counters.schema,
        )
        context_debug.schema_estimate(n_tools=len(context.tools), schema_tokens=counters.schema)
        decision = turn_preflight(counters, state.cut.estimator, limit, tool_budget_exceeded=is_last)
        context_debug.provider_eval(decision, provider=state.model.provider, model=state.model.name)
        if decision.outcome is not Outcome.OK:
            report(self.contexts, state, decision)
        return context

    async def _begin(
        self,
        turn: RunningTurn,
        lease: HeldLease,
        state: ContextState,
        provider: Provider,
        context: PreparedContext,
        number: int,
    ) -> _Step:
        step_id = await self.store.run(
            turns.begin_step,
            lease,
            turn.id,
            number,
            provider.name,
            state.model.name,
            context.estimated_tokens,
            utc_now(),
        )
        return _Step(ActiveJournal(self.store, lease, turn.id, step_id, turn.show), state.raw_tokens)

    async def _stream(self, step: _Step, events: AsyncGenerator[StreamEvent, None]) -> None:
        """Journals one model call. Raises ProviderError when it fails or breaks the protocol."""
        answer = IncomingAnswer()
        async with contextlib.aclosing(events) as stream:
            async for came in stream:
                match event := answer.take(came):
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
                ErrorKind.BAD_RESPONSE, "The model's answer broke off before it was complete. What came is kept."
            )
        await step.journal.append(JournalEvent(EventType.DONE))
        await step.journal.drain()

    async def _commit(
        self,
        turn: RunningTurn,
        lease: HeldLease,
        state: ContextState,
        step: _Step,
        ending: Ending,
        turn_end: TurnEnd | None,
    ) -> None:
        """The step's messages become history, in one transaction (invariant 3)."""
        contents: Sequence[Content] = to_messages(step.journal.events, ending)
        accepted = await self.contexts.accept(state, contents)

        def write() -> list[StoredMessage]:
            return turns.commit_step(
                lease,
                turn.id,
                step.journal.step_id,
                contents,
                accepted.counts,
                accepted.previews,
                state.cut.version,
                StepEnd(ending, step.usage, turn_end),
                utc_now(),
            )

        stored = await self.store.commit(write, lambda stored: self.contexts.appended(state, stored, accepted))
        if stored:
            self.contexts.consider_writing_ahead(state)
        self.changed(turn.conversation_id)

    async def _close(
        self,
        turn: RunningTurn,
        lease: HeldLease,
        state: ContextState | None,
        step: _Step | None,
        ending: Ending,
        end: TurnEnd,
    ) -> None:
        """Ends a turn that was stopped or failed: what it showed is committed, flagged, and the lease released.

        When even that fails, the turn stays open for recovery: its journal is durable. Raises what it failed with.
        """
        try:
            if step is None or state is None:
                await self.store.run(turns.end_turn, lease, turn.id, end, utc_now())
                return
            await step.journal.finish()
            if end.error_message is not None:
                await step.journal.append(JournalEvent(EventType.ERROR, end.error_message))
                await step.journal.drain()
            await self._commit(turn, lease, state, step, ending, end)
        except Exception as error:
            kind = error.kind if isinstance(error, PalimpsestError) else type(error).__name__
            log.error("turn %s could not be closed yet, or is left to recovery: %s", turn.id, kind)
            self.contexts.leases.leave(lease, self._closed_late)
            raise


async def _started(starting: Coroutine[None, None, RunningTurn | TurnId]) -> RunningTurn | TurnId:
    """The turn, begun whole or not at all: if whoever waits is cancelled, the turn is, once it has begun."""
    task = asyncio.create_task(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_cancel_started)
        raise


async def _to_the_end(work: Coroutine[None, None, None]) -> bool:
    """Carries `work` to its end even if this task is cancelled meanwhile, and tells whether it was."""
    task = asyncio.create_task(work)
    was_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            was_cancelled = True
    task.result()
    return was_cancelled


def _cancel_started(starting: asyncio.Task[RunningTurn | TurnId]) -> None:
    if not starting.cancelled() and starting.exception() is None and isinstance(turn := starting.result(), RunningTurn):
        turn.cancel()


def _asked_in(state: ContextState, turn: RunningTurn) -> TurnId:
    """The turn that stored the user's message: this one, or the one it goes on from."""
    for piece in state.pieces:
        if isinstance(piece, Live) and piece.message.id == turn.user_message_id:
            return piece.message.turn_id or turn.id
    return turn.id
