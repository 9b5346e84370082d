"""The tool calls of one message of a model. Each is journaled before and after it runs, within the room of the
context."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.guard import Counters, Decision, Outcome, tool_preflight
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import Content, tool_result
from palimpsest.domain.turns.journal import EventType, JournalEvent
from palimpsest.machine import utc_now
from palimpsest.services.context import debug_log as context_debug
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.events import ContextEvent
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.services.turns.journal import ActiveJournal
from palimpsest.wording import counted

log = logging.getLogger(__name__)

_REFUSED: Final = (
    "token_budget_exceeded: this result does not fit into the context and was not kept. Answer with what you have."
)
MAX_CALLS: Final = 128
"""The most calls of one answer that are run."""
MAX_RESULT_CHARACTERS: Final = 20_000_000
"""The most characters of one result that are kept. A tool of an editor may answer anything."""
_TOO_MANY: Final = (
    f"The tool was not run: only the first {MAX_CALLS} calls of an answer are run. "
    "Repeat the calls that are still needed, a few at a time."
)
_SKIPPED: Final = "The tool was not run, because the context is full. Answer with what you have."


@dataclass(frozen=True, slots=True)
class ToolBatch:
    """The calls of one step of a turn."""

    contexts: ContextEngine
    journal: ActiveJournal
    context: WritableContext

    async def run(self, message: Content, tools: Mapping[str, Tool]) -> bool:
        """Run the calls of a message one after another and journal their results.

        Returns True when a result did not fit. The calls after it are not run, and the next model call is the last.
        """
        state = self.context.state
        accepted = await self.contexts.accept(state, [message])
        counters = replace(counters_of(state), pending=accepted.shown_tokens[0])
        refused = False
        for number, call in enumerate(message.calls):
            if refused or number >= MAX_CALLS:
                why = _SKIPPED if refused else _TOO_MANY
                await self.journal.append(
                    JournalEvent(EventType.TOOL_RESULT, why, call.call_id, call.name, is_error=True)
                )
                continue
            await self.journal.append(JournalEvent(EventType.TOOL_START, "", call.call_id, call.name))
            await self.journal.drain()  # a start is durable before the tool runs
            output = await _run_tool(tools, call.name, call.arguments)
            shown = await self.contexts.accept(state, [tool_result(call, output.text, is_error=output.is_error)])
            asked = counters.asking(shown.shown_tokens[0])
            decision = tool_preflight(asked, state.cut.estimator, state.budget.wall)
            if decision.outcome is not Outcome.OK:
                await self.contexts.make_room(self.context, asked.pending + asked.new)
                asked = replace(
                    asked,
                    current=counters_of(state).current,
                    schema=counters_of(state).schema,
                )
                decision = tool_preflight(asked, state.cut.estimator, state.budget.wall)
            context_debug.tool_eval(decision, output_tokens=shown.shown_tokens[0])
            if decision.outcome is Outcome.OK:
                counters = asked.accepted()
            else:
                refused, output = True, ToolOutput(_REFUSED, is_error=True)
                report(self.contexts, state, decision)
            await self.journal.append(
                JournalEvent(EventType.TOOL_RESULT, output.text, call.call_id, call.name, output.is_error)
            )
        await self.journal.drain()
        return refused


async def _run_tool(tools: Mapping[str, Tool], name: str, arguments: str) -> ToolOutput:
    tool = tools.get(name)
    if tool is None:
        known = ", ".join(sorted(tools)) or "none"
        return ToolOutput(f"There is no tool {name!r}. Known tools: {known}.", is_error=True)
    try:
        return _bounded(await tool.run(arguments))
    except PalimpsestError as error:
        return ToolOutput(str(error), is_error=True)
    except Exception as error:
        log.exception("the tool %s failed", name)
        return ToolOutput(f"The tool {name} failed ({type(error).__name__}).", is_error=True)


def _bounded(output: ToolOutput) -> ToolOutput:
    """The output; when it is too long to be kept, without its middle."""
    n_left_out = len(output.text) - MAX_RESULT_CHARACTERS
    if n_left_out <= 0:
        return output
    half = MAX_RESULT_CHARACTERS // 2
    text = f"{output.text[:half]}\n[{counted(n_left_out, 'character')} left out here]\n{output.text[-half:]}"
    return ToolOutput(text, output.is_error)


def report(contexts: ContextEngine, state: ContextState, decision: Decision) -> None:
    """Publish the guard's decision as an event."""
    context_debug.enforce(decision)
    contexts.emit(
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


def counters_of(state: ContextState) -> Counters:
    return Counters(state.raw_tokens - state.frame_tokens.total, 0, 0, state.frame_tokens.total)
