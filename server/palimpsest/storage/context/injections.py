"""Injections: text that is added to a request behind a message of the user."""

from __future__ import annotations

from palimpsest.domain.messages import ConversationId, MessageId, TurnId
from palimpsest.storage import leases
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.sql import execute


def write(lease: HeldLease, turn_id: TurnId, cut_version: int, kind: str, text: str, now: str) -> int:
    """What is added to the request of a turn behind the user's text, until the cut after `cut_version`. Returns what
    `last_injection` is now."""
    leases.check(lease)
    execute(
        """INSERT INTO injection (conversation, turn, cut_version, kind, text, created_at)
        VALUES (?, ?, ?, ?, ?, ?)""",
        *(lease.conversation_id, turn_id, cut_version, kind, text, now),
    )
    return last_injection(lease.conversation_id)


def last_injection(conversation_id: ConversationId) -> int:
    """A number for what was added behind messages, under any cut: another one when something was added or taken away,
    0 when there is nothing. Memory that knows another one is not in step."""
    query = "SELECT COALESCE(MAX(id), 0), COUNT(*) FROM injection WHERE conversation = ?"
    ((newest, n),) = execute(query, conversation_id)
    return int(newest) << 20 | int(n)


def read(conversation_id: ConversationId, cut_version: int) -> dict[MessageId, str]:
    """What stands behind the user's messages under that cut, by message."""
    rows = execute(
        """SELECT user_message_id, text FROM injection JOIN turn ON turn.id = injection.turn
        WHERE injection.conversation = ? AND cut_version = ? ORDER BY injection.id""",
        *(conversation_id, cut_version),
    )
    found: dict[MessageId, str] = {}
    for message_id, text in rows:
        before = found.get(MessageId(message_id))
        found[MessageId(message_id)] = text if before is None else f"{before}\n\n{text}"
    return found


def forget_recall(conversation_id: ConversationId) -> None:
    execute("DELETE FROM injection WHERE conversation = ? AND kind = 'recall'", conversation_id)
