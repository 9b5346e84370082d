"""Conversations and their messages: append, read, count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from palimpsest.domain.conversation.chain import DIGEST_VERSION, StoredMessage, content_digest, message_digest
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import NotFound
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, Role, StepId, TurnId, canonical_json
from palimpsest.domain.turns.states import title_of
from palimpsest.storage.conversation import passages, pending_work, search
from palimpsest.storage.tables import execute, execute_many


@dataclass(frozen=True, slots=True)
class Counts:
    """Raw token counts of messages that are being stored, by one tokenizer, in their order."""

    tokenizer: str
    tokens: Sequence[int]


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
    row: tuple[int, str | None, int] = found.fetchone() or _raise_missing(conversation_id)
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
    return find(conversation_id) or _raise_missing(conversation_id)


def _raise_missing(conversation_id: str) -> NoReturn:
    raise NotFound(
        f"There is no conversation {conversation_id!r} in this folder. List the conversations and choose one."
    )


def list_all() -> list[ConversationRecord]:
    """The last changed first."""
    return [_record(row) for row in execute(f"{_RECORDS} ORDER BY updated_at DESC, id")]


def rename(conversation_id: ConversationId, title: str, now: str) -> None:
    _touch(conversation_id, now, title=title, has_user_title=True)


def retitle(conversation_id: ConversationId, title: str, now: str) -> None:
    """A title that came from a message, or none: then the next message gives one."""
    _touch(conversation_id, now, title=title, has_user_title=False)


def set_archived(conversation_id: ConversationId, now: str, *, is_archived: bool) -> None:
    _touch(conversation_id, now, is_archived=is_archived)


def set_layout(conversation_id: ConversationId, layout: str | None, now: str) -> None:
    _touch(conversation_id, now, layout=layout)


def set_draft(conversation_id: ConversationId, draft: str, now: str) -> None:
    _touch(conversation_id, now, draft=draft)


def hide(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> None:
    """Hides the messages [start, end): they stay readable, their ids are never used again. What stands in the context
    for them is not looked at: `contexts.hide` does both."""
    mark_hidden(conversation_id, start, end, now)
    passages.refresh(conversation_id, start, end)


def mark_hidden(conversation_id: ConversationId, start: MessageId, end: MessageId, now: str) -> None:
    """As `hide`, for messages that are taken out of the indexes altogether."""
    execute(
        """INSERT INTO hidden (conversation, start_message_id, end_message_id, last_summary, created_at)
        VALUES (?, ?, ?, (SELECT COALESCE(MAX(id), 0) FROM summary WHERE conversation = ?), ?)""",
        *(conversation_id, start, end, conversation_id, now),
    )
    passages.refresh_beside(conversation_id, start, end)
    _touch(conversation_id, now)


@dataclass(frozen=True, slots=True)
class HiddenRange:
    """Messages [start, end) that were rolled back or purged."""

    start: MessageId
    end: MessageId
    last_summary: int
    """The newest summary then: it and older ones that overlap the range may speak of what is hidden."""


def last_hidden(conversation_id: ConversationId) -> int:
    """Which of the hidden ranges was hidden last; 0 when nothing was. Memory that knows another one is not in step."""
    ((newest,),) = execute("SELECT COALESCE(MAX(id), 0) FROM hidden WHERE conversation = ?", conversation_id)
    return int(newest)


def last_hidden_anywhere() -> int:
    """As `last_hidden`, of all conversations of the folder."""
    ((newest,),) = execute("SELECT COALESCE(MAX(id), 0) FROM hidden")
    return int(newest)


def hidden_ranges(conversation_id: ConversationId) -> list[HiddenRange]:
    """By their start; they may overlap. What was purged is hidden too."""
    found = execute(
        """SELECT start_message_id, end_message_id, last_summary FROM hidden
        WHERE conversation = ? ORDER BY start_message_id""",
        conversation_id,
    )
    return [HiddenRange(MessageId(start), MessageId(end), last_summary) for start, end, last_summary in found]


def set_model(conversation_id: ConversationId, model: str, now: str) -> None:
    _touch(conversation_id, now, model=model)


def append_many(conversation_id: ConversationId, contents: Sequence[Content], now: str) -> None:
    """As `append`, for more messages than a transaction should index: they are made findable piece by piece."""
    tail = _tail(conversation_id)
    messages = _chained(tail, contents, now, None)
    execute_many(_APPEND, (_columns(each, own, None) for each, own in messages))
    pending_work.index(conversation_id, tail.next_id + len(messages))
    _extend(tail, messages, now)


def append(
    conversation_id: ConversationId,
    contents: Sequence[Content],
    now: str,
    *,
    turn_id: TurnId | None = None,
    step_id: StepId | None = None,
    counts: Counts | None = None,
) -> list[StoredMessage]:
    """Messages at the end of the conversation, chained to what is there. The ids are gapless."""
    tail = _tail(conversation_id)
    messages = _chained(tail, contents, now, turn_id)
    added: list[passages.Added] = []
    for message, own in messages:
        row_id = execute(_APPEND, *_columns(message, own, step_id)).lastrowid or 0
        search.add(row_id, message.content)
        added.append(passages.Added(row_id, message.id, now, message.content))
    if counts is not None:
        counted = [(each.row_id, counts.tokenizer, counts.tokens[offset]) for offset, each in enumerate(added)]
        execute_many("INSERT INTO token_count (message, tokenizer, tokens) VALUES (?, ?, ?)", counted)
    passages.add(conversation_id, added)
    _extend(tail, messages, now)
    return [message for message, _ in messages]


@dataclass(frozen=True, slots=True)
class _Tail:
    """Where a conversation goes on."""

    conversation_id: ConversationId
    title: str
    next_id: int
    digest: Digest | None
    """The last message's; None when there is none."""


def _tail(conversation_id: ConversationId) -> _Tail:
    """Raises NotFound."""
    found = execute("SELECT title, next_message_id, head_digest FROM conversation WHERE id = ?", conversation_id)
    return _Tail(conversation_id, *(found.fetchone() or _raise_missing(conversation_id)))


def _chained(
    tail: _Tail, contents: Sequence[Content], now: str, turn_id: TurnId | None
) -> list[tuple[StoredMessage, Digest]]:
    """Messages behind the conversation's last one, each with the digest of its content."""
    predecessor = tail.digest
    messages: list[tuple[StoredMessage, Digest]] = []
    for message_id, content in enumerate(contents, MessageId(tail.next_id)):
        own = content_digest(content)
        predecessor = message_digest(predecessor, tail.conversation_id, MessageId(message_id), now, turn_id, own)
        stored = StoredMessage(tail.conversation_id, MessageId(message_id), content, now, turn_id, predecessor)
        messages.append((stored, own))
    return messages


_APPEND: Final = """INSERT INTO message
    (conversation, message_id, created_at, turn, step, digest_version, content_digest, digest, content)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""


def _columns(message: StoredMessage, own: Digest, step_id: StepId | None) -> tuple[object, ...]:
    """Of a row, as `_APPEND` wants them."""
    return (
        *(message.conversation_id, message.id, message.created_at, message.turn_id, step_id, DIGEST_VERSION),
        *(own, message.digest, canonical_json(message.content.to_json())),
    )


def _extend(tail: _Tail, messages: Sequence[tuple[StoredMessage, Digest]], now: str) -> None:
    """The conversation ends behind the messages, and has a title when its user has said something."""
    first = next((message.content.text for message, _ in messages if message.content.role is Role.USER), "")
    _touch(
        tail.conversation_id,
        now,
        next_message_id=tail.next_id + len(messages),
        head_digest=messages[-1][0].digest if messages else tail.digest,
        title=tail.title or title_of(first),
    )


_MESSAGES: Final = """SELECT conversation, message_id, created_at, turn, digest, content, content_digest, purged_role
    FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ?"""


def read_messages(conversation_id: ConversationId, start: int, end: int | None = None) -> list[StoredMessage]:
    """Messages with `start <= id < end`, oldest first; `end` None means to the last."""
    found: list[StoredMessage] = []
    for owner, first, after in lineage(conversation_id, start, end):
        going = pending_work.being_purged(owner)
        found += [_message(row, going) for row in execute(f"{_MESSAGES} ORDER BY message_id", owner, first, after)]
    return found


def read_visible(conversation_id: ConversationId, start: int, end: int | None = None) -> list[StoredMessage]:
    """As `read_messages`, without what was rolled back or purged."""
    ranges = hidden_ranges(conversation_id)
    found = read_messages(conversation_id, start, end)
    return [message for message in found if not any(each.start <= message.id < each.end for each in ranges)]


def read_user_messages(
    conversation_id: ConversationId, start: int, end: int | None = None, among: Sequence[MessageId] | None = None
) -> list[StoredMessage]:
    """The visible messages of the user in [start, end), oldest first. `among`: only those; at most some hundred."""
    ranges = hidden_ranges(conversation_id)
    found: list[StoredMessage] = []
    for owner, first, after in lineage(conversation_id, start, end):
        going = pending_work.being_purged(owner)
        rows = (
            execute(_OF_USER, owner, first, after)
            if among is None
            else execute(_OF_USER_AMONG, owner, first, after, json.dumps(among))
        )
        found += [_message(row, going) for row in rows]
    return [
        message
        for message in found
        if message.content.role is Role.USER
        and message.purged is None
        and not any(each.start <= message.id < each.end for each in ranges)
    ]


_OF_USER: Final = f"""{_MESSAGES} AND INSTR(content, '"role":"user"') ORDER BY message_id"""
"""A quick look at the canonical JSON: also what only speaks of such a role."""
_OF_USER_AMONG: Final = f"""{_MESSAGES} AND INSTR(content, '"role":"user"')
    AND message_id IN (SELECT value FROM json_each(?)) ORDER BY message_id"""


def read_counts(conversation_id: ConversationId, tokenizer: str, start: int) -> dict[MessageId, int]:
    """Raw tokens of the messages from `start` on that were counted with `tokenizer`."""
    counts: dict[MessageId, int] = {}
    for owner, first, after in lineage(conversation_id, start):
        found = execute(
            """SELECT message_id, tokens FROM message JOIN token_count ON token_count.message = message.id
            WHERE conversation = ? AND message_id >= ? AND message_id < ? AND tokenizer = ?""",
            *(owner, first, after, tokenizer),
        )
        counts |= {MessageId(message_id): tokens for message_id, tokens in found}
    return counts


def write_counts(conversation_id: ConversationId, tokenizer: str, counts: dict[MessageId, int]) -> None:
    """Counts of messages that had none by this tokenizer."""
    for owner, first, after in lineage(conversation_id, min(counts), max(counts) + 1):
        found = execute(
            "SELECT id, message_id FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ?",
            *(owner, first, after),
        )
        counted = [(row_id, tokenizer, counts[message_id]) for row_id, message_id in found if message_id in counts]
        execute_many("INSERT OR IGNORE INTO token_count (message, tokenizer, tokens) VALUES (?, ?, ?)", counted)


def _touch(conversation_id: ConversationId, now: str, **changes: object) -> None:
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


def purged_role(role: str | None, content: str | None) -> Role | None:
    """Of a message that is or is being purged, by its columns; None for an imported one that may have lost it."""
    if role is not None:
        return Role(role)
    return None if content is None else Content.from_json(json.loads(content)).role


def _message(row: tuple[Any, ...], going: Sequence[tuple[int, int]]) -> StoredMessage:
    """Of a row of `_MESSAGES`. `going`: ids whose content is being purged, so that nobody reads it any more."""
    owner, message_id, created_at, turn, digest, text, own, role = row
    purged: Digest | None = None
    if text is None or any(first <= message_id < after for first, after in going):
        # An imported tombstone may have lost its role; as a user's, it begins an exchange as every purged range does.
        content, purged = Content(purged_role(role, text) or Role.USER, ()), Digest(own)
    else:
        content = Content.from_json(json.loads(text))
    turn_id = None if turn is None else TurnId(turn)
    return StoredMessage(
        ConversationId(owner), MessageId(message_id), content, created_at, turn_id, Digest(digest), purged
    )
