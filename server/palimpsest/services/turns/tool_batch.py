"""The tool calls of one message of a model. Each is journaled before and after it runs, within the room of the
context."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.cut import Piece
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.guard import Decision, Outcome, tool_preflight
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import Content, Digest, MessageId, tool_result
from palimpsest.domain.turns.journal import EventType, JournalEvent, image_event
from palimpsest.machine import utc_now
from palimpsest.services.context import debug_log as context_debug
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.fitting import for_next_request
from palimpsest.services.context.previews import Accepted
from palimpsest.services.context.state import ContextState, live
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.events import ContextEvent
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.services.turns.journal import ActiveJournal
from palimpsest.services.turns.live_output import LiveOutput
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
    live: LiveOutput

    async def run(self, message: Content, tools: Mapping[str, Tool]) -> bool:
        """Run the calls of a message one after another and journal their results.

        Returns True when a result did not fit. The calls after it are not run, and the next model call is the last.
        """
        state = self.context.state
        pending: list[Piece] = [_piece(state, await self.contexts.accept(state, [message]), 0)]
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
            self.live.begin(self.journal, call)
            try:
                output = await _run_tool(tools, call.name, call.arguments)
            finally:
                await self.live.end()
            images = [picture.part for picture in output.pictures]
            result = tool_result(call, output.text, is_error=output.is_error, images=images)
            shown = await self.contexts.accept(state, [result])
            asked = [*pending, _piece(state, shown, len(pending))]
            decision = _judged(state, asked)
            if decision.outcome is not Outcome.OK:
                more = decision.projected_tokens - _judged(state, ()).projected_tokens
                await self.contexts.make_room(self.context, more)
                decision = _judged(state, asked)
            context_debug.tool_eval(decision, output_tokens=shown.shown_tokens[0])
            if decision.outcome is Outcome.OK:
                pending = asked
            else:
                refused, output = True, ToolOutput(_REFUSED, is_error=True)
                report(self.contexts, state, decision)
            for picture in output.pictures:
                await self.journal.append(image_event(picture.part, call.call_id), picture.data)
            await self.journal.append(
                JournalEvent(EventType.TOOL_RESULT, output.text, call.call_id, call.name, output.is_error)
            )
        await self.journal.drain()
        return refused


def _piece(state: ContextState, accepted: Accepted, place: int) -> Piece:
    """A message of the running step as it will stand in the next request, `place` messages behind what is committed."""
    id = MessageId(state.n_messages + place)
    message = StoredMessage(state.id, id, accepted.contents[0], "", None, Digest(""))
    return live(message, accepted.tokens[0], accepted.previews.get(0), state.tokenizer)


def _judged(state: ContextState, pending: Sequence[Piece]) -> Decision:
    """The guard's decision about the next request, with the pending pieces: counted as it will be."""
    wall = state.budget.wall
    asked = for_next_request(replace(state, pieces=[*state.pieces, *pending]), wall)
    return tool_preflight(asked.estimate.upper, wall)


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
    return replace(output, text=text)


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
