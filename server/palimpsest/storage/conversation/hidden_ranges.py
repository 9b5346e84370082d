"""Hidden messages: the ranges that were rolled back or purged."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage.conversation import conversations, passages
from palimpsest.storage.sql import execute


@dataclass(frozen=True, slots=True)
class HiddenRange:
    """Messages [start, end) that were rolled back or purged."""

    start: MessageId
    end: MessageId
    last_summary: int
    """The newest summary when the range was hidden: it and older ones that overlap the range may repeat hidden words.
    """


def add(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> None:
    """Hides the messages [start, end). They stay readable, and their ids are never used again.
    `context.visibility.hide` also removes from the contexts the texts that may repeat them."""
    add_unindexed(conversation_id, start, end, now)
    passages.refresh(conversation_id, start, end)


def add_unindexed(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> None:
    """As `add`, for messages that the caller removes from the indexes."""
    execute(
        """INSERT INTO hidden (conversation, start_message_id, end_message_id, last_summary, created_at)
        VALUES (?, ?, ?, (SELECT COALESCE(MAX(id), 0) FROM summary WHERE conversation = ?), ?)""",
        *(conversation_id, start, end, conversation_id, now),
    )
    passages.refresh_beside(conversation_id, start, end)
    conversations.touch(conversation_id, now)


def last_hidden(conversation_id: ConversationId) -> int:
    """The id of the range that was hidden last; 0 when there is none. A context in memory that has another one is out
    of date."""
    ((newest,),) = execute("SELECT COALESCE(MAX(id), 0) FROM hidden WHERE conversation = ?", conversation_id)
    return int(newest)


def last_hidden_anywhere() -> int:
    """As `last_hidden`, over all conversations of the folder."""
    ((newest,),) = execute("SELECT COALESCE(MAX(id), 0) FROM hidden")
    return int(newest)


def read(conversation_id: ConversationId) -> list[HiddenRange]:
    """The ranges that were rolled back or purged, by start; they may overlap."""
    found = execute(
        """SELECT start_message_id, end_message_id, last_summary FROM hidden
        WHERE conversation = ? ORDER BY start_message_id""",
        conversation_id,
    )
    return [HiddenRange(MessageId(start), MessageId(end), last_summary) for start, end, last_summary in found]
