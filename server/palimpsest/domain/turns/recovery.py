"""The ways to resolve an answer that broke off, and the fates of its tool calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

from palimpsest.domain.context.prepared import PreparedContext, Segment
from palimpsest.domain.messages import Content, MessageId, MessageStatus, Role, TextPart, ToolCallPart, ToolResultPart
from palimpsest.domain.turns.journal import CUT_SHORT, NEVER_ALLOWED, NEVER_RUN
from palimpsest.domain.turns.states import TurnState

GO_ON: Final = Content(
    Role.USER,
    (TextPart("[Your answer broke off here. Continue exactly where you stopped, and repeat nothing of it.]"),),
)
"""The request that follows a partial answer that is to be continued. It is sent and never stored, and no user typed it.
Not every service takes a request that ends with the assistant, so the answer cannot simply be left open."""


class Resolution(StrEnum):
    """The user's choice for a turn that has ended."""

    CONTINUE = "continue"
    KEEP = "keep"
    DISCARD = "discard"
    RETRY = "retry"


Rerun = Literal[Resolution.CONTINUE, Resolution.RETRY]
"""The choices that begin another turn."""


class Break(StrEnum):
    """The ways in which an answer breaks off."""

    COMPLETE = "complete"
    """The model's message was whole, but some results of its tool calls were missing."""
    ERRORED = "errored"
    INCOMPLETE = "incomplete"


class CallFate(StrEnum):
    """The state of a tool call as far as the journal shows it."""

    FINISHED = "finished"
    NOT_RUN = "not_run"
    UNKNOWN = "unknown"
    """It was started, and its end was not recorded."""


@dataclass(frozen=True, slots=True)
class BatchCall:
    """A call of a batch, with its result if there is one."""

    call: ToolCallPart
    result: ToolResultPart
    fate: CallFate


def break_of(state: TurnState, answer: Sequence[Content]) -> Break:
    """The way in which a turn's answer broke off. `answer` holds its messages, oldest first; it may be empty."""
    if state is TurnState.ERRORED:
        return Break.ERRORED
    last = next((content for content in reversed(answer) if content.role is Role.ASSISTANT), None)
    is_whole = last is not None and last.status is MessageStatus.COMPLETE
    return Break.COMPLETE if is_whole else Break.INCOMPLETE


def last_batch(answer: Sequence[Content]) -> tuple[BatchCall, ...]:
    """The tool calls at the end of an answer, with their results; empty when the model wrote text after them."""
    start = max((i for i, content in enumerate(answer) if content.role is Role.ASSISTANT), default=len(answer))
    results = {result.call_id: result for content in answer[start:] for result in content.results}
    return tuple(
        BatchCall(call, results[call.call_id], _fate(results[call.call_id]))
        for content in answer[start : start + 1]
        for call in content.calls
        if call.call_id in results
    )


def _fate(result: ToolResultPart) -> CallFate:
    if result.is_error and result.text in CUT_SHORT.values():
        return CallFate.UNKNOWN
    return CallFate.NOT_RUN if result.is_error and result.text in (NEVER_RUN, NEVER_ALLOWED) else CallFate.FINISHED


def with_go_on(
    context: PreparedContext, behind: Collection[MessageId], tokens: int, limit_tokens: int
) -> PreparedContext:
    """The request with `GO_ON` after each of these messages that it contains. `tokens` is the size of one `GO_ON` for
    the model. Raises OverLimit when the whole exceeds `limit_tokens`."""
    segments: list[Segment] = []
    n_added = 0
    for segment in context.segments:
        segments.append(segment)
        if segment.type in ("message", "preview") and segment.message_ids and segment.message_ids[0] in behind:
            n_added += 1
            reason = "asks to go on with this answer"
            segments.append(Segment("injection", tokens, reason, (GO_ON,), is_in_prefix=segment.is_in_prefix))
    return replace(
        context,
        segments=tuple(segments),
        estimated_tokens=context.estimated_tokens + n_added * tokens,
        upper_tokens=context.upper_tokens + n_added * tokens,
        limit_tokens=limit_tokens,
        n_stable_messages=context.n_stable_messages + n_added,
    )
