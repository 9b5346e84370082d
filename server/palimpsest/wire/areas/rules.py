"""The user's standing rules, which every request contains word for word."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.places import ConversationParams
from palimpsest.wire.declare import Notification, Request, Wire


class RuleState(enum.StrEnum):
    """Whether a rule holds."""

    OPEN = "open"
    """It holds, and every request contains it."""
    SUPERSEDED = "superseded"
    """A later rule replaces it."""
    WITHDRAWN = "withdrawn"
    """The user took it back."""
    ORDINARY = "ordinary"
    """It counts as ordinary text, because all rules together take too much of the budget."""


@attrs.frozen(eq=False, repr=False)
class StandingRule(Wire):
    """A rule, or a pin."""

    id: str
    """Its id within the conversation. The id of a pin that comes from no message begins with `-1.`."""
    text: str
    """The text as the user wrote it."""
    state: RuleState
    """Whether it holds."""
    is_pin: bool
    """Whether the user pinned it. A later sentence cannot supersede a pin."""
    message_id: int | None = None
    """The message that it comes from. Absent for a pin that comes from no message."""
    superseded_by: str | None = None
    """The id of the rule that replaces it."""


@attrs.frozen(eq=False, repr=False)
class ListRulesResult(Wire):
    """The rules of a conversation."""

    rules: list[StandingRule]
    """In the order they were made; pins that come from no message first."""
    tokens: int
    """About how many tokens the open rules take."""
    cap_tokens: int
    """How many tokens they may take."""


@attrs.frozen(eq=False, repr=False)
class PinParams(Wire):
    """A rule for every conversation of the folder. No later sentence supersedes it."""

    conversation_id: str
    """The conversation. Its folder gets the pin, and its model decides whether the pin is too large."""
    text: str
    """The rule."""


@attrs.frozen(eq=False, repr=False)
class WithdrawParams(Wire):
    """A rule or pin to withdraw."""

    conversation_id: str
    """The conversation."""
    rule_id: str
    """The rule."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/rules/list", ConversationParams, ListRulesResult, "List the user's standing rules."),
    Request("palimpsest/rules/pin", PinParams, ListRulesResult, "Pin a rule for every conversation of a folder."),
    Request("palimpsest/rules/withdraw", WithdrawParams, ListRulesResult, "Withdraw a standing rule or a pin."),
)
