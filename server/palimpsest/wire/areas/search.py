"""Search in the messages of conversations."""

from __future__ import annotations

import attrs

from palimpsest.wire.areas.conversations import MessageRole
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class SearchParams(Wire):
    """A search by words, word forms and parts of identifiers. Purged messages are never found."""

    query: str
    """The words as the user typed them; no character has a special meaning."""
    conversation_id: str | None = None
    """A conversation. The messages it shares with the original of its fork are searched too. Absent: all conversations
    of a workspace folder."""
    folder_uri: str | None = None
    """URI of the workspace folder, used when there is no `conversationId`. Absent: all open folders."""
    limit: int | None = None
    """The largest number of messages for each folder, 1 to 100. Absent: 20."""
    include_hidden: bool | None = None
    """Whether to search hidden messages, too. Absent: no."""


@attrs.frozen(eq=False, repr=False)
class SearchHit(Wire):
    """A message that was found."""

    conversation_id: str
    """A conversation that has the message."""
    title: str
    """The title of that conversation."""
    message_id: int
    """The id of the message in it."""
    role: MessageRole
    """Who wrote it."""
    snippet: str
    """The passage that matches, on one line, at most 300 characters."""
    created_at: str
    """When it was stored."""
    is_hidden: bool
    """Whether it is hidden."""


@attrs.frozen(eq=False, repr=False)
class SearchResult(Wire):
    """The messages that were found."""

    hits: list[SearchHit]
    """Folder by folder, the best first: messages with all words before messages with some of them."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/conversation/search", SearchParams, SearchResult, "Search the messages of conversations."),
)
