"""Searching what was said."""

from __future__ import annotations

import attrs

from palimpsest.wire.areas.conversations import MessageRole
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class SearchParams(Wire):
    """Find messages by words, word forms and parts of identifiers. Purged messages are never found."""

    query: str
    """What is looked for, as it was typed: no character has a special meaning."""
    conversation_id: str | None = None
    """One conversation, with what it was forked from. Absent: all of a workspace folder."""
    folder_uri: str | None = None
    """URI of the workspace folder. Absent: of every open folder. Without a meaning when a conversation is given."""
    limit: int | None = None
    """How many messages at most, 1 to 100, in each folder. Absent: 20."""
    include_hidden: bool | None = None
    """Whether to find messages that were rolled back, too. Absent: no."""


@attrs.frozen(eq=False, repr=False)
class SearchHit(Wire):
    """A message that was found."""

    conversation_id: str
    """A conversation that shows it."""
    title: str
    """That conversation's title."""
    message_id: int
    """Its id there."""
    role: MessageRole
    """Who said it."""
    snippet: str
    """The passage that matches, on one line, at most 300 characters."""
    created_at: str
    """When it was stored."""
    is_hidden: bool
    """Whether it was rolled back."""


@attrs.frozen(eq=False, repr=False)
class SearchResult(Wire):
    """What was found."""

    hits: list[SearchHit]
    """Best first, folder by folder: those with every word before those with some of the words."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/conversation/search", SearchParams, SearchResult, "Find messages of conversations."),
)
