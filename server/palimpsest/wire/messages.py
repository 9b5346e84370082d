"""The protocol of Palimpsest, beside the standard Language Server Protocol.

A server announces it under `capabilities.experimental.palimpsest` as `{"version": 1}`. Every method is named
`palimpsest/…`. Fields are camelCase; a field marked optional is absent when it has no value. Times are UTC, ISO 8601.
Token counts are estimates in the model's own tokens unless a field says otherwise. Message ids count 0, 1, 2, … within
a conversation and are never reused.

Errors use the standard codes (-32602 invalid params, -32800 cancelled, -32801 content modified, -32802 server
cancelled, -32803 request failed). Their message is a full sentence for the user, and their `data` is an `ErrorData`.
"""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Direction, Notification, Request, Wire

PROTOCOL_VERSION = 1


# ---------------------------------------------------------------------------------------------------------- errors


@attrs.frozen
class ErrorData(Wire):
    """What an error carries for programs."""

    kind: str
    """What went wrong, such as `not_found`, `conversation_busy`, `recent_messages_too_large`, `auth`, `network`."""
    retryable: bool
    """Whether the same request may succeed later."""
    retry_after_ms: int | None = None
    """How long to wait before a retry."""
    provider: str | None = None
    """The model's service that failed."""
    model: str | None = None
    """The model the request was for."""
    limit_tokens: int | None = None
    """The limit that was passed."""
    projected_tokens: int | None = None
    """What the request would have needed."""
    turn_id: str | None = None
    """The turn that failed; its text so far is kept and can be read."""
    errors: list[str] | None = None
    """Of invalid params: what is wrong, a line for each place."""


# ------------------------------------------------------------------------------------------------- usage and events


class LimitsSource(enum.StrEnum):
    """Where a model's limits come from."""

    OVERRIDE = "override"
    """The user's entry for the model."""
    PROVIDER = "provider"
    """The user's entry for the provider."""
    LIVE = "live"
    """The provider's list of models."""
    PREFIX = "prefix"
    """The built-in table, by the longest matching prefix."""
    LEARNED = "learned"
    """A provider's own error message."""
    DEFAULT_FALLBACK = "default_fallback"
    """Nothing is known of the model."""


class Severity(enum.StrEnum):
    """How full the context is."""

    GREEN = "green"
    """Under 70 % of the budget."""
    YELLOW = "yellow"
    """70 to 90 %."""
    RED = "red"
    """Over 90 %."""


class Counting(enum.StrEnum):
    """How tokens are counted for a model."""

    EXACT = "exact"
    """With the model's own tokenizer."""
    ESTIMATED = "estimated"
    """With a public tokenizer and a factor for the model's family."""
    BYTES = "bytes"
    """UTF-8 bytes / 4: no tokenizer could be loaded."""


@attrs.frozen
class TokensByKind(Wire):
    """A share of the context."""

    kind: str
    """`system`, `tools`, `summaries`, `messages`, `previews` or `injections`."""
    tokens: int
    """Tokens it takes."""


@attrs.frozen
class ContextUsage(Wire):
    """How full the context of a conversation is."""

    used_tokens: int
    """Tokens of the next request, before the next message."""
    budget_tokens: int
    """Tokens a turn's first request may take."""
    wall_tokens: int
    """Tokens the later requests of a turn may take."""
    percentage: float
    """Used of budget, 0 to 100 and beyond."""
    severity: Severity
    """The same as a colour."""
    compact: str
    """The same for a status line: `2.1k / 200k (1%)`, with ` [2S]` when two summaries stand in the context."""
    model: str
    """The conversation's model."""
    provider: str
    """The service of that model."""
    window_tokens: int
    """The model's context window."""
    reserve_tokens: int
    """Tokens kept for the answer."""
    limits_source: LimitsSource
    """Where the limits come from."""
    counting: Counting
    """How tokens are counted."""
    message_count: int
    """Messages of the conversation."""
    summary_count: int
    """Summaries that stand in the context."""
    by_kind: list[TokensByKind]
    """The shares, largest first."""
    last_summary_at: str | None = None
    """When a summary was last written."""


class ContextEventType(enum.StrEnum):
    """What happened to a context."""

    SUMMARIZATION_START = "context_summarization_start"
    """A summary is being written."""
    SUMMARIZATION_PROGRESS = "context_summarization_progress"
    """Part of it is done."""
    SUMMARIZATION_COMPLETE = "context_summarization_complete"
    """It is written and adopted."""
    SUMMARIZATION_ERROR = "context_summarization_error"
    """It could not be written; the deterministic summary stepped in, or nothing changed."""
    RECUT = "context_recut"
    """A new cut was chosen; the prefix of the next request is new from some point on."""
    GUARD = "context_guard"
    """The guard stopped a model call or a tool result."""


@attrs.frozen
class ContextEvent(Wire):
    """Something happened to a conversation's context. Which fields are present depends on `type`."""

    conversation_id: str
    """The conversation."""
    type: ContextEventType
    """What happened."""
    timestamp: str
    """When."""
    strategy: str | None = None
    """The strategy that asked for it: `threshold`, `manual`, `model_switch`."""
    cause: str | None = None
    """Why the cut was taken anew: `threshold`, `model`, `user`, `rollback` or `frame`."""
    current_tokens: int | None = None
    """Tokens before."""
    max_tokens: int | None = None
    """The limit it is measured against."""
    items_processed: int | None = None
    """Messages summarised so far."""
    total_items: int | None = None
    """Messages to summarise."""
    tokens_saved: int | None = None
    """Tokens the context is smaller by."""
    new_token_count: int | None = None
    """Tokens after."""
    duration_ms: int | None = None
    """How long it took."""
    error: str | None = None
    """A sentence that says what went wrong."""
    trigger: str | None = None
    """Guard: `turn_preflight` or `tool_preflight`."""
    outcome: str | None = None
    """Guard: `forced_final`, `skipped_provider` or `token_budget_exceeded`."""
    limit_tokens: int | None = None
    """Guard: the limit."""
    projected_tokens: int | None = None
    """Guard: what the request would need."""
    remaining_tokens: int | None = None
    """Guard: the limit less the projection; negative when over."""


@attrs.frozen
class UsageChangedParams(Wire):
    """The context of a conversation is now this full."""

    conversation_id: str
    """The conversation."""
    usage: ContextUsage
    """How full."""


@attrs.frozen
class ConversationChangedParams(Wire):
    """A conversation has new content."""

    conversation_id: str
    """The conversation."""
    seq: int
    """Grows with every change, so a stale notification can be told."""


# ------------------------------------------------------------------------------------------------------------- turns


class TurnStatus(enum.StrEnum):
    """How a turn stands."""

    RUNNING = "running"
    """Its answer is still coming."""
    COMMITTED = "committed"
    """Its answer is complete."""
    CANCELLED = "cancelled"
    """It was stopped; what had come is kept."""
    ERRORED = "errored"
    """It failed; what had come is kept."""
    INTERRUPTED = "interrupted"
    """Its server died; what had been shown is kept."""


class DeltaType(enum.StrEnum):
    """What a delta holds."""

    TURN = "turn"
    """The turn was admitted: `turnId`, `conversationId`, `userMessageId`. Always the first."""
    TEXT = "text"
    """The next piece of the answer."""
    THINKING = "thinking"
    """The next piece of the model's visible reasoning."""
    TOOL_CALL = "toolCall"
    """The model calls a tool: `callId`, `name`."""
    TOOL_ARGUMENTS = "toolArguments"
    """The next piece of a call's JSON arguments: `callId`, `text`."""
    TOOL_START = "toolStart"
    """A tool begins to run: `callId`, `name`."""
    TOOL_RESULT = "toolResult"
    """A tool's result: `callId`, `name`, `text`."""
    DONE = "done"
    """One model call is complete. Another may follow when tools were called."""
    ERROR = "error"
    """The model call failed: `text` says how."""


@attrs.frozen
class TurnDelta(Wire):
    """A piece of a running turn. It is durable before it is sent."""

    seq: int
    """Grows within a turn. A repeat can be told by it, and `turn/attach` can start after it."""
    type: DeltaType
    """What this delta holds."""
    text: str | None = None
    """The piece."""
    call_id: str | None = None
    """The tool call it belongs to."""
    name: str | None = None
    """The tool's name."""
    turn_id: str | None = None
    """Of `turn`: the turn, for `turn/cancel` and `turn/attach`."""
    conversation_id: str | None = None
    """Of `turn`: the conversation."""
    user_message_id: int | None = None
    """Of `turn`: the id of the user's message."""


@attrs.frozen
class ChatParams(Wire):
    """A user's message."""

    request_id: str
    """Made by the editor, unique for this message. A repeat answers with the turn that exists."""
    text: str
    """What the user wrote, as typed."""
    conversation_id: str | None = None
    """Where to. Absent: a new conversation in `folder`."""
    folder: str | None = None
    """URI of the workspace folder for a new conversation. Absent: the only or first folder."""
    partial_result_token: int | str | None = None
    """Names the stream: `$/progress` on it carries `TurnDelta` values, all before the answer."""
    work_done_token: int | str | None = None
    """Names a standard work-done progress, shown while a summary is written."""


@attrs.frozen
class ChatResult(Wire):
    """How the turn ended. An errored turn answers with an error instead."""

    conversation_id: str
    """The conversation, new or as asked."""
    turn_id: str
    """The turn."""
    status: TurnStatus
    """How it ended."""
    message_ids: list[int]
    """The messages of the turn, the user's first."""
    usage: ContextUsage
    """How full the context is now."""
    text: str | None = None
    """The whole answer, when no `partialResultToken` was given."""
    stop_reason: str | None = None
    """Why the model stopped: `end`, `output_limit`, `filtered`, `tool_rounds`."""


@attrs.frozen
class AttachParams(Wire):
    """Follow a turn."""

    turn_id: str
    """The turn."""
    after_seq: int | None = None
    """The last delta already seen. Absent: from the start."""
    partial_result_token: int | str | None = None
    """Names the stream, as in `chat`. What was already committed comes as one delta."""


@attrs.frozen
class CancelParams(Wire):
    """Stop a turn."""

    turn_id: str
    """The turn."""


@attrs.frozen
class CancelResult(Wire):
    """How the turn stands after the cancel was accepted."""

    status: TurnStatus
    """`cancelled`, or how it had ended before."""


# ----------------------------------------------------------------------------------------------------------- context


@attrs.frozen
class MessageRange(Wire):
    """A range of messages."""

    start: int
    """The first message's id."""
    end: int
    """One more than the last message's id."""


class PrepareStatus(enum.StrEnum):
    """Whether a request could be sent."""

    READY = "ready"
    """It fits."""
    NEEDS_SUMMARIZATION = "needsSummarization"
    """Older messages must be summarised first; a turn does that by itself."""
    RECENT_MESSAGES_TOO_LARGE = "recentMessagesTooLarge"
    """What must be sent verbatim does not fit."""


@attrs.frozen
class PrepareContextParams(Wire):
    """Show what would be sent, without sending it."""

    conversation_id: str
    """The conversation."""
    text: str | None = None
    """The message that would be sent next. Absent: the context as it stands."""


@attrs.frozen
class ContextSegment(Wire):
    """One stretch of the request, in request order."""

    type: str
    """`system`, `tools`, `summary`, `message`, `preview` or `injection`."""
    tokens: int
    """Tokens it takes."""
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


@attrs.frozen
class PrepareContextResult(Wire):
    """The plan of the next request."""

    status: PrepareStatus
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
    """The stretches, in order. Empty when nothing could be built."""
    would_summarize: list[MessageRange]
    """The messages a turn would summarise first."""
    excess_tokens: int | None = None
    """`needsSummarization`: tokens over the limit."""
    message_ids: list[int] | None = None
    """`needsSummarization`: the messages to summarise, oldest first."""
    suggestion: str | None = None
    """`needsSummarization`: what to do, as a sentence."""
    required_tokens: int | None = None
    """`recentMessagesTooLarge`: what the newest messages need."""
    message_count: int | None = None
    """`recentMessagesTooLarge`: how many messages that is."""


@attrs.frozen
class SummarizeParams(Wire):
    """Summarise older messages now."""

    conversation_id: str
    """The conversation."""
    range: MessageRange | None = None
    """What to summarise; widened to whole exchanges and whole summaries. Absent: everything but the newest."""
    work_done_token: int | str | None = None
    """Names a standard work-done progress."""


@attrs.frozen
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


@attrs.frozen
class ConversationParams(Wire):
    """Names a conversation."""

    conversation_id: str
    """The conversation."""


# ----------------------------------------------------------------------------------------------------- conversations


@attrs.frozen
class ConversationInfo(Wire):
    """A conversation in a list."""

    conversation_id: str
    """Its id, for ever."""
    title: str
    """The first line of the first message, or the user's name for it; empty when neither is there yet."""
    model: str
    """Its current model."""
    message_count: int
    """How many messages it holds."""
    created_at: str
    """When it began."""
    updated_at: str
    """When it last changed."""
    folder: str
    """URI of its workspace folder."""
    is_archived: bool
    """Whether the user has put it away."""
    draft: str
    """What the user had typed and not sent, or rolled back; empty for nothing."""
    running_turn_id: str | None = None
    """The turn that is running now."""
    parent_id: str | None = None
    """The conversation it was forked from."""


@attrs.frozen
class CreateConversationParams(Wire):
    """Begin a conversation."""

    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first one."""
    title: str | None = None
    """A name for it. Absent: its first line will be its title."""
    model: str | None = None
    """The model. Absent: the default one."""


@attrs.frozen
class ListConversationsParams(Wire):
    """List conversations, the last changed first."""

    folder: str | None = None
    """URI of a workspace folder. Absent: of every open folder."""


@attrs.frozen
class ListConversationsResult(Wire):
    """Conversations."""

    conversations: list[ConversationInfo]
    """The last changed first."""


@attrs.frozen
class ReadConversationParams(Wire):
    """Read messages, oldest first."""

    conversation_id: str
    """The conversation."""
    start: int | None = None
    """The first message id wanted. Absent: 0."""
    limit: int | None = None
    """How many messages at most, 1 to 1000. Absent: 200."""


class MessageRole(enum.StrEnum):
    """Who said it."""

    USER = "user"
    """The person."""
    ASSISTANT = "assistant"
    """The model."""
    TOOL = "tool"
    """A tool, to the model."""


class MessageState(enum.StrEnum):
    """Whether a message is all that was to come."""

    COMPLETE = "complete"
    """It is."""
    CANCELLED = "cancelled"
    """It was cancelled on the way."""
    ERRORED = "errored"
    """It failed on the way."""
    INTERRUPTED = "interrupted"
    """The server died on the way."""


@attrs.frozen
class MessagePart(Wire):
    """A part of a message. Which fields are present depends on `type`."""

    type: str
    """`text`, `reasoning`, `tool_call`, `tool_result` or `attachment`."""
    text: str | None = None
    """The text, or a tool result's."""
    call_id: str | None = None
    """The tool call."""
    name: str | None = None
    """The tool's name, or what an attachment is called."""
    arguments: str | None = None
    """A tool call's JSON arguments as the model wrote them."""
    is_error: bool | None = None
    """Whether a tool result is a failure."""


@attrs.frozen
class MessageInfo(Wire):
    """A stored message."""

    id: int
    """Its id in the conversation."""
    role: MessageRole
    """Who said it."""
    text: str
    """Its text, without tool calls and results."""
    parts: list[MessagePart]
    """All its parts, in order."""
    state: MessageState
    """Whether it is all that was to come."""
    created_at: str
    """When it was stored."""
    digest: str
    """Covers the message and everything before it: 64 hex digits of SHA-256."""
    notes: list[str]
    """What was changed on entry, such as removed NUL characters."""
    is_hidden: bool
    """Whether it was rolled back: it can be read, and no model sees it."""
    turn_id: str | None = None
    """The turn it belongs to."""


@attrs.frozen
class RunningTurn(Wire):
    """A turn whose answer is still coming."""

    turn_id: str
    """The turn, for `turn/attach`."""
    seq: int
    """The last delta that is durable."""
    text: str
    """The text of the answer so far that is not yet among the messages."""


@attrs.frozen
class ReadConversationResult(Wire):
    """Messages of a conversation."""

    conversation: ConversationInfo
    """The conversation."""
    messages: list[MessageInfo]
    """Oldest first."""
    next: int | None = None
    """Where to go on reading. Absent: this was the end."""
    running: RunningTurn | None = None
    """The turn that is running now."""


@attrs.frozen
class RenameParams(Wire):
    """Name a conversation."""

    conversation_id: str
    """The conversation."""
    title: str
    """Its name from now on; what is over 60 characters is cut off."""


@attrs.frozen
class ArchiveParams(Wire):
    """Put a conversation away, or take it out again."""

    conversation_id: str
    """The conversation."""
    is_archived: bool
    """Whether it is put away."""


@attrs.frozen
class SetDraftParams(Wire):
    """Keep what is typed and not sent yet."""

    conversation_id: str
    """The conversation."""
    text: str
    """The draft; empty for none."""


@attrs.frozen
class ForkParams(Wire):
    """Go on from an earlier point in a new conversation. The old one stays as it is."""

    conversation_id: str
    """The conversation to fork."""
    message_id: int | None = None
    """The last message of the fork, widened to its whole exchange. Absent: the newest."""
    title: str | None = None
    """A name for the fork. Absent: the old one's."""


@attrs.frozen
class RollbackParams(Wire):
    """Take back the end of a conversation."""

    conversation_id: str
    """The conversation."""
    message_id: int
    """The first message to take back, widened to the beginning of its exchange."""


@attrs.frozen
class RollbackResult(Wire):
    """What was taken back. It can still be read; ids are not used again."""

    hidden: MessageRange
    """The messages."""
    draft: str
    """The user's first message among them, to be sent again."""
    usage: ContextUsage
    """How full the context is now."""


@attrs.frozen
class SummaryParams(Wire):
    """Names a summary that stands in a conversation's context; `prepareContext` shows which do."""

    conversation_id: str
    """The conversation."""
    summary_id: int
    """The summary."""


@attrs.frozen
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


# ------------------------------------------------------------------------------------------------------------ models


@attrs.frozen
class ModelInfo(Wire):
    """A model that can be chosen."""

    name: str
    """What to pass to `model/switch`."""
    provider: str
    """Its service."""
    window_tokens: int
    """Its context window."""
    max_output_tokens: int
    """The longest answer it gives."""
    budget_tokens: int
    """Tokens a turn's first request may take."""
    limits_source: LimitsSource
    """Where the limits come from."""
    is_available: bool
    """Whether it can be used now."""
    is_default: bool
    """Whether new conversations begin with it."""
    hint: str | None = None
    """What to do to make it available."""


@attrs.frozen
class ListModelsParams(Wire):
    """List models."""


@attrs.frozen
class ListModelsResult(Wire):
    """Models."""

    models: list[ModelInfo]
    """Available ones first, then by name."""


@attrs.frozen
class SwitchModelParams(Wire):
    """Go on with another model."""

    conversation_id: str
    """The conversation."""
    model: str
    """The model's name."""


class SwitchOutcome(enum.StrEnum):
    """What a switch does to the budget."""

    NO_CHANGE = "no_change"
    """It stays."""
    SHRINKING = "shrinking"
    """It is smaller; older messages may be summarised."""
    EXPANDING = "expanding"
    """It is larger; originals come back where they fit."""


@attrs.frozen
class SwitchModelResult(Wire):
    """The switch is done."""

    outcome: SwitchOutcome
    """What it does to the budget."""
    model: str
    """The model now."""
    old_budget: int
    """The budget before."""
    new_budget: int
    """The budget now."""
    usage: ContextUsage
    """How full the context is now."""
    needs_summarization: bool | None = None
    """`shrinking`: whether older messages must be summarised before the next request."""
    can_restore: int | None = None
    """`expanding`: how many summarised messages now stand as originals again."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/chat", ChatParams, ChatResult, "Send a message and stream the answer: one turn."),
    Request(
        "palimpsest/turn/attach",
        AttachParams,
        ChatResult,
        "Follow a running turn from any editor, or read how an ended one ended.",
    ),
    Request(
        "palimpsest/turn/cancel",
        CancelParams,
        CancelResult,
        "Stop a turn from any editor. Its `chat` then succeeds with status `cancelled`.",
    ),
    Request(
        "palimpsest/prepareContext",
        PrepareContextParams,
        PrepareContextResult,
        "Explain the next request: every segment, its size and why it is there. Changes nothing.",
    ),
    Request("palimpsest/summarize", SummarizeParams, SummarizeResult, "Summarise older messages now."),
    Request("palimpsest/usage", ConversationParams, ContextUsage, "How full the context is."),
    Request("palimpsest/conversation/create", CreateConversationParams, ConversationInfo, "Begin a conversation."),
    Request(
        "palimpsest/conversation/list", ListConversationsParams, ListConversationsResult, "List the conversations."
    ),
    Request(
        "palimpsest/conversation/read",
        ReadConversationParams,
        ReadConversationResult,
        "Read a conversation's messages, and what a running turn has said so far.",
    ),
    Request("palimpsest/conversation/rename", RenameParams, ConversationInfo, "Name a conversation."),
    Request(
        "palimpsest/conversation/archive", ArchiveParams, ConversationInfo, "Put a conversation away, or take it out."
    ),
    Request(
        "palimpsest/conversation/fork",
        ForkParams,
        ConversationInfo,
        "Go on from an earlier point in another conversation.",
    ),
    Request(
        "palimpsest/conversation/rollback",
        RollbackParams,
        RollbackResult,
        "Take back the end of a conversation. It stays readable.",
    ),
    Request("palimpsest/draft/set", SetDraftParams, ConversationInfo, "Keep what is typed and not sent yet."),
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
        "Go back to the summaries that stood in the context before the last change of them.",
    ),
    Request("palimpsest/model/list", ListModelsParams, ListModelsResult, "List the models."),
    Request("palimpsest/model/switch", SwitchModelParams, SwitchModelResult, "Go on with another model."),
    Notification(
        "palimpsest/didChangeUsage",
        UsageChangedParams,
        "The context of a conversation is fuller or emptier.",
        Direction.SERVER_TO_CLIENT,
    ),
    Notification(
        "palimpsest/didChangeConversation",
        ConversationChangedParams,
        "A conversation has new content; read it.",
        Direction.SERVER_TO_CLIENT,
    ),
    Notification(
        "palimpsest/contextEvent",
        ContextEvent,
        "A summary is written, a cut chosen, or the guard stepped in.",
        Direction.SERVER_TO_CLIENT,
    ),
)
