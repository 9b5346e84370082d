"""The turn engine: from a user's message to a committed answer, step by step (DESIGN §7).

A turn is a task of its own, not of the request that began it: editors come and go, the turn goes on. However it ends,
what an editor was shown is committed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from palimpsest.domain.errors import (
    ErrorKind,
    InvalidRequest,
    PalimpsestError,
    ProviderError,
    RecentMessagesTooLarge,
)
from palimpsest.domain.guard import Counters, Decision, Outcome, tool_preflight, turn_preflight
from palimpsest.domain.journal import Ending, EventType, JournalEvent, opaque_event, to_messages
from palimpsest.domain.layout import Frame
from palimpsest.domain.messages import Content, ConversationId, TurnId, tool_result
from palimpsest.domain.prepared import PreparedContext
from palimpsest.domain.provider import (
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
from palimpsest.domain.turns import TurnState
from palimpsest.services import context_debug
from palimpsest.services.active_journal import ActiveJournal
from palimpsest.services.clock import utc_now
from palimpsest.services.context_state import ContextState
from palimpsest.services.contexts import ContextEngine
from palimpsest.services.events import ContextEvent, ContextEventType
from palimpsest.services.fallback import Fallback
from palimpsest.services.running_turn import RunningTurn
from palimpsest.services.tools import Tool, Toolbox, ToolOutput, TurnScope
from palimpsest.storage import turns
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store
from palimpsest.storage.turns import StepEnd, TurnEnd

log = logging.getLogger(__name__)

MAX_STEPS: Final = 500
"""Model calls in one turn before the model is asked to answer with what it has."""
_REFUSED: Final = (
    "token_budget_exceeded: this result does not fit the context any more and was not kept. Answer with what you have."
)
_SKIPPED: Final = "The tool was not run, because the context is full. Answer with what you have."


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
    _abandoned: set[ConversationId] = field(default_factory=set)
    """Conversations whose last turn could not be closed, because the store could not be written."""

    async def start(self, conversation_id: ConversationId, request_id: str, content: Content) -> RunningTurn | TurnId:
        """Admits a turn with the user's message and sets it going. The id of the turn instead, when `request_id` had
        made one that has ended.

        The user's message is durable when this returns. Raises InvalidRequest, NotFound, ConversationBusy or
        RecentMessagesTooLarge; then nothing was stored. A caller that is cancelled meanwhile cancels the turn.
        """
        starting = asyncio.create_task(self._start(conversation_id, request_id, content))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_cancel_started)
            raise

    async def _start(self, conversation_id: ConversationId, request_id: str, content: Content) -> RunningTurn | TurnId:
        state = await self.contexts.state(conversation_id)
        self.contexts.models.provider(state.model)  # raises while no turn is begun yet
        if not content.text.strip():
            raise InvalidRequest("The message holds no readable character. Write something, then send it.")
        accepted = await self.contexts.check_admission(state, content)
        if conversation_id in self._abandoned:
            await self.store.run(turns.close_abandoned, conversation_id, self.store.server_id, utc_now())
            self._abandoned.discard(conversation_id)
        admission = await self.store.run(
            turns.admit,
            TurnId(uuid.uuid4().hex),
            conversation_id,
            request_id,
            content,
            accepted.counts,
            self.store.server_id,
            self.store.is_alive,
            utc_now(),
        )
        turn, lease = admission.turn, admission.lease
        if lease is None:
            return self.running.get(turn.id) or turn.id
        if admission.message is not None:
            self.contexts.appended(state, [admission.message], accepted)
        running = RunningTurn(turn.id, conversation_id, turn.user_message_id)
        self.changed(conversation_id)
        self.running[turn.id] = running
        running.task = asyncio.create_task(self._run(running, lease), name=f"turn {turn.id}")
        running.task.add_done_callback(lambda _: self.running.pop(turn.id, None))
        return running

    async def cancel_all(self) -> None:
        """Stops every turn and waits until what they said is committed."""
        tasks = [turn.task for turn in self.running.values() if turn.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, turn: RunningTurn, lease: HeldLease) -> TurnEnd:
        """All steps of a turn. Whatever happens, the turn is closed and its lease released."""
        step: _Step | None = None
        state: ContextState | None = None
        try:
            state = await self.contexts.state(turn.conversation_id)
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
                        context = await self._prepare(turn, state, lease, fallback, number, is_last=is_last)
                        provider = self.contexts.models.provider(state.model)
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
                if not calls or not calls[0].calls or number == MAX_STEPS:
                    reason = "tool_rounds" if number == MAX_STEPS else (step.stop_reason or StopReason.END).value
                    end = TurnEnd(TurnState.COMMITTED, reason)
                    # The answer is whole: a cancel that comes now comes too late.
                    await _to_the_end(self._commit(turn, lease, state, step, Ending.COMPLETE, end))
                    return end
                refused = await self._run_tools(step, state, lease, calls[0], tools) or refused
                was_cancelled = await _to_the_end(self._commit(turn, lease, state, step, Ending.COMPLETE, None))
                step = None
                if was_cancelled:
                    raise asyncio.CancelledError
            raise AssertionError("the last step always ends the turn")
        except asyncio.CancelledError:
            ending, end = Ending.CANCELLED, TurnEnd(TurnState.CANCELLED)
        except PalimpsestError as error:
            log.warning("turn %s failed: %s", turn.id, error.kind)
            ending, end = Ending.ERRORED, TurnEnd(TurnState.ERRORED, None, error.kind, str(error))
        except Exception:
            log.exception("turn %s broke", turn.id)
            sentence = "The turn failed inside Palimpsest. What was said is kept; see the server's log."
            ending, end = Ending.ERRORED, TurnEnd(TurnState.ERRORED, None, ErrorKind.INTERNAL, sentence)
        await _to_the_end(self._close(turn, lease, state, step, ending, end))
        return end

    async def _prepare(
        self,
        turn: RunningTurn,
        state: ContextState,
        lease: HeldLease,
        fallback: Fallback,
        number: int,
        *,
        is_last: bool,
    ) -> PreparedContext:
        """The step's request: the budget bounds a turn's first one, the wall the later ones."""
        limit = fallback.limit(state.budget.budget if number == 0 else state.budget.wall)
        context = await self.contexts.prepare(
            state, lease, limit, "none" if is_last else "auto", turn.id if number == 0 else None
        )
        counters = _counters(state)
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
            self._report(state, decision)
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
        async with contextlib.aclosing(events) as stream:
            async for event in stream:
                match event:
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

    async def _run_tools(
        self, step: _Step, state: ContextState, lease: HeldLease, message: Content, tools: Mapping[str, Tool]
    ) -> bool:
        """Runs the calls of a message one after another and journals their results.

        True when a result did not fit: the calls after it are not run, and the next model call is the last.
        """
        accepted = await self.contexts.accept(state, [message])
        counters = replace(_counters(state), pending=accepted.shown_tokens[0])
        refused = False
        for call in message.calls:
            if refused:
                await step.journal.append(
                    JournalEvent(EventType.TOOL_RESULT, _SKIPPED, call.call_id, call.name, is_error=True)
                )
                continue
            await step.journal.append(JournalEvent(EventType.TOOL_START, "", call.call_id, call.name))
            await step.journal.drain()  # a start is durable before the tool runs
            output = await _run_tool(tools, call.name, call.arguments)
            shown = await self.contexts.accept(state, [tool_result(call, output.text, is_error=output.is_error)])
            asked = counters.asking(shown.shown_tokens[0])
            decision = tool_preflight(asked, state.cut.estimator, state.budget.wall)
            if decision.outcome is not Outcome.OK:
                await self.contexts.make_room(state, lease, asked.pending + asked.new)
                asked = replace(asked, current=_counters(state).current, schema=_counters(state).schema)
                decision = tool_preflight(asked, state.cut.estimator, state.budget.wall)
            context_debug.tool_eval(decision, output_tokens=shown.shown_tokens[0])
            if decision.outcome is Outcome.OK:
                counters = asked.accepted()
            else:
                refused, output = True, ToolOutput(_REFUSED, is_error=True)
                self._report(state, decision)
            await step.journal.append(
                JournalEvent(EventType.TOOL_RESULT, output.text, call.call_id, call.name, output.is_error)
            )
        await step.journal.drain()
        return refused

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
        stored = await self.store.run(
            turns.commit_step,
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
        self.contexts.appended(state, stored, accepted)
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

        When even that fails, the turn stays open for recovery: its journal is durable.
        """
        try:
            if step is None or state is None:
                await self.store.run(turns.end_turn, lease, turn.id, end, utc_now())
                return
            await step.journal.drain()
            if end.error_message is not None:
                await step.journal.append(JournalEvent(EventType.ERROR, end.error_message))
                await step.journal.drain()
            await self._commit(turn, lease, state, step, ending, end)
        except PalimpsestError as error:
            log.error("turn %s could not be closed and is left to recovery: %s", turn.id, error.kind)
            self._abandoned.add(turn.conversation_id)

    def _report(self, state: ContextState, decision: Decision) -> None:
        context_debug.enforce(decision)
        self.contexts.emit(
            ContextEvent(
                state.id,
                ContextEventType.GUARD,
                utc_now(),
                trigger=decision.trigger,
                outcome=decision.outcome.value,
                limit_tokens=decision.limit_tokens,
                projected_tokens=decision.projected_tokens,
                remaining_tokens=decision.remaining_tokens,
            )
        )


async def _run_tool(tools: Mapping[str, Tool], name: str, arguments: str) -> ToolOutput:
    tool = tools.get(name)
    if tool is None:
        known = ", ".join(sorted(tools)) or "none"
        return ToolOutput(f"There is no tool {name!r}. Known tools: {known}.", is_error=True)
    try:
        return await tool.run(arguments)
    except PalimpsestError as error:
        return ToolOutput(str(error), is_error=True)
    except Exception as error:
        log.exception("the tool %s failed", name)
        return ToolOutput(f"The tool {name} failed ({type(error).__name__}).", is_error=True)


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


def _counters(state: ContextState) -> Counters:
    return Counters(state.raw_tokens - state.frame_tokens.total, 0, 0, state.frame_tokens.total)
