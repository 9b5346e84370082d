"""The size of a context, and events about it."""

from __future__ import annotations

import enum

import attrs

from palimpsest.domain.context.events import ContextEventFields
from palimpsest.domain.context.events import ContextEventType as ContextEventType  # it is part of the protocol
from palimpsest.domain.strategy_names import MANUAL as MANUAL
from palimpsest.domain.strategy_names import SUMMARIZING as SUMMARIZING
from palimpsest.wire.areas.places import MessageRange
from palimpsest.wire.declare import Direction, Notification, Request, Wire


class LimitsSource(enum.StrEnum):
    """Where a model's limits come from."""

    OVERRIDE = "override"
    """The user's settings for the model."""
    PROVIDER = "provider"
    """The user's settings for the provider."""
    LIVE = "live"
    """The provider's list of models."""
    PREFIX = "prefix"
    """The built-in table, by the longest prefix of the model's name."""
    LEARNED = "learned"
    """An error message of the provider."""
    DEFAULT_FALLBACK = "default_fallback"
    """A default, because the model is unknown."""


class Severity(enum.StrEnum):
    """How full the context is, as a color."""

    GREEN = "green"
    """Under 70 % of the budget."""
    YELLOW = "yellow"
    """From 70 to 90 % of the budget."""
    RED = "red"
    """Over 90 % of the budget."""


class Counting(enum.StrEnum):
    """How tokens are counted for a model."""

    EXACT = "exact"
    """With the model's own tokenizer."""
    ESTIMATED = "estimated"
    """With a public tokenizer and a factor for the model's family."""
    BYTES = "bytes"
    """UTF-8 bytes divided by 4, because no tokenizer could be loaded."""


class ContextStatus(enum.StrEnum):
    """Whether the next request could be sent."""

    READY = "ready"
    """The request fits."""
    NEEDS_SUMMARIZATION = "needsSummarization"
    """Older messages must be summarized first. A turn does that by itself."""
    RECENT_MESSAGES_TOO_LARGE = "recentMessagesTooLarge"
    """The messages that must be sent word for word do not fit. Of a long conversation that was just imported this is
    only known once an answer was asked for."""


@attrs.frozen(eq=False, repr=False)
class TokensByKind(Wire):
    """The share of the context that one kind of text takes."""

    kind: str
    """`system`, `tools`, `pins`, `summaries`, `messages`, `previews`, `injections`, or `overhead`: the tokens that the
    model's service adds to every request."""
    tokens: int
    """The tokens of this kind."""


@attrs.frozen(eq=False, repr=False)
class ContextUsage(Wire):
    """How full the context of a conversation is."""

    used_tokens: int
    """Tokens of the next request, without the next message."""
    budget_tokens: int
    """Tokens that the first request of a turn may take."""
    wall_tokens: int
    """Tokens that later requests of a turn may take."""
    percentage: float
    """Used tokens in percent of the budget; over 100 when the context is over its budget."""
    severity: Severity
    """The percentage as a color."""
    compact: str
    """The usage for a status line: `2.1k / 200k (1%)`, with `, 2 summaries` when the context has two."""
    model: str
    """The conversation's model."""
    provider: str
    """The provider of that model."""
    window_tokens: int
    """The model's context window."""
    reserve_tokens: int
    """Tokens reserved for the answer."""
    limits_source: LimitsSource
    """Where the limits come from."""
    counting: Counting
    """How tokens are counted."""
    message_count: int
    """How many messages the context represents. Messages that are hidden or left out do not count."""
    summary_count: int
    """How many summaries are in the context."""
    by_kind: list[TokensByKind]
    """The shares, largest first. They add up to `usedTokens`."""
    status: ContextStatus
    """Whether the context could be sent as it is. A turn summarizes by itself when it must."""
    last_summary_at: str | None = None
    """When the last summary was written. Absent: none was."""


@attrs.frozen(eq=False, repr=False)
class ContextEvent(ContextEventFields, Wire):
    """An event of a conversation's context. Which fields are present depends on `type`."""

    left_out: list[MessageRange] | None = None
    """The messages that are no longer sent, oldest first."""


@attrs.frozen(eq=False, repr=False)
class UsageChangedParams(Wire):
    """The new usage of a conversation's context."""

    conversation_id: str
    """The conversation."""
    usage: ContextUsage
    """The new usage."""


@attrs.frozen(eq=False, repr=False)
class ConversationChangedParams(Wire):
    """A change of a conversation."""

    conversation_id: str
    """The conversation."""
    seq: int
    """Grows with every change of the conversation. An editor can ignore a notification with a number it has seen."""


@attrs.frozen(eq=False, repr=False)
class UsageParams(Wire):
    """A conversation, or one that has not begun."""

    conversation_id: str | None = None
    """The conversation. Absent: one that would begin now with the default model."""
    folder_uri: str | None = None
    """URI of the workspace folder, used when there is no `conversationId`. Absent: the only or first folder."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/usage", UsageParams, ContextUsage, "Tell how full the context of a conversation is."),
    Notification(
        "palimpsest/didChangeUsage",
        UsageChangedParams,
        "The usage of a conversation's context has changed.",
        Direction.SERVER_TO_CLIENT,
    ),
    Notification(
        "palimpsest/didChangeConversation",
        ConversationChangedParams,
        "A conversation has changed; the editor can read it again.",
        Direction.SERVER_TO_CLIENT,
    ),
    Notification(
        "palimpsest/contextEvent",
        ContextEvent,
        "The server makes a context smaller, or the guard stopped something.",
        Direction.SERVER_TO_CLIENT,
    ),
)
