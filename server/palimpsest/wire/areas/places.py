"""What a message is about: a conversation, a stretch of its messages."""

from __future__ import annotations

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class ConversationParams(Wire):
    """Names a conversation."""

    conversation_id: str
    """The conversation."""


@attrs.frozen(eq=False, repr=False)
class MessageRange(Wire):
    """A range of messages."""

    start: int
    """The first message's id."""
    end: int
    """One more than the last message's id."""


MESSAGES: tuple[Request | Notification, ...] = ()
