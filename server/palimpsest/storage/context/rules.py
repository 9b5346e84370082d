"""What the user ruled by command: pins of the folder, and standing rules a conversation takes back."""

from __future__ import annotations

from palimpsest.domain.context.rules.rule_set import Pin, RuleId
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage.sql import execute


def add_pin(text: str, now: str) -> Pin:
    """A pin holds in every conversation of the folder."""
    number = execute("INSERT INTO pin (text, is_open, created_at) VALUES (?, 1, ?)", text, now).lastrowid or 0
    return Pin(number, text)


def close_pin(number: int) -> bool:
    """Takes a pin back; False when none of that number is open. Its number is never used again."""
    return execute("UPDATE pin SET is_open = 0 WHERE number = ? AND is_open", number).rowcount > 0


def pins() -> list[Pin]:
    """Those that are open, by number."""
    return [Pin(*row) for row in execute("SELECT number, text FROM pin WHERE is_open ORDER BY number")]


def closed_pins() -> list[Pin]:
    """Those that were taken back, by number."""
    return [Pin(*row) for row in execute("SELECT number, text FROM pin WHERE NOT is_open ORDER BY number")]


def withdraw(conversation_id: ConversationId, entry: RuleId, now: str) -> None:
    """The conversation's rule no longer holds, whatever its message says."""
    execute(
        "INSERT OR IGNORE INTO withdrawal (conversation, message_id, rule, created_at) VALUES (?, ?, ?, ?)",
        *(conversation_id, entry.message_id, entry.index, now),
    )


def withdrawals(conversation_id: ConversationId) -> list[RuleId]:
    """What the user took back by command, oldest message first."""
    found = execute("SELECT message_id, rule FROM withdrawal WHERE conversation = ?", conversation_id)
    return sorted(RuleId(MessageId(message_id), rule) for message_id, rule in found)


def version() -> tuple[int, int, int]:
    """Another one whenever the user has ruled something by command."""
    ((newest, n_open, n_taken_back),) = execute(
        "SELECT COALESCE(MAX(number), 0), COUNT(*) FILTER (WHERE is_open), (SELECT COUNT(*) FROM withdrawal) FROM pin"
    )
    return newest, n_open, n_taken_back


def inherit(child: ConversationId, parent: ConversationId, at: MessageId, now: str) -> None:
    """Gives a fork what was taken back of the messages below `at`."""
    for entry in withdrawals(parent):
        if entry.message_id < at:
            withdraw(child, entry, now)
