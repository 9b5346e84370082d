"""The user's standing rules: what stands verbatim in every request."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.places import ConversationParams
from palimpsest.wire.declare import Notification, Request, Wire


class RuleState(enum.StrEnum):
    """Whether a rule holds."""

    OPEN = "open"
    """It stands in every request."""
    SUPERSEDED = "superseded"
    """A later rule took its place."""
    WITHDRAWN = "withdrawn"
    """The user took it back."""
    ORDINARY = "ordinary"
    """All rules together take too much of the budget, so it counts as ordinary text."""


@attrs.frozen(eq=False, repr=False)
class StandingRule(Wire):
    """A rule, or a pin."""

    id: str
    """Names it within the conversation. Of a pin that comes from no message it begins with `-1.`."""
    text: str
    """As the user wrote it."""
    state: RuleState
    """Whether it holds."""
    is_pin: bool
    """Whether the user pinned it: then no sentence can supersede it."""
    message_id: int | None = None
    """The message it was said in; absent for a pin that comes from none."""
    superseded_by: str | None = None
    """The rule in its place."""


@attrs.frozen(eq=False, repr=False)
class ListRulesResult(Wire):
    """The rules of a conversation."""

    rules: list[StandingRule]
    """In the order they were made, pins that come from no message first."""
    tokens: int
    """What the open ones take, about."""
    cap_tokens: int
    """What they may take."""


@attrs.frozen(eq=False, repr=False)
class PinParams(Wire):
    """A rule that holds in every conversation of the folder, whatever is said in them."""

    conversation_id: str
    """The conversation it is pinned from: the folder is this one's, and the size is checked against its model."""
    text: str
    """The rule."""


@attrs.frozen(eq=False, repr=False)
class WithdrawParams(Wire):
    """A rule or pin that no longer holds."""

    conversation_id: str
    """The conversation."""
    rule_id: str
    """The rule."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/rules/list", ConversationParams, ListRulesResult, "The user's standing rules."),
    Request("palimpsest/rules/pin", PinParams, ListRulesResult, "Make a rule hold in every conversation of a folder."),
    Request("palimpsest/rules/withdraw", WithdrawParams, ListRulesResult, "Take a standing rule or a pin back."),
)
