"""Events of a conversation's context. The protocol publishes the texts below: they are for people who write editors."""

from __future__ import annotations

from enum import StrEnum

import attrs

from palimpsest.domain.messages import ConversationId


class ContextEventType(StrEnum):
    """What happened to a context."""

    SUMMARIZATION_START = "context_summarization_start"
    """A strategy begins to make the context smaller. Exactly one complete or error event with the same `operationId`
    follows, as long as the editor has the folder open."""
    SUMMARIZATION_PROGRESS = "context_summarization_progress"
    """A part of the work is done. The first progress event comes before any work."""
    SUMMARIZATION_COMPLETE = "context_summarization_complete"
    """The work is done and counts in the next request."""
    SUMMARIZATION_ERROR = "context_summarization_error"
    """The work was given up, failed or was stopped. The context stays as it is."""
    SUMMARIZATION_FALLBACK = "context_summarization_fallback"
    """A model's summary could not be used, and a summary by rules takes its place. The operation goes on."""
    COMPACTION = "context_compaction"
    """A compaction, or another change of the summaries, took effect. The next request no longer begins with the
    previous one."""
    LEFT_OUT = "context_left_out"
    """Summaries are switched off, and the oldest messages are no longer sent. They stay stored."""
    RULES_CAP = "context_rules_cap"
    """The standing rules take too much of the budget. The oldest count as ordinary text from now on; pins never do."""
    NOT_RECALLED = "context_not_recalled"
    """The search found text for the message that is not in the context, and there was no room to add it."""
    BUDGET = "context_budget"
    """Models have cost most of this month's budget."""
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
    """When it happened."""
    operation_id: str | None = None
    """The id of an operation. Its start event, its progress events and the one event that ends it have the same."""
    strategy: str | None = None
    """What makes the context smaller. Strategies that write summaries: `tool_calls`, `threshold`, `goal_batch` (it
    merges older summaries) and `manual` (the user asked). Others: `leave_out` (the oldest messages are not sent,
    because summaries are switched off), `distil` (only the newest messages are sent, in the layout `librarian`),
    `previews` (the largest messages are shortened) and `injections` (text that was added behind earlier messages is
    dropped)."""
    cause: str | None = None
    """Why the context changed: `threshold` (it was too full), `model` (the user chose another model), `user` (the user
    asked), `rollback` (messages were hidden or purged), `undo` and `redo` (of a change of summaries), `frame`
    (tools, system prompt or instructions changed) or `layout` (the layout `librarian` changes it each turn)."""
    current_tokens: int | None = None
    """Tokens of the context before."""
    max_tokens: int | None = None
    """The limit in tokens that the context is compared with."""
    items_processed: int | None = None
    """How many messages are summarized so far."""
    total_items: int | None = None
    """How many messages are to be summarized. Absent where no summary is written."""
    tokens_saved: int | None = None
    """How many tokens smaller the context is: `currentTokens` less `newTokenCount`."""
    new_token_count: int | None = None
    """Tokens of the context after."""
    duration_ms: int | None = None
    """How long the operation took, in milliseconds."""
    error: str | None = None
    """A sentence that says what went wrong and what was done instead; for `context_budget`, what models have cost."""
    trigger: str | None = None
    """For the guard: `turn_preflight` or `tool_preflight`."""
    outcome: str | None = None
    """For the guard: `forced_final`, `skipped_provider` or `token_budget_exceeded`."""
    limit_tokens: int | None = None
    """For the guard and for `context_not_recalled`: the limit."""
    projected_tokens: int | None = None
    """For the guard and for `context_not_recalled`: the tokens that the request would need."""
    remaining_tokens: int | None = None
    """For the guard and for `context_not_recalled`: the limit less the projection; negative when the request is over
    the limit."""
    rules: tuple[str, ...] | None = None
    """The ids of the standing rules that became ordinary text."""
