"""What the next request is made of, and how to change that."""

from __future__ import annotations

import attrs

from palimpsest.wire.areas.places import ConversationParams, MessageRange
from palimpsest.wire.areas.usage import ContextStatus, ContextUsage, Counting
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class PrepareContextParams(Wire):
    """Show what would be sent, without sending it."""

    conversation_id: str
    """The conversation."""
    text: str | None = None
    """The message that would be sent next. Absent: the context as it stands."""


@attrs.frozen(eq=False, repr=False)
class ContextSegment(Wire):
    """One stretch of the request, in request order."""

    type: str
    """`system`, `tools`, `pins`, `summary`, `message`, `preview`, `injection`, or `overhead`: what the model's service
    adds to every request by itself."""
    tokens: int
    """Its part of `usedTokens`."""
    reason: str
    """Why it is there in this form."""
    certainty: Counting
    """How its tokens were counted."""
    is_in_prefix: bool
    """Whether it stands unchanged in the previous request of this conversation."""
    messages: MessageRange | None = None
    """The messages it stands for."""
    summary_id: int | None = None
    """The summary, for `summary`."""


@attrs.frozen(eq=False, repr=False)
class PrepareContextResult(Wire):
    """The plan of the next request."""

    status: ContextStatus
    """Whether it could be sent."""
    model: str
    """The model it is for."""
    used_tokens: int
    """Tokens of the whole request."""
    upper_tokens: int
    """The same by the upper estimate, which limits are tested on."""
    limit_tokens: int
    """What it must fit."""
    segments: list[ContextSegment]
    """The stretches, in order, also of a request that does not fit. Their tokens add up to `usedTokens`."""
    would_summarize: list[MessageRange]
    """The messages a turn would summarise first."""
    excess_tokens: int | None = None
    """`needsSummarization`: tokens over the limit."""
    message_ids: list[int] | None = None
    """`needsSummarization`: the messages to summarise, oldest first."""
    suggestion: str | None = None
    """What is too much and what to do, in words. Absent when it is `ready`."""
    required_tokens: int | None = None
    """`recentMessagesTooLarge`: what the newest messages need."""
    message_count: int | None = None
    """`recentMessagesTooLarge`: how many messages that is."""


@attrs.frozen(eq=False, repr=False)
class SummarizeParams(Wire):
    """Summarise older messages now."""

    conversation_id: str
    """The conversation."""
    range: MessageRange | None = None
    """What to summarise; widened to whole exchanges and whole summaries. Absent: everything but the newest."""
    work_done_token: int | str | None = None
    """Names a standard work-done progress."""


@attrs.frozen(eq=False, repr=False)
class SummarizeResult(Wire):
    """What the summary did."""

    tokens_before: int
    """Tokens of the context before."""
    tokens_after: int
    """Tokens after. Equal to before when nothing changed."""
    usage: ContextUsage
    """How full the context is now."""
    reason: str
    """What was done, or why nothing changed, as a sentence."""
    summary_id: int | None = None
    """The new summary; absent when nothing changed."""
    covers: MessageRange | None = None
    """What it covers, after widening."""


@attrs.frozen(eq=False, repr=False)
class SummaryParams(Wire):
    """Names a summary that stands in a conversation's context; `prepareContext` shows which do."""

    conversation_id: str
    """The conversation."""
    summary_id: int
    """The summary."""


@attrs.frozen(eq=False, repr=False)
class RecutResult(Wire):
    """The context stands differently now. No message and no summary was deleted."""

    tokens_before: int
    """Tokens of the context before."""
    tokens_after: int
    """Tokens after."""
    covers: MessageRange
    """The messages it concerned."""
    usage: ContextUsage
    """How full the context is now."""
    reason: str
    """What was done, in a sentence for the user."""


@attrs.frozen(eq=False, repr=False)
class StrategyStats(Wire):
    """What one strategy has brought."""

    strategy: str
    """As in a context event."""
    times_fired: int
    """Re-cuts it had a part in."""
    tokens_saved: int
    """Tokens it took out of the context, in all of them: what its complete events said."""


@attrs.frozen(eq=False, repr=False)
class RecutCount(Wire):
    """How often a cut was taken anew for one reason."""

    cause: str
    """As in a context event."""
    count: int
    """How often."""


@attrs.frozen(eq=False, repr=False)
class SummaryCost(Wire):
    """What the summaries of one kind took to write, those that were never used included."""

    kind: str
    """`extractive`, `llm`, `hybrid`, `given` by a program, or `refused`: a model's texts that could not be used."""
    count: int
    """How many."""
    input_tokens: int
    """What models were sent for them."""
    output_tokens: int
    """What models wrote."""
    duration_ms: int
    """How long it took, in all."""


@attrs.frozen(eq=False, repr=False)
class ContextMoment(Wire):
    """A request of the conversation, or a re-cut, on the time line of its context."""

    timestamp: str
    """When."""
    tokens: int
    """Of a request, as its service counted them, or else as they were estimated; of a context behind its re-cut."""
    cause: str | None = None
    """Why the cut was taken anew, as in a context event. Absent: it is a request."""
    tokens_before: int | None = None
    """Of a re-cut."""


@attrs.frozen(eq=False, repr=False)
class StatsResult(Wire):
    """Tokens saved against cost."""

    strategies: list[StrategyStats]
    """By name."""
    recuts: list[RecutCount]
    """By cause."""
    duration_ms: int
    """How long re-cuts took, in all."""
    summaries: list[SummaryCost]
    """By kind."""
    moments: list[ContextMoment]
    """The newest 200 requests and re-cuts, oldest first."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/prepareContext",
        PrepareContextParams,
        PrepareContextResult,
        "Explain the next request: every segment, its size and why it is there. Changes nothing.",
    ),
    Request(
        "palimpsest/stats",
        ConversationParams,
        StatsResult,
        "How often which strategy fired, what it saved, and what the summaries cost.",
    ),
    Request("palimpsest/summarize", SummarizeParams, SummarizeResult, "Summarise older messages now."),
    Request(
        "palimpsest/summary/expand",
        SummaryParams,
        RecutResult,
        "Put what a summary stands for back into the context: lower summaries, or the originals.",
    ),
    Request("palimpsest/summary/regenerate", SummaryParams, RecutResult, "Write a summary again."),
    Request(
        "palimpsest/summary/undo",
        ConversationParams,
        RecutResult,
        "Go back to the summaries that stood in the context before the last change of them; each further one goes back "
        "by one more change, up to the last roll back.",
    ),
    Request(
        "palimpsest/summary/redo",
        ConversationParams,
        RecutResult,
        "Take the last undo back, while no other change of summaries was made since.",
    ),
)
