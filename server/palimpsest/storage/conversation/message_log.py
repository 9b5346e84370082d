"""The messages of a conversation: appending, reading and counting them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.conversation.chain import (
    StoredMessage,
    content_digest,
    covered_author,
    digest_version,
    message_digest,
)
from palimpsest.domain.conversation.titles import title_of
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, Role, StepId, TurnId, canonical_json
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.storage import contents as contents_kept
from palimpsest.storage.conversation import conversations, hidden_ranges, passages, pending_work, search
from palimpsest.storage.sql import execute, execute_many


@dataclass(frozen=True, slots=True)
class Counts:
    """The raw token counts of messages that are being stored, by one tokenizer, in the order of the messages."""

    tokenizer: str
    tokens: Sequence[int]


def append_many(conversation_id: ConversationId, contents: Sequence[Content], now: str) -> None:
    """As `append`, for more messages than one transaction should index: pending work makes them findable piece by
    piece."""
    tail = _tail(conversation_id)
    messages = _chained(tail, cleaned(conversation_id, contents), now, None)
    execute_many(_APPEND, (_columns(each, own, None) for each, own in messages))
    refer(conversation_id, ((each.id, each.content) for each, _ in messages))
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
    """Stores messages at the end of the conversation, chained to the last one, and returns them as they are stored: of
    a shared conversation they are cleaned. The ids have no gap. Raises NotFound."""
    tail = _tail(conversation_id)
    messages = _chained(tail, cleaned(conversation_id, contents), now, turn_id)
    added: list[passages.Added] = []
    for message, own in messages:
        row_id = execute(_APPEND, *_columns(message, own, step_id)).lastrowid or 0
        contents_kept.refer_message(row_id, message.content)
        search.add(row_id, message.content)
        added.append(passages.Added(row_id, message.id, now, message.content))
    if counts is not None:
        counted = [(each.row_id, counts.tokenizer, counts.tokens[offset]) for offset, each in enumerate(added)]
        execute_many("INSERT INTO token_count (message, tokenizer, tokens) VALUES (?, ?, ?)", counted)
    passages.add(conversation_id, added)
    _extend(tail, messages, now)
    return [message for message, _ in messages]


def refer(conversation_id: ConversationId, messages: Iterable[tuple[MessageId, Content]]) -> None:
    """Notes which pictures rows that were just written refer to."""
    for message_id, content in messages:
        if content.images:
            found = execute(
                "SELECT id FROM message WHERE conversation = ? AND message_id = ?", conversation_id, message_id
            )
            for (row_id,) in found.fetchall():
                contents_kept.refer_message(row_id, content)


def cleaner_of(conversation_id: ConversationId) -> Cleaner:
    """What cleans the messages of the conversation; one that takes nothing out where it is not shared."""
    row = execute("SELECT root, home FROM shared_conversation WHERE conversation = ?", conversation_id).fetchone()
    return Cleaner.idle() if row is None else Cleaner(*row)


def cleaned(conversation_id: ConversationId, contents: Sequence[Content]) -> list[Content]:
    """Messages as they will be stored."""
    cleaner = cleaner_of(conversation_id)
    return [cleaner.content(content) for content in contents]


@dataclass(frozen=True, slots=True)
class _Tail:
    """The end of a conversation, behind which messages are appended."""

    conversation_id: ConversationId
    title: str
    next_id: int
    digest: Digest | None
    """The digest of the last message; None when there is none."""
    author: str | None
    """As whom the conversation is shared; None when it is not."""


def _tail(conversation_id: ConversationId) -> _Tail:
    """Raises NotFound."""
    found = execute(
        """SELECT title, next_message_id, head_digest,
            (SELECT member FROM shared_conversation WHERE shared_conversation.conversation = conversation.id)
        FROM conversation WHERE id = ?""",
        conversation_id,
    )
    return _Tail(conversation_id, *(found.fetchone() or conversations.raise_missing(conversation_id)))


def _chained(
    tail: _Tail, contents: Sequence[Content], now: str, turn_id: TurnId | None
) -> list[tuple[StoredMessage, Digest]]:
    """The contents as messages behind the last one, each with the digest of its content."""
    predecessor = tail.digest
    messages: list[tuple[StoredMessage, Digest]] = []
    for message_id, content in enumerate(contents, MessageId(tail.next_id)):
        own = content_digest(content)
        predecessor = message_digest(
            predecessor, tail.conversation_id, MessageId(message_id), now, turn_id, own, tail.author
        )
        stored = StoredMessage(
            tail.conversation_id, MessageId(message_id), content, now, turn_id, predecessor, author=tail.author
        )
        messages.append((stored, own))
    return messages


_APPEND: Final = """INSERT INTO message
    (conversation, message_id, created_at, turn, step, digest_version, content_digest, digest, content, author)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


def _columns(message: StoredMessage, own: Digest, step_id: StepId | None) -> tuple[object, ...]:
    """The columns of a row, in the order of `_APPEND`."""
    return (
        *(message.conversation_id, message.id, message.created_at, message.turn_id, step_id),
        *(digest_version(message.author), own, message.digest),
        *(canonical_json(message.content.to_json()), message.author),
    )


def _extend(tail: _Tail, messages: Sequence[tuple[StoredMessage, Digest]], now: str) -> None:
    """Moves the end of the conversation behind the messages. The first text of the user fills an empty title."""
    first = next((message.content.text for message, _ in messages if message.content.role is Role.USER), "")
    conversations.touch(
        tail.conversation_id,
        now,
        next_message_id=tail.next_id + len(messages),
        head_digest=messages[-1][0].digest if messages else tail.digest,
        title=tail.title or title_of(first),
    )


_MESSAGES: Final = """SELECT conversation, message_id, created_at, turn, digest, content, content_digest, purged_role,
    digest_version, author FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ?"""


def read(conversation_id: ConversationId, start: int, end: int | None = None) -> list[StoredMessage]:
    """The messages with `start <= id < end`, oldest first; without `end`, to the last one. Raises NotFound."""
    found: list[StoredMessage] = []
    for owner, first, after in conversations.lineage(conversation_id, start, end):
        going = pending_work.being_purged(owner)
        found += [_message(row, going) for row in execute(f"{_MESSAGES} ORDER BY message_id", owner, first, after)]
    return found


def read_visible(conversation_id: ConversationId, start: int, end: int | None = None) -> list[StoredMessage]:
    """As `read`, without the messages that were rolled back or purged."""
    ranges = hidden_ranges.read(conversation_id)
    found = read(conversation_id, start, end)
    return [message for message in found if not any(each.start <= message.id < each.end for each in ranges)]


def read_user_messages(
    conversation_id: ConversationId, start: int, end: int | None = None, among: Sequence[MessageId] | None = None
) -> list[StoredMessage]:
    """The visible messages of the user in [start, end), oldest first. `among`: only these ids, some hundred at most."""
    ranges = hidden_ranges.read(conversation_id)
    found: list[StoredMessage] = []
    for owner, first, after in conversations.lineage(conversation_id, start, end):
        rows = (
            execute(f"{_OF_USER} {_IN_ORDER}", owner, first, after)
            if among is None
            else execute(f"{_OF_USER} AND {_AMONG} {_IN_ORDER}", owner, first, after, json.dumps(among))
        )
        found += [_message(row, ()) for row in rows]
    return [
        message
        for message in found
        if message.content.role is Role.USER and not any(each.start <= message.id < each.end for each in ranges)
    ]


def newest_of_user(conversation_id: ConversationId) -> MessageId | None:
    """The newest visible message of the user; None where there is none."""
    end = conversations.get(conversation_id).n_messages
    while end > 0:
        start = max(0, end - _LOOKED_AT)
        if found := read_user_messages(conversation_id, start, end):
            return found[-1].id
        end = start
    return None


def oldest_of_user(conversation_id: ConversationId) -> StoredMessage | None:
    """The oldest visible message of the user; None where there is none."""
    for start in range(0, conversations.get(conversation_id).n_messages, _LOOKED_AT):
        if found := read_user_messages(conversation_id, start, start + _LOOKED_AT):
            return found[0]
    return None


_LOOKED_AT: Final = 100
"""Messages that are searched at once for the user's newest or oldest one."""

MAY_BE_OF_USER: Final = """INSTR(content, '"role":"user"')"""
"""A quick look at the canonical JSON, which may find other messages that quote such a role."""

_OF_USER: Final = f"""{_MESSAGES} AND {MAY_BE_OF_USER} AND NOT EXISTS (
    SELECT 1 FROM pending_work WHERE kind = '{pending_work.Kind.PURGE.value}' AND subject = message.conversation
    AND first <= message.message_id AND message.message_id < after)"""
_AMONG: Final = "message_id IN (SELECT value FROM json_each(?))"
_IN_ORDER: Final = "ORDER BY message_id"


def read_counts(conversation_id: ConversationId, tokenizer: str, start: int) -> dict[MessageId, int]:
    """The raw tokens of the messages from `start` on that were counted with `tokenizer`."""
    counts: dict[MessageId, int] = {}
    for owner, first, after in conversations.lineage(conversation_id, start):
        found = execute(
            """SELECT message_id, tokens FROM message JOIN token_count ON token_count.message = message.id
            WHERE conversation = ? AND message_id >= ? AND message_id < ? AND tokenizer = ?""",
            *(owner, first, after, tokenizer),
        )
        counts |= {MessageId(message_id): tokens for message_id, tokens in found}
    return counts


def write_counts(conversation_id: ConversationId, tokenizer: str, counts: dict[MessageId, int]) -> None:
    """Stores counts of messages that have none by this tokenizer. `counts` must not be empty."""
    for owner, first, after in conversations.lineage(conversation_id, min(counts), max(counts) + 1):
        found = execute(
            "SELECT id, message_id FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ?",
            *(owner, first, after),
        )
        counted = [(row_id, tokenizer, counts[message_id]) for row_id, message_id in found if message_id in counts]
        execute_many("INSERT OR IGNORE INTO token_count (message, tokenizer, tokens) VALUES (?, ?, ?)", counted)


def purged_role(role: str | None, content: str | None) -> Role | None:
    """The role of a message that is or is being purged, by its columns; None for an imported one that lost its role."""
    if role is not None:
        return Role(role)
    return None if content is None else Content.from_json(json.loads(content)).role


def stand_in(owner: str, message_id: int) -> Content | None:
    """What is read in place of a message that was shared without its text; None for any other."""
    row = execute(
        "SELECT content FROM stand_in WHERE conversation = ? AND message_id = ?", owner, message_id
    ).fetchone()
    return None if row is None else Content.from_json(json.loads(row[0]))


def write_stand_in(conversation_id: ConversationId, message_id: MessageId, content: Content) -> None:
    execute(
        "INSERT OR REPLACE INTO stand_in (conversation, message_id, content) VALUES (?, ?, ?)",
        *(conversation_id, message_id, canonical_json(content.to_json())),
    )


def _message(row: tuple[Any, ...], going: Sequence[tuple[int, int]]) -> StoredMessage:
    """The message of a row of `_MESSAGES`. `going`: ranges of ids whose content is being purged: nobody may read it."""
    owner, message_id, created_at, turn, digest, text, own, role, version, author = row
    purged: Digest | None = None
    if text is None or any(first <= message_id < after for first, after in going):
        # An imported tombstone may have lost its role; as a user's, it begins an exchange as every purged range does.
        content = stand_in(owner, message_id) or Content(purged_role(role, text) or Role.USER, ())
        purged = Digest(own)
    else:
        content = Content.from_json(json.loads(text))
    turn_id = None if turn is None else TurnId(turn)
    return StoredMessage(
        *(ConversationId(owner), MessageId(message_id), content, created_at, turn_id, Digest(digest), purged),
        author=covered_author(version, author),
    )
