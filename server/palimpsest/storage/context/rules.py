"""The rules that the user gives by command: pins of the folder, and withdrawals of a conversation's rules."""

from __future__ import annotations

from palimpsest.domain.context.rules.rule_set import Pin, RuleId
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage.sql import execute


def add_pin(text: str, now: str) -> Pin:
    """Adds a pin, which holds in every conversation of the folder."""
    number = execute("INSERT INTO pin (text, is_open, created_at) VALUES (?, 1, ?)", text, now).lastrowid or 0
    return Pin(number, text)


def close_pin(number: int) -> bool:
    """Takes a pin back; False when no open pin has the number. The number is never used again."""
    return execute("UPDATE pin SET is_open = 0 WHERE number = ? AND is_open", number).rowcount > 0


def pins() -> list[Pin]:
    """The open pins, by number."""
    return [Pin(*row) for row in execute("SELECT number, text FROM pin WHERE is_open ORDER BY number")]


def closed_pins() -> list[Pin]:
    """The pins that were taken back, by number."""
    return [Pin(*row) for row in execute("SELECT number, text FROM pin WHERE NOT is_open ORDER BY number")]


def withdraw(conversation_id: ConversationId, entry: RuleId, now: str) -> None:
    """Withdraws a rule of the conversation. A no-op when it is withdrawn already."""
    execute(
        "INSERT OR IGNORE INTO withdrawal (conversation, message_id, rule, created_at) VALUES (?, ?, ?, ?)",
        *(conversation_id, entry.message_id, entry.index, now),
    )


def withdrawals(conversation_id: ConversationId) -> list[RuleId]:
    """The rules that the user withdrew, by message."""
    found = execute("SELECT message_id, rule FROM withdrawal WHERE conversation = ?", conversation_id)
    return sorted(RuleId(MessageId(message_id), rule) for message_id, rule in found)


def version() -> tuple[int, int, int]:
    """Numbers that change whenever the user gives a rule by command."""
    ((newest, n_open, n_taken_back),) = execute(
        "SELECT COALESCE(MAX(number), 0), COUNT(*) FILTER (WHERE is_open), (SELECT COUNT(*) FROM withdrawal) FROM pin"
    )
    return newest, n_open, n_taken_back


def inherit(child: ConversationId, parent: ConversationId, at: MessageId, now: str) -> None:
    """Gives a fork the withdrawals of rules in the messages below `at`."""
    for entry in withdrawals(parent):
        if entry.message_id < at:
            withdraw(child, entry, now)
