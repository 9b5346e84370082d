"""A conversation without its messages."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.messages import ConversationId, MessageId


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """A conversation as it stands."""

    id: ConversationId
    title: str
    model: str
    n_messages: int
    """The next message's id: messages that were rolled back keep theirs."""
    change_seq: int
    created_at: str
    updated_at: str
    parent: ConversationId | None
    """The conversation it was forked from."""
    fork_at: MessageId
    """The first id that is its own; 0 when it is no fork."""
    is_archived: bool
    draft: str
    """What the user had typed and not sent, or rolled back."""
    layout: str | None = None
    """How its requests are laid out; None: as the settings say."""
