"""Events of a conversation's context. The protocol publishes the texts below: they are for people who write editors."""

from __future__ import annotations

from enum import StrEnum

import attrs

from palimpsest.domain.messages import ConversationId


class ContextEventType(StrEnum):
    """What happened to a context."""

    SUMMARIZATION_START = "context_summarization_start"
    """A strategy begins to make the context smaller. Exactly one complete or error event with the same `operationId`
    follows, whatever happens, as long as the editor has the folder open."""
    SUMMARIZATION_PROGRESS = "context_summarization_progress"
    """Part of it is done. The first comes before anything is."""
    SUMMARIZATION_COMPLETE = "context_summarization_complete"
    """It is done, and counts in the next request."""
    SUMMARIZATION_ERROR = "context_summarization_error"
    """It was given up, failed or was stopped: the context stays as it is."""
    SUMMARIZATION_FALLBACK = "context_summarization_fallback"
    """A model's summary could not be used, and the deterministic one stepped in. The operation goes on."""
    RECUT = "context_recut"
    """A new cut was chosen; the prefix of the next request is new from some point on."""
    LEFT_OUT = "context_left_out"
    """Summaries are switched off, and the oldest messages are not sent any more. They stay stored."""
    RULES_CAP = "context_rules_cap"
    """Standing rules take too much of the budget: the oldest count as ordinary text from now on. Pins never do."""
    NOT_RECALLED = "context_not_recalled"
    """Something was found for the message that the context does not hold, and there was no room to add it."""
    GUARD = "context_guard"
    """The guard stopped a model call or a tool result."""


@attrs.frozen
class ContextEventFields:
    """The fields of an event that are the same inside the server and on the wire. Which are set depends on `type`."""

    conversation_id: ConversationId
    """The conversation."""
    type: ContextEventType
    """What happened."""
    timestamp: str
    """When."""
    operation_id: str | None = None
    """The same in a start event, in its progress, and in the one complete or error event that ends it."""
    strategy: str | None = None
    """What makes the context smaller. Summaries: `tool_calls`, `threshold`, `goal_batch` (older ones are merged) or
    `manual` (the user asked). Without summaries: `leave_out` (the oldest messages are not sent, where summaries are
    switched off), `distil` (only the newest are, in the layout `librarian`), `previews` (the largest are shortened) or
    `injections` (what was added behind earlier messages is dropped)."""
    cause: str | None = None
    """Why the cut was taken anew: `threshold` (the context was too full), `model` (another was chosen), `user` (asked
    for it), `rollback` (messages were taken back or purged), `undo` and `redo` (a change of summaries was taken back,
    or made again), `frame` (tools, system prompt or instructions changed) or `layout` (the layout `librarian`, each
    turn)."""
    current_tokens: int | None = None
    """Tokens of the context before."""
    max_tokens: int | None = None
    """The limit it is measured against."""
    items_processed: int | None = None
    """Messages summarized so far."""
    total_items: int | None = None
    """Messages to summarize. Absent where no summary is written."""
    tokens_saved: int | None = None
    """Tokens the context is smaller by: `currentTokens` less `newTokenCount`."""
    new_token_count: int | None = None
    """Tokens of the context after."""
    duration_ms: int | None = None
    """How long it took."""
    error: str | None = None
    """A sentence that says what went wrong, and what was done instead."""
    trigger: str | None = None
    """Guard: `turn_preflight` or `tool_preflight`."""
    outcome: str | None = None
    """Guard: `forced_final`, `skipped_provider` or `token_budget_exceeded`."""
    limit_tokens: int | None = None
    """Guard, not recalled: the limit."""
    projected_tokens: int | None = None
    """Guard, not recalled: what the request would need."""
    remaining_tokens: int | None = None
    """Guard, not recalled: the limit less the projection; negative when over."""
    rules: tuple[str, ...] | None = None
    """The ids of the standing rules that became ordinary text."""
