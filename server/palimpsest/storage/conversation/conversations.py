"""Conversations without their messages, and which conversation's rows hold which message."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import NotFound
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage.sql import execute


def create(conversation_id: ConversationId, title: str, model: str, now: str) -> ConversationRecord:
    """A new conversation. An empty title is filled by the first message."""
    execute(_CREATE, conversation_id, title, bool(title), model, 0, None, now, now, None, 0)
    return get(conversation_id)


_CREATE: Final = """INSERT INTO conversation (
        id, title, has_user_title, model, next_message_id, head_digest, change_seq, created_at, updated_at, parent,
        fork_message_id, is_archived, draft
    ) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, 0, '')"""


def fork(
    conversation_id: ConversationId, parent: ConversationRecord, at: MessageId, title: str, now: str
) -> ConversationRecord:
    """A conversation that has the parent's messages below `at` and goes on with its own, chained to them."""
    owner = owner_of(parent.id, MessageId(at - 1))
    last = execute("SELECT digest FROM message WHERE conversation = ? AND message_id = ?", owner, at - 1).fetchone()
    digest = None if last is None else last[0]
    execute(_CREATE, conversation_id, title, bool(title), parent.model, at, digest, now, now, parent.id, at)
    return get(conversation_id)


class Switched(Exception):
    """A conversation has another model, or another layout, than what was decided for it was decided by."""


def require_same(record: ConversationRecord) -> None:
    """Raises Switched where what is to be stored was decided by another model or layout than the conversation has."""
    now = get(record.id)
    if (now.model, now.layout) != (record.model, record.layout):
        raise Switched


def lineage(conversation_id: ConversationId, start: int = 0, end: int | None = None) -> list[tuple[str, int, int]]:
    """Which conversation's rows hold the messages [start, end): (conversation, first, after), oldest first.

    A conversation that is no fork holds all its own.
    """
    next_id, parent, fork_at = _place(conversation_id)
    owner, after = str(conversation_id), next_id if end is None else min(end, next_id)
    stretches: list[tuple[str, int, int]] = []
    while True:
        first = max(start, fork_at)
        if first < after:
            stretches.insert(0, (owner, first, after))
        after = min(after, fork_at)
        if parent is None or after <= start:
            return stretches
        owner = parent
        _, parent, fork_at = _place(owner)


def _place(conversation_id: str) -> tuple[int, str | None, int]:
    """The next message's id, the parent, and the first id that is its own. Raises NotFound."""
    found = execute("SELECT next_message_id, parent, fork_message_id FROM conversation WHERE id = ?", conversation_id)
    row: tuple[int, str | None, int] = found.fetchone() or raise_missing(conversation_id)
    return row


def owner_of(conversation_id: ConversationId, message_id: MessageId) -> str:
    """The conversation of the lineage whose row holds the message; the conversation itself when none does."""
    stretches = lineage(conversation_id, message_id, message_id + 1)
    return stretches[0][0] if stretches else conversation_id


def readers(owner: str, start: int, end: int) -> list[tuple[ConversationId, int, int]]:
    """Who reads the rows [start, end) that `owner` holds: itself first, then its forks and theirs, each with the part
    of them it has."""
    found = [(ConversationId(owner), start, end)]
    for parent, first, after in found:
        forks = execute(
            "SELECT id, fork_message_id FROM conversation WHERE parent = ? AND fork_message_id > ?", parent, first
        )
        found += [(ConversationId(each), first, min(after, fork_at)) for each, fork_at in forks]
    return found


def holds(conversation_id: ConversationId) -> bool:
    """Whether there is such a conversation."""
    return execute("SELECT 1 FROM conversation WHERE id = ?", conversation_id).fetchone() is not None


_RECORDS: Final = """SELECT id, title, model, next_message_id, change_seq, created_at, updated_at, parent,
    fork_message_id, is_archived, draft, layout FROM conversation"""


def find(conversation_id: ConversationId) -> ConversationRecord | None:
    row = execute(f"{_RECORDS} WHERE id = ?", conversation_id).fetchone()
    return None if row is None else _record(row)


def get(conversation_id: ConversationId) -> ConversationRecord:
    """Raises NotFound."""
    return find(conversation_id) or raise_missing(conversation_id)


def raise_missing(conversation_id: str) -> NoReturn:
    raise NotFound(
        f"There is no conversation {conversation_id!r} in this folder. List the conversations and choose one."
    )


def list_all() -> list[ConversationRecord]:
    """The last changed first."""
    return [_record(row) for row in execute(f"{_RECORDS} ORDER BY updated_at DESC, id")]


def rename(conversation_id: ConversationId, title: str, now: str) -> None:
    touch(conversation_id, now, title=title, has_user_title=True)


def retitle(conversation_id: ConversationId, title: str, now: str) -> None:
    """A title that came from a message, or none: then the next message gives one."""
    touch(conversation_id, now, title=title, has_user_title=False)


def set_archived(conversation_id: ConversationId, now: str, *, is_archived: bool) -> None:
    touch(conversation_id, now, is_archived=is_archived)


def set_layout(conversation_id: ConversationId, layout: str | None, now: str) -> None:
    touch(conversation_id, now, layout=layout)


def set_draft(conversation_id: ConversationId, draft: str, now: str) -> None:
    touch(conversation_id, now, draft=draft)


def set_model(conversation_id: ConversationId, model: str, now: str) -> None:
    touch(conversation_id, now, model=model)


def touch(conversation_id: ConversationId, now: str, **changes: object) -> None:
    """Changes the row, and tells those who follow that there is something new."""
    columns = "".join(f", {column} = ?" for column in changes)
    execute(
        f"UPDATE conversation SET change_seq = change_seq + 1, updated_at = ?{columns} WHERE id = ?",
        *(now, *changes.values(), conversation_id),
    )


def _record(row: tuple[Any, ...]) -> ConversationRecord:
    """Of a row of `_RECORDS`."""
    owner, title, model, n_messages, seq, created_at, updated_at, parent, fork_at, is_archived, draft, layout = row
    return ConversationRecord(
        ConversationId(owner),
        title,
        model,
        n_messages,
        seq,
        created_at,
        updated_at,
        None if parent is None else ConversationId(parent),
        MessageId(fork_at),
        bool(is_archived),
        draft,
        layout,
    )
