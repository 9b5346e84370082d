"""The record of a conversation, without its messages."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.messages import ConversationId, MessageId


@dataclass(frozen=True, slots=True)
class SharedMark:
    """What a store knows of the sharing of one of its conversations."""

    team: str
    """The team's id."""
    has_unsent: bool = False
    """Whether the hub lacks messages of it."""
    is_detached: bool = False
    """Whether the hub had it once and has it no longer."""


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """The current state of a conversation."""

    id: ConversationId
    title: str
    model: str
    n_messages: int
    """The id of the next message. Messages that were rolled back keep their ids."""
    change_seq: int
    created_at: str
    updated_at: str
    parent: ConversationId | None
    """The conversation that this one was forked from; None when it is no fork."""
    fork_at: MessageId
    """The first message id that is not the parent's; 0 when it is no fork."""
    is_archived: bool
    draft: str
    """Text that the user typed and did not send, or rolled back."""
    layout: str | None = None
    """The layout of its requests; None for that of the settings."""
    shared: SharedMark | None = None
    """None when it was never shared."""
