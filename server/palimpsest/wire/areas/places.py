"""Structures that several areas use."""

from __future__ import annotations

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class ConversationParams(Wire):
    """A conversation."""

    conversation_id: str
    """The conversation."""


@attrs.frozen(eq=False, repr=False)
class MessageRange(Wire):
    """A range of messages."""

    start: int
    """The id of the first message."""
    end: int
    """The id of the last message plus 1."""


MESSAGES: tuple[Request | Notification, ...] = ()
