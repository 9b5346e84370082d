"""What the user ruled by command: pins of the folder, and standing rules a conversation takes back."""

from __future__ import annotations

from palimpsest.domain.ledger import EntryId, Pin
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage import tables


def add_pin(text: str, now: str) -> Pin:
    """A pin holds in every conversation of the folder."""
    return Pin(tables.Pin.create(text=text, is_open=True, created_at=now).number, text)


def close_pin(number: int) -> bool:
    """Takes a pin back; False when none of that number is open. Its number is never used again."""
    return bool(tables.Pin.update(is_open=False).where(tables.Pin.number == number, tables.Pin.is_open).execute())


def pins() -> list[Pin]:
    """Those that are open, by number."""
    return [
        Pin(row.number, row.text) for row in tables.Pin.select().where(tables.Pin.is_open).order_by(tables.Pin.number)
    ]


def closed_pins() -> list[Pin]:
    """Those that were taken back, by number."""
    query = tables.Pin.select().where(~tables.Pin.is_open).order_by(tables.Pin.number)
    return [Pin(row.number, row.text) for row in query]


def withdraw(conversation_id: ConversationId, entry: EntryId, now: str) -> None:
    """The conversation's rule no longer holds, whatever its message says."""
    tables.Withdrawal.insert(
        conversation=conversation_id, message_id=entry.message_id, rule=entry.index, created_at=now
    ).on_conflict_ignore().execute()


def withdrawals(conversation_id: ConversationId) -> list[EntryId]:
    """What the user took back by command, oldest message first."""
    query = tables.Withdrawal.select().where(tables.Withdrawal.conversation == conversation_id)
    return sorted(EntryId(MessageId(row.message_id), row.rule) for row in query)


def inherit(child: ConversationId, parent: ConversationId, at: MessageId, now: str) -> None:
    """Gives a fork what was taken back of the messages below `at`."""
    for entry in withdrawals(parent):
        if entry.message_id < at:
            withdraw(child, entry, now)
