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
    """The newest summary then: it and older ones that overlap the range may speak of what is hidden."""


def add(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> None:
    """Hides the messages [start, end): they stay readable, their ids are never used again. `context.visibility.hide`
    also takes out of the contexts what speaks of them."""
    add_unindexed(conversation_id, start, end, now)
    passages.refresh(conversation_id, start, end)


def add_unindexed(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> None:
    """As `add`, for messages that are taken out of the indexes altogether."""
    execute(
        """INSERT INTO hidden (conversation, start_message_id, end_message_id, last_summary, created_at)
        VALUES (?, ?, ?, (SELECT COALESCE(MAX(id), 0) FROM summary WHERE conversation = ?), ?)""",
        *(conversation_id, start, end, conversation_id, now),
    )
    passages.refresh_beside(conversation_id, start, end)
    conversations.touch(conversation_id, now)


def last_hidden(conversation_id: ConversationId) -> int:
    """Which of the hidden ranges was hidden last; 0 when nothing was. Memory that knows another one is not in step."""
    ((newest,),) = execute("SELECT COALESCE(MAX(id), 0) FROM hidden WHERE conversation = ?", conversation_id)
    return int(newest)


def last_hidden_anywhere() -> int:
    """As `last_hidden`, of all conversations of the folder."""
    ((newest,),) = execute("SELECT COALESCE(MAX(id), 0) FROM hidden")
    return int(newest)


def read(conversation_id: ConversationId) -> list[HiddenRange]:
    """By their start; they may overlap. What was purged is hidden too."""
    found = execute(
        """SELECT start_message_id, end_message_id, last_summary FROM hidden
        WHERE conversation = ? ORDER BY start_message_id""",
        conversation_id,
    )
    return [HiddenRange(MessageId(start), MessageId(end), last_summary) for start, end, last_summary in found]
