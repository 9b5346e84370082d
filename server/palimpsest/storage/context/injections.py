"""Injections: text that is added to a request behind a message, until the next compaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.messages import ConversationId, MessageId, TurnId
from palimpsest.storage import leases
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.sql import execute

NOTE: Final = "note"
"""The kind of what is recalled for a step: a message of its own, behind the newest message of the step."""


def write(lease: HeldLease, turn_id: TurnId, cut_version: int, kind: str, text: str, now: str) -> int:
    """Adds a text behind the user's message of a turn, until the cut after `cut_version`. Returns its id, which is
    never used again. Raises LeaseLost."""
    leases.check(lease)
    added = execute(
        """INSERT INTO injection (conversation, turn, cut_version, kind, text, created_at)
        VALUES (?, ?, ?, ?, ?, ?)""",
        *(lease.conversation_id, turn_id, cut_version, kind, text, now),
    )
    return added.lastrowid or 0


def write_note(lease: HeldLease, turn_id: TurnId, cut_version: int, message_id: MessageId, text: str, now: str) -> int:
    """As `write`, for a note behind a message of the running turn."""
    leases.check(lease)
    added = execute(
        """INSERT INTO injection (conversation, turn, cut_version, kind, text, created_at, message_id)
        VALUES (?, ?, ?, ?, ?, ?, ?)""",
        *(lease.conversation_id, turn_id, cut_version, NOTE, text, now, message_id),
    )
    return added.lastrowid or 0


def last_injection(conversation_id: ConversationId) -> int:
    """A number that changes whenever an injection of the conversation is added, ended or removed, under any cut; 0
    when there is none. A context in memory that has another number is out of date."""
    query = """SELECT COALESCE(MAX(id), 0), COUNT(*) FILTER (WHERE NOT is_ended) FROM injection
        WHERE conversation = ?"""
    ((newest, n),) = execute(query, conversation_id)
    return int(newest) << 20 | int(n)


@dataclass(frozen=True, slots=True)
class Injected:
    """The injections behind one message."""

    ids: tuple[int, ...]
    """In their order."""
    text: str
    """Their texts, joined."""

    def __add__(self, other: Injected) -> Injected:
        return Injected((*self.ids, *other.ids), joined((self.text, other.text)))


def joined(texts: Iterable[str]) -> str:
    """The texts of injections behind one message, as they are sent."""
    return "\n\n".join(texts)


def read(conversation_id: ConversationId, cut_version: int) -> dict[MessageId, Injected]:
    """The injections behind the user's messages under that cut, by message."""
    rows = execute(
        """SELECT user_message_id, injection.id, text FROM injection JOIN turn ON turn.id = injection.turn
        WHERE injection.conversation = ? AND cut_version = ? AND kind <> ? AND NOT is_ended ORDER BY injection.id""",
        *(conversation_id, cut_version, NOTE),
    )
    found: dict[MessageId, Injected] = {}
    for message_id, injection_id, text in rows:
        added, before = Injected((injection_id,), text), found.get(MessageId(message_id))
        found[MessageId(message_id)] = added if before is None else before + added
    return found


def read_notes(conversation_id: ConversationId, cut_version: int) -> dict[MessageId, Injected]:
    """The note under that cut, by the message that it follows."""
    rows = execute(
        "SELECT message_id, id, text FROM injection WHERE conversation = ? AND cut_version = ? AND kind = ?",
        *(conversation_id, cut_version, NOTE),
    )
    return {MessageId(message_id): Injected((injection_id,), text) for message_id, injection_id, text in rows}


def read_texts(conversation_id: ConversationId, ids: Collection[int]) -> dict[int, str]:
    """The texts of these injections, also of ended ones, by id. Those that were removed are missing."""
    found = execute(
        "SELECT id, text FROM injection WHERE conversation = ? AND id IN (SELECT value FROM json_each(?))",
        *(conversation_id, json.dumps(sorted(ids))),
    )
    return dict(found.fetchall())


def end_recall(conversation_id: ConversationId) -> None:
    """From now on no context is loaded with what was recalled. It stays stored, because requests held it."""
    execute("UPDATE injection SET is_ended = 1 WHERE conversation = ? AND kind = 'recall'", conversation_id)


def forget_recall(conversation_id: ConversationId) -> None:
    """Removes what was recalled. The requests that held it cannot be shown any more."""
    execute("DELETE FROM injection WHERE conversation = ? AND kind = 'recall'", conversation_id)
