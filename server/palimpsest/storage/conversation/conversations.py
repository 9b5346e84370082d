"""Conversations without their messages, and the lineage of forks: which conversation's rows hold which message."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from palimpsest.domain.conversation.record import ConversationRecord, SharedMark
from palimpsest.domain.errors import NotFound
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage.sql import execute


def create(conversation_id: ConversationId, title: str, model: str, now: str) -> ConversationRecord:
    """Makes a conversation. The first message of the user fills an empty title."""
    execute(_CREATE, conversation_id, title, bool(title), model, 0, None, now, now, None, 0)
    return get(conversation_id)


_CREATE: Final = """INSERT INTO conversation (
        id, title, has_user_title, model, next_message_id, head_digest, change_seq, created_at, updated_at, parent,
        fork_message_id, is_archived, draft
    ) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, 0, '')"""


def fork(
    conversation_id: ConversationId, parent: ConversationRecord, at: MessageId, title: str, now: str
) -> ConversationRecord:
    """Makes a conversation that has the parent's messages below `at` and goes on with its own, chained to them."""
    owner = owner_of(parent.id, MessageId(at - 1))
    last = execute("SELECT digest FROM message WHERE conversation = ? AND message_id = ?", owner, at - 1).fetchone()
    digest = None if last is None else last[0]
    execute(_CREATE, conversation_id, title, bool(title), parent.model, at, digest, now, now, parent.id, at)
    return get(conversation_id)


class Switched(Exception):
    """The conversation got another model, or another layout, after a decision for it was made."""


def require_same(record: ConversationRecord) -> None:
    """Raises Switched when the conversation has another model or layout now than `record` says."""
    now = get(record.id)
    if (now.model, now.layout) != (record.model, record.layout):
        raise Switched


def lineage(conversation_id: ConversationId, start: int = 0, end: int | None = None) -> list[tuple[str, int, int]]:
    """The conversations whose rows hold the messages [start, end): (conversation, first, after), oldest first.

    A conversation that is no fork holds all of its messages. Raises NotFound.
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
    """The conversations that read the rows [start, end) of `owner`: itself first, then its forks and theirs, each with
    the part of the range that it has."""
    found = [(ConversationId(owner), start, end)]
    for parent, first, after in found:
        forks = execute(
            "SELECT id, fork_message_id FROM conversation WHERE parent = ? AND fork_message_id > ?", parent, first
        )
        found += [(ConversationId(each), first, min(after, fork_at)) for each, fork_at in forks]
    return found


def holds(conversation_id: ConversationId) -> bool:
    """Whether there is a conversation with that id."""
    return execute("SELECT 1 FROM conversation WHERE id = ?", conversation_id).fetchone() is not None


_RECORDS: Final = """SELECT id, conversation.title, model, next_message_id, change_seq, created_at, updated_at, parent,
    fork_message_id, is_archived, draft, layout,
    shared_conversation.team, next_message_id > n_pushed,
    (SELECT team FROM former_sharing WHERE former_sharing.conversation = id)
    FROM conversation LEFT JOIN shared_conversation ON shared_conversation.conversation = id"""


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
    """All conversations, the last changed first."""
    return [_record(row) for row in execute(f"{_RECORDS} ORDER BY updated_at DESC, id")]


def rename(conversation_id: ConversationId, title: str, now: str) -> None:
    touch(conversation_id, now, title=title, has_user_title=True)


def retitle(conversation_id: ConversationId, title: str, now: str) -> None:
    """Sets a title that was made from a message; an empty one is filled by the next message of the user."""
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
    """Changes columns of the row, and its `change_seq`, by which other servers see the change."""
    columns = "".join(f", {column} = ?" for column in changes)
    execute(
        f"UPDATE conversation SET change_seq = change_seq + 1, updated_at = ?{columns} WHERE id = ?",
        *(now, *changes.values(), conversation_id),
    )


def _record(row: tuple[Any, ...]) -> ConversationRecord:
    """The record of a row of `_RECORDS`."""
    (owner, title, model, n_messages, seq, created_at, updated_at, parent, fork_at), more = row[:9], row[9:]
    is_archived, draft, layout, team, has_unsent, left_team = more
    mark = None if team is None and left_team is None else SharedMark(team or left_team, bool(has_unsent), team is None)
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
        mark,
    )
