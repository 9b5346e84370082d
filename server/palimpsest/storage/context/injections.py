"""Injections: text that is added to a request behind a message, until the next compaction."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.messages import ConversationId, MessageId, TurnId
from palimpsest.storage import leases
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.sql import execute

NOTE: Final = "note"
"""The kind of what is recalled for a step: a message of its own, behind the newest message of the step."""


def write(lease: HeldLease, turn_id: TurnId, cut_version: int, kind: str, text: str, now: str) -> int:
    """Adds a text behind the user's message of a turn, until the cut after `cut_version`. Returns the new
    `last_injection`. Raises LeaseLost."""
    leases.check(lease)
    execute(
        """INSERT INTO injection (conversation, turn, cut_version, kind, text, created_at)
        VALUES (?, ?, ?, ?, ?, ?)""",
        *(lease.conversation_id, turn_id, cut_version, kind, text, now),
    )
    return last_injection(lease.conversation_id)


def write_note(lease: HeldLease, turn_id: TurnId, cut_version: int, message_id: MessageId, text: str, now: str) -> int:
    """Adds a note behind a message of the running turn, until the cut after `cut_version`. Returns what
    `last_injection` is now."""
    leases.check(lease)
    execute(
        """INSERT INTO injection (conversation, turn, cut_version, kind, text, created_at, message_id)
        VALUES (?, ?, ?, ?, ?, ?, ?)""",
        *(lease.conversation_id, turn_id, cut_version, NOTE, text, now, message_id),
    )
    return last_injection(lease.conversation_id)


def last_injection(conversation_id: ConversationId) -> int:
    """A number that changes whenever an injection of the conversation is added or removed, under any cut; 0 when there
    is none. A context in memory that has another number is out of date."""
    query = "SELECT COALESCE(MAX(id), 0), COUNT(*) FROM injection WHERE conversation = ?"
    ((newest, n),) = execute(query, conversation_id)
    return int(newest) << 20 | int(n)


def read(conversation_id: ConversationId, cut_version: int) -> dict[MessageId, str]:
    """The texts behind the user's messages under that cut, by message."""
    rows = execute(
        """SELECT user_message_id, text FROM injection JOIN turn ON turn.id = injection.turn
        WHERE injection.conversation = ? AND cut_version = ? AND kind <> ? ORDER BY injection.id""",
        *(conversation_id, cut_version, NOTE),
    )
    found: dict[MessageId, str] = {}
    for message_id, text in rows:
        before = found.get(MessageId(message_id))
        found[MessageId(message_id)] = text if before is None else f"{before}\n\n{text}"
    return found


def read_notes(conversation_id: ConversationId, cut_version: int) -> dict[MessageId, str]:
    """The notes under that cut, by the message that each follows."""
    rows = execute(
        "SELECT message_id, text FROM injection WHERE conversation = ? AND cut_version = ? AND kind = ?",
        *(conversation_id, cut_version, NOTE),
    )
    return {MessageId(message_id): text for message_id, text in rows}


def forget_recall(conversation_id: ConversationId) -> None:
    execute("DELETE FROM injection WHERE conversation = ? AND kind = 'recall'", conversation_id)
