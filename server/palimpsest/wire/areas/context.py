"""The parts of the next request, and how to change them."""

from __future__ import annotations

import enum
from typing import Any

import attrs

from palimpsest.wire.areas.conversations import MessagePart, MessageRole, MessageState
from palimpsest.wire.areas.places import ConversationParams, MessageRange
from palimpsest.wire.areas.usage import ContextStatus, ContextUsage, Counting
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class PrepareContextParams(Wire):
    """A request to explain without sending it."""

    conversation_id: str
    """The conversation."""
    text: str | None = None
    """The next message. Absent: explain the context as it is."""
    with_page: bool | None = None
    """Whether the result has `page`. Absent: no."""


@attrs.frozen(eq=False, repr=False)
class ContextSegment(Wire):
    """One segment of the request."""

    type: str
    """`system`, `tools`, `pins`, `summary`, `message`, `preview`, `injection`, or `overhead`: the tokens that the
    model's service adds to every request."""
    tokens: int
    """Its part of `usedTokens`."""
    reason: str
    """Why the segment is in the request in this form."""
    certainty: Counting
    """How its tokens were counted."""
    is_in_prefix: bool
    """Whether the previous request of this conversation has the segment in the same place."""
    messages: MessageRange | None = None
    """The messages that the segment represents."""
    summary_id: int | None = None
    """The id of a `summary`."""
    role: MessageRole | None = None
    """For a `message` or a `preview`: who wrote it."""
    excerpt: str | None = None
    """Its first words, on one line of at most 200 characters; for `tools` the names of all tools. Absent: there are
    none to show."""
    item_count: int | None = None
    """For `tools` and `pins`: how many there are."""
    original_tokens: int | None = None
    """For a `summary` or a `preview` of the next request: the tokens of the messages that it represents."""


class LeftOutBecause(enum.StrEnum):
    """Why something that was found is not told."""

    TOLD = "told"
    """The context tells it already."""
    NO_ROOM = "noRoom"
    """What was better took the room."""
    BELOW_BAR = "belowBar"
    """It has too little to do with what was looked for, or adds too little."""


@attrs.frozen(eq=False, repr=False)
class RecallTaken(Wire):
    """A message or a fact that is told. Exactly one of the two ids is there."""

    score: float
    """Higher is better. Comparable within one report."""
    tokens: int
    """Tokens of its lines."""
    message_id: int | None = None
    """The message."""
    fact_id: int | None = None
    """The fact."""


@attrs.frozen(eq=False, repr=False)
class RecallLeftOut(Wire):
    """A message or a fact that was found and is not told. Exactly one of the two ids is there."""

    score: float
    """Higher is better. Comparable within one report."""
    because: LeftOutBecause
    """The reason."""
    message_id: int | None = None
    """The message."""
    fact_id: int | None = None
    """The fact."""


@attrs.frozen(eq=False, repr=False)
class RecallReport(Wire):
    """What a search of earlier messages and facts looked for, and what came of it. It has no word of what was found."""

    terms: list[str]
    """The words or names that were looked for."""
    room_tokens: int
    """How many tokens the text might take."""
    tokens: int
    """How many tokens it takes; 0 when nothing is told."""
    taken: list[RecallTaken]
    """What is told, in the order of the text."""
    left_out: list[RecallLeftOut]
    """What is not told, the best first, at most 20."""


@attrs.frozen(eq=False, repr=False)
class PrepareContextResult(Wire):
    """The plan of the next request."""

    status: ContextStatus
    """Whether the request could be sent."""
    model: str
    """The model of the request."""
    used_tokens: int
    """Tokens of the whole request."""
    upper_tokens: int
    """The upper estimate of the same, which is compared with the limit."""
    limit_tokens: int
    """The limit."""
    segments: list[ContextSegment]
    """The segments in the order of the request, even when it does not fit. Their tokens add up to `usedTokens`."""
    would_summarize: list[MessageRange]
    """The messages that a turn would summarize first."""
    excess_tokens: int | None = None
    """With `needsSummarization`: how many tokens the request is over the limit."""
    message_ids: list[int] | None = None
    """With `needsSummarization`: the messages to summarize, oldest first."""
    suggestion: str | None = None
    """A sentence that says what is too large and what to do. Absent when the status is `ready`."""
    required_tokens: int | None = None
    """With `recentMessagesTooLarge`: the tokens that the newest messages need."""
    message_count: int | None = None
    """With `recentMessagesTooLarge`: how many messages those are."""
    recall: RecallReport | None = None
    """With a `text`: what would be recalled for it, as the context is now; not part of `usedTokens`. Without: how what
    was recalled for the newest turn was chosen, if the server still knows. No model is asked."""
    step_note: RecallReport | None = None
    """Without a `text`: how the newest note to a step of a turn was chosen, if the server still knows."""
    summarize_at_tokens: int | None = None
    """The upper estimate above which a turn summarizes older messages. Absent: it never does, by the settings."""
    page: str | None = None
    """With `withPage`: the context in Markdown, as `/context` shows it: the rules, what each summary says, what was
    recalled, and the messages in short."""


@attrs.frozen(eq=False, repr=False)
class SummarizeParams(Wire):
    """Summarize older messages now."""

    conversation_id: str
    """The conversation."""
    range: MessageRange | None = None
    """The messages to summarize, widened to whole exchanges and whole summaries. Absent: all but the newest."""
    work_done_token: int | str | None = None
    """The token of a standard work-done progress."""


@attrs.frozen(eq=False, repr=False)
class SummarizeResult(Wire):
    """The effect of the summary."""

    tokens_before: int
    """Tokens of the context before."""
    tokens_after: int
    """Tokens of the context after. The same as before when nothing changed."""
    usage: ContextUsage
    """How full the context is now."""
    reason: str
    """A sentence that says what was done, or why nothing changed."""
    summary_id: int | None = None
    """The new summary; absent when nothing changed."""
    covers: MessageRange | None = None
    """The messages that the summary represents, after widening."""


@attrs.frozen(eq=False, repr=False)
class SummaryParams(Wire):
    """A summary in the context of a conversation. `prepareContext` lists them."""

    conversation_id: str
    """The conversation."""
    summary_id: int
    """The summary."""


@attrs.frozen(eq=False, repr=False)
class SummaryInfo(Wire):
    """A summary in the context of a conversation."""

    summary_id: int
    """Its id."""
    messages: MessageRange
    """The messages that it represents."""
    tokens: int
    """Its tokens."""
    original_tokens: int
    """The tokens of the messages that it represents."""
    kind: str
    """How it was written: `extractive`, `llm` or `hybrid`."""
    text: str
    """What it says, in Markdown, without the standing rules."""
    created_at: str
    """When it was written."""


@attrs.frozen(eq=False, repr=False)
class ListSummariesResult(Wire):
    """The summaries in the context of a conversation."""

    summaries: list[SummaryInfo]
    """The one of the oldest messages first."""


@attrs.frozen(eq=False, repr=False)
class CompactionResult(Wire):
    """The effect of a change of the context. No message and no summary was deleted."""

    tokens_before: int
    """Tokens of the context before."""
    tokens_after: int
    """Tokens of the context after."""
    covers: MessageRange
    """The messages that the change is about."""
    usage: ContextUsage
    """How full the context is now."""
    reason: str
    """A sentence for the user that says what was done."""


@attrs.frozen(eq=False, repr=False)
class StrategyStats(Wire):
    """The effect of one strategy."""

    strategy: str
    """The strategy, as in a context event."""
    times_fired: int
    """How many compactions it had a part in."""
    tokens_saved: int
    """How many tokens it removed from the context in all of them: the sum of its complete events."""


@attrs.frozen(eq=False, repr=False)
class CompactionCount(Wire):
    """How often the context changed for one cause."""

    cause: str
    """The cause, as in a context event."""
    count: int
    """How often."""


@attrs.frozen(eq=False, repr=False)
class SummaryCost(Wire):
    """The cost of the summaries of one kind, including those that were never used."""

    kind: str
    """`extractive`, `llm`, `hybrid`, `prose` (written ahead for a hybrid), `given` (written by a program), or `refused`
    (texts of a model that could not be used)."""
    count: int
    """How many summaries."""
    input_tokens: int
    """The tokens that were sent to models."""
    output_tokens: int
    """The tokens that models wrote."""
    duration_ms: int
    """The time for all of them, in milliseconds."""


@attrs.frozen(eq=False, repr=False)
class ContextMoment(Wire):
    """A request of the conversation, or a change of its context, on a time line."""

    timestamp: str
    """When it happened."""
    tokens: int
    """For a request: its tokens as the service counted them, or else the estimate. For a change: the tokens of the
    context after it."""
    cause: str | None = None
    """The cause of the change, as in a context event. Absent for a request."""
    tokens_before: int | None = None
    """For a change: the tokens of the context before it."""
    cached_tokens: int | None = None
    """For a request: those of its tokens that the service read from its cache. Absent: the service did not say."""
    model: str | None = None
    """For a change: the model of the conversation then."""


@attrs.frozen(eq=False, repr=False)
class SentTokens(Wire):
    """The tokens of all requests of a conversation that their services counted."""

    request_count: int
    """How many requests were counted."""
    input_tokens: int
    """The tokens that were sent, cached or not."""
    cached_tokens: int
    """Those that the services read from their caches."""
    output_tokens: int
    """The tokens that the models wrote."""


@attrs.frozen(eq=False, repr=False)
class StatsResult(Wire):
    """The tokens that were saved, and what that cost."""

    strategies: list[StrategyStats]
    """In the order of their names."""
    compactions: list[CompactionCount]
    """One for each cause."""
    duration_ms: int
    """The time for all changes of the context, in milliseconds."""
    summaries: list[SummaryCost]
    """One for each kind."""
    moments: list[ContextMoment]
    """The newest 200 requests and changes, oldest first."""
    sent: SentTokens | None = None
    """What the requests took. Absent: no service has counted one."""


@attrs.frozen(eq=False, repr=False)
class ContextAtParams(Wire):
    """A request that was sent."""

    conversation_id: str
    """The conversation."""
    turn_id: str
    """The turn: one of the conversation, or, in a fork, one of the conversation that it was forked from."""
    step: int | None = None
    """The number of the request in its turn, from 0. Absent: the last one so far."""


@attrs.frozen(eq=False, repr=False)
class SentTool(Wire):
    """A tool as it was declared to the model."""

    name: str
    """Its name."""
    description: str
    """Its description."""
    parameters: dict[str, Any]
    """The JSON Schema of its arguments."""


@attrs.frozen(eq=False, repr=False)
class SentMessage(Wire):
    """A message as it was sent."""

    role: MessageRole
    """Its role in the request. Summaries, rules in front and what was recalled for a step have the role `user`."""
    parts: list[MessagePart]
    """Its parts, in order. Here a part may also be `opaque`: data that a service had asked to get back, with its text.
    """
    state: MessageState
    """Whether it is complete."""


@attrs.frozen(eq=False, repr=False)
class ContextAtResult(Wire):
    """A request as it was sent."""

    step: int
    """Its number in the turn, from 0."""
    step_count: int
    """How many requests the turn sent so far."""
    sent_at: str
    """When it was sent."""
    provider: str
    """The service that it was sent to."""
    model: str
    """The model."""
    system: str
    """The system prompt."""
    tools: list[SentTool]
    """The tools, by name."""
    tool_choice: str
    """`auto`, or `none`: the model had to answer without a tool."""
    messages: list[SentMessage]
    """The messages, oldest first."""
    segments: list[ContextSegment]
    """The same in segments, in the order of the request. Their tokens add up to `usedTokens`."""
    used_tokens: int
    """Tokens of the whole request, as they were estimated then."""
    upper_tokens: int
    """The upper estimate of the same."""
    limit_tokens: int
    """The limit of the request."""
    output_tokens: int
    """The tokens that were kept for the answer."""
    digest: str
    """The digest that was stored when the request was sent: SHA-256, in 64 hexadecimal digits, of its lines, each with
    a line feed behind it."""
    lines: list[str]
    """The request as canonical JSON (sorted keys, no spaces): one line with the system prompt, one with the tools, and
    one for each message."""
    is_same: bool
    """Whether `lines` have that digest. False when this version of Palimpsest words a part otherwise than the one that
    sent the request did, or when the store was changed by something else."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/prepareContext",
        PrepareContextParams,
        PrepareContextResult,
        "Explain the next request: every segment, its size, and why it is in the request. Changes nothing.",
    ),
    Request(
        "palimpsest/context/at",
        ContextAtParams,
        ContextAtResult,
        "Show what the model was sent at a step of a turn, byte for byte.",
    ),
    Request(
        "palimpsest/stats",
        ConversationParams,
        StatsResult,
        "Tell how often each strategy had an effect, how many tokens it saved, and what the summaries cost.",
    ),
    Request("palimpsest/summarize", SummarizeParams, SummarizeResult, "Summarize older messages now."),
    Request(
        "palimpsest/summary/list",
        ConversationParams,
        ListSummariesResult,
        "List the summaries in the context of a conversation, with what they say.",
    ),
    Request(
        "palimpsest/summary/expand",
        SummaryParams,
        CompactionResult,
        "Replace a summary in the context by what it was made of: other summaries, or the original messages.",
    ),
    Request("palimpsest/summary/regenerate", SummaryParams, CompactionResult, "Write a summary again."),
    Request(
        "palimpsest/summary/undo",
        ConversationParams,
        CompactionResult,
        "Undo the last change of the summaries in the context. Each further request undoes one more change, up to "
        "the last roll back.",
    ),
    Request(
        "palimpsest/summary/redo",
        ConversationParams,
        CompactionResult,
        "Redo the change that was undone last, as long as the summaries were not changed otherwise since.",
    ),
)
