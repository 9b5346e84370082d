"""How full a context is, and what happens to it."""

from __future__ import annotations

import enum
from typing import Final

import attrs

from palimpsest.domain.context.events import ContextEventFields
from palimpsest.domain.context.events import ContextEventType as ContextEventType  # it is part of the protocol
from palimpsest.wire.areas.places import ConversationParams, MessageRange
from palimpsest.wire.declare import Direction, Notification, Request, Wire


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


class ContextStatus(enum.StrEnum):
    """Whether a request could be sent."""

    READY = "ready"
    """It fits."""
    NEEDS_SUMMARIZATION = "needsSummarization"
    """Older messages must be summarised first; a turn does that by itself."""
    RECENT_MESSAGES_TOO_LARGE = "recentMessagesTooLarge"
    """What must be sent verbatim does not fit."""


@attrs.frozen(eq=False, repr=False)
class TokensByKind(Wire):
    """A share of the context."""

    kind: str
    """`system`, `tools`, `pins`, `summaries`, `messages`, `previews`, `injections`, or `overhead`: what the model's
    service adds to every request by itself."""
    tokens: int
    """Tokens it takes."""


@attrs.frozen(eq=False, repr=False)
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
    """Messages that the context stands for: those rolled back or left out are not among them."""
    summary_count: int
    """Summaries that stand in the context."""
    by_kind: list[TokensByKind]
    """The shares, largest first. They add up to `usedTokens`."""
    status: ContextStatus
    """Whether it could be sent as it stands. A turn summarises by itself when it has to."""
    last_summary_at: str | None = None
    """When a summary was last written."""


SUMMARIZING: Final = frozenset(("tool_calls", "threshold", "goal_batch", "manual"))
"""The strategies that write summaries."""


@attrs.frozen(eq=False, repr=False)
class ContextEvent(ContextEventFields, Wire):
    """Something happened to a conversation's context. Which fields are present depends on `type`."""

    left_out: list[MessageRange] | None = None
    """The messages that are not sent, oldest first."""


@attrs.frozen(eq=False, repr=False)
class UsageChangedParams(Wire):
    """The context of a conversation is now this full."""

    conversation_id: str
    """The conversation."""
    usage: ContextUsage
    """How full."""


@attrs.frozen(eq=False, repr=False)
class ConversationChangedParams(Wire):
    """A conversation has new content."""

    conversation_id: str
    """The conversation."""
    seq: int
    """Grows with every change, so a stale notification can be told."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/usage", ConversationParams, ContextUsage, "How full the context is."),
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
