"""The search for messages: in one conversation, with the ones that it was forked from, or in a whole folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, MessageId, Role
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log, search
from palimpsest.storage.conversation.hidden_ranges import HiddenRange
from palimpsest.storage.conversation.search import Match, Query
from palimpsest.storage.store import Store

DEFAULT_HITS: Final = 20
MAX_HITS: Final = 100
_LOOKED_AT: Final = 2_000
"""The most rows that are examined to find visible ones."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that matches."""

    conversation_id: ConversationId
    """A conversation that shows it."""
    title: str
    message_id: MessageId
    role: Role
    snippet: str
    """The matching passage, on one line."""
    created_at: str
    is_hidden: bool
    """Whether it is hidden there."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search: the words, and where to look."""

    text: str
    """The words as typed; no character has a special meaning."""
    conversation_id: ConversationId | None = None
    """None for every conversation of the folder."""
    limit: int = DEFAULT_HITS
    includes_hidden: bool = False
    """Whether hidden messages may be found too."""


async def find(store: Store, wanted: Wanted) -> list[Hit]:
    """The matches, best first: messages with every word before those with some. Purged messages are never found.

    Raises InvalidRequest for a limit out of range, NotFound for the conversation.
    """
    if not 1 <= wanted.limit <= MAX_HITS:
        raise InvalidRequest(f"Ask for 1 to {MAX_HITS} messages at a time.")
    query = search.to_query(wanted.text)
    return [] if query is None else await store.search(_find, wanted, query)


def _find(wanted: Wanted, query: Query) -> list[Hit]:
    stretches = None
    if wanted.conversation_id is not None:
        conversations.get(wanted.conversation_id)
        stretches = conversations.lineage(wanted.conversation_id)
    shown_in = _ShownIn(wanted.conversation_id)
    hits: list[Hit] = []
    seen: set[Match] = set()
    for expression in query.expressions:
        places: list[tuple[Match, ConversationId, bool]] = []
        for match in search.matches(expression, stretches, _LOOKED_AT):
            if len(hits) + len(places) == wanted.limit:
                break
            if match not in seen:
                seen.add(match)
                conversation_id, is_hidden = shown_in.place(match)
                if not is_hidden or wanted.includes_hidden:
                    places.append((match, conversation_id, is_hidden))
        hits += _to_hits(expression, places)
    return hits


class _ShownIn:
    """The places of a row: a message that is hidden in its conversation may be visible in a fork."""

    def __init__(self, conversation_id: ConversationId | None) -> None:
        self._only = conversation_id
        self._hidden: dict[ConversationId, list[HiddenRange]] = {}

    def place(self, match: Match) -> tuple[ConversationId, bool]:
        """A conversation that has the row, preferably one that shows it, and whether it is hidden there."""
        first = ConversationId(match.owner) if self._only is None else self._only
        if not self._is_hidden(first, match.message_id):
            return first, False
        if self._only is None:
            for reader, _, _ in conversations.readers(match.owner, match.message_id, match.message_id + 1):
                if not self._is_hidden(reader, match.message_id):
                    return reader, False
        return first, True

    def _is_hidden(self, conversation_id: ConversationId, message_id: MessageId) -> bool:
        if conversation_id not in self._hidden:
            self._hidden[conversation_id] = hidden_ranges.read(conversation_id)
        return any(each.start <= message_id < each.end for each in self._hidden[conversation_id])


def _to_hits(expression: str, places: list[tuple[Match, ConversationId, bool]]) -> list[Hit]:
    messages = [message_log.read(place, match.message_id, match.message_id + 1)[0] for match, place, _ in places]
    texts = {index: search.text_of(message.content) for index, message in enumerate(messages)}
    snippets = search.snippets(expression, texts)
    return [
        Hit(
            place,
            conversations.get(place).title,
            message.id,
            message.content.role,
            snippets[index],
            message.created_at,
            is_hidden,
        )
        for index, (message, (_, place, is_hidden)) in enumerate(zip(messages, places, strict=True))
    ]
