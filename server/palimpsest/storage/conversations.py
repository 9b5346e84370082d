"""Conversations and their messages: append, read, count."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from peewee import chunked, fn

from palimpsest.domain.chain import DIGEST_VERSION, StoredMessage, content_digest, message_digest
from palimpsest.domain.errors import NotFound
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    Digest,
    MessageId,
    Role,
    StepId,
    TurnId,
    canonical_json,
)
from palimpsest.domain.turns import title_of
from palimpsest.storage import passages, pending_work, search
from palimpsest.storage.tables import Conversation, Hidden, Message, Summary, TokenCount, execute, rows

_ROWS_AT_ONCE: Final = 500
"""Rows of one INSERT: SQLite takes 32,766 values in a statement."""


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """A conversation as it stands."""

    id: ConversationId
    title: str
    model: str
    n_messages: int
    """The next message's id: messages that were rolled back keep theirs."""
    change_seq: int
    created_at: str
    updated_at: str
    parent: ConversationId | None
    """The conversation it was forked from."""
    fork_at: MessageId
    """The first id that is its own; 0 when it is no fork."""
    is_archived: bool
    draft: str
    """What the user had typed and not sent, or rolled back."""
    layout: str | None = None
    """How its requests are laid out; None: as the settings say."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Raw token counts of messages that are being stored, by one tokenizer, in their order."""

    tokenizer: str
    tokens: Sequence[int]


def create(conversation_id: ConversationId, title: str, model: str, now: str) -> ConversationRecord:
    """A new conversation. An empty title is filled by the first message."""
    row = Conversation.create(
        id=conversation_id,
        title=title,
        has_user_title=bool(title),
        model=model,
        next_message_id=0,
        head_digest=None,
        change_seq=0,
        created_at=now,
        updated_at=now,
        parent=None,
        fork_message_id=0,
        is_archived=False,
        draft="",
    )
    return _record(row)


def fork(
    conversation_id: ConversationId, parent: ConversationRecord, at: MessageId, title: str, now: str
) -> ConversationRecord:
    """A conversation that has the parent's messages below `at` and goes on with its own, chained to them."""
    last = Message.get_or_none(
        Message.conversation == owner_of(parent.id, MessageId(at - 1)), Message.message_id == at - 1
    )
    row = Conversation.create(
        id=conversation_id,
        title=title,
        has_user_title=bool(title),
        model=parent.model,
        next_message_id=at,
        head_digest=None if last is None else last.digest,
        change_seq=0,
        created_at=now,
        updated_at=now,
        parent=parent.id,
        fork_message_id=at,
        is_archived=False,
        draft="",
    )
    return _record(row)


def lineage(conversation_id: ConversationId, start: int = 0, end: int | None = None) -> list[tuple[str, int, int]]:
    """Which conversation's rows hold the messages [start, end): (conversation, first, after), oldest first.

    A conversation that is no fork holds all its own.
    """
    row = Conversation.get_by_id(conversation_id)
    after = row.next_message_id if end is None else min(end, row.next_message_id)
    stretches: list[tuple[str, int, int]] = []
    while True:
        first = max(start, row.fork_message_id)
        if first < after:
            stretches.insert(0, (row.id, first, after))
        after = min(after, row.fork_message_id)
        if row.parent is None or after <= start:
            return stretches
        row = Conversation.get_by_id(row.parent)


def owner_of(conversation_id: ConversationId, message_id: MessageId) -> str:
    """The conversation of the lineage whose row holds the message; the conversation itself when none does."""
    stretches = lineage(conversation_id, message_id, message_id + 1)
    return stretches[0][0] if stretches else conversation_id


def readers(owner: str, start: int, end: int) -> list[tuple[ConversationId, int, int]]:
    """Who reads the rows [start, end) that `owner` holds: itself first, then its forks and theirs, each with the part
    of them it has."""
    found = [(ConversationId(owner), start, end)]
    for parent, first, after in found:
        forks = Conversation.select().where(Conversation.parent == parent, Conversation.fork_message_id > first)
        found += [(ConversationId(row.id), first, min(after, row.fork_message_id)) for row in forks]
    return found


def holds(conversation_id: ConversationId) -> bool:
    """Whether there is such a conversation. In plain SQL, as every request about one begins with it."""
    return any(True for _ in execute("SELECT 1 FROM conversation WHERE id = ?", conversation_id))


def find(conversation_id: ConversationId) -> ConversationRecord | None:
    """In plain SQL, because most requests begin with it: peewee's query takes five times as long."""
    found = execute(
        "SELECT id, title, model, next_message_id, change_seq, created_at, updated_at, parent, fork_message_id, "
        "is_archived, draft, layout FROM conversation WHERE id = ?",
        conversation_id,
    )
    for owner, title, model, n_messages, seq, created_at, updated_at, parent, fork_at, is_archived, *rest in found:
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
            *rest,
        )
    return None


def get(conversation_id: ConversationId) -> ConversationRecord:
    """Raises NotFound."""
    record = find(conversation_id)
    if record is None:
        raise NotFound(
            f"There is no conversation {conversation_id!r} in this folder. List the conversations and choose one."
        )
    return record


def list_all() -> list[ConversationRecord]:
    """The last changed first."""
    return [_record(row) for row in Conversation.select().order_by(Conversation.updated_at.desc(), Conversation.id)]


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
    newest = Summary.select(fn.MAX(Summary.id)).where(Summary.conversation == conversation_id).scalar()
    Hidden.create(
        conversation=conversation_id,
        start_message_id=start,
        end_message_id=end,
        last_summary=newest or 0,
        created_at=now,
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


def hidden_ranges(conversation_id: ConversationId) -> list[HiddenRange]:
    """By their start; they may overlap. What was purged is hidden too."""
    query = Hidden.select().where(Hidden.conversation == conversation_id).order_by(Hidden.start_message_id)
    return [
        HiddenRange(MessageId(row.start_message_id), MessageId(row.end_message_id), row.last_summary) for row in query
    ]


def set_model(conversation_id: ConversationId, model: str, now: str) -> None:
    _touch(conversation_id, now, model=model)


def append_many(conversation_id: ConversationId, contents: Sequence[Content], now: str) -> None:
    """As `append`, for more messages than a transaction should index: they are made findable piece by piece."""
    row = Conversation.get_by_id(conversation_id)
    messages = _chained(row, contents, now, None, None)
    for batch in chunked(messages, _ROWS_AT_ONCE):
        Message.insert_many(batch).execute()
    pending_work.index(conversation_id, row.next_message_id + len(messages))
    _extend(row, contents, messages, now)


def append(
    conversation_id: ConversationId,
    contents: Sequence[Content],
    now: str,
    *,
    turn_id: TurnId | None = None,
    step_id: StepId | None = None,
    counts: Counts | None = None,
) -> list[StoredMessage]:
    """Messages at the end of the conversation, chained to what is there. The ids are gapless (invariant 1)."""
    row = Conversation.get_by_id(conversation_id)
    stored: list[StoredMessage] = []
    added: list[passages.Added] = []
    messages = _chained(row, contents, now, turn_id, step_id)
    for offset, (content, columns) in enumerate(zip(contents, messages, strict=True)):
        message = Message.create(**columns)
        search.add(message.id, content)
        message_id = MessageId(message.message_id)
        added.append(passages.Added(message.id, message_id, now, content))
        if counts is not None:
            TokenCount.create(message=message.id, tokenizer=counts.tokenizer, tokens=counts.tokens[offset])
        digest = Digest(message.digest)
        stored.append(StoredMessage(conversation_id, message_id, content, now, turn_id, digest))
    passages.add(conversation_id, added)
    _extend(row, contents, messages, now)
    return stored


def _chained(
    row: Conversation, contents: Sequence[Content], now: str, turn_id: TurnId | None, step_id: StepId | None
) -> list[dict[str, Any]]:
    """The columns of messages behind the conversation's last one."""
    predecessor = None if row.head_digest is None else Digest(row.head_digest)
    messages: list[dict[str, Any]] = []
    for offset, content in enumerate(contents):
        message_id = MessageId(row.next_message_id + offset)
        own = content_digest(content)
        predecessor = message_digest(predecessor, ConversationId(row.id), message_id, now, turn_id, own)
        messages.append(
            {
                "conversation": row.id,
                "message_id": message_id,
                "created_at": now,
                "turn": turn_id,
                "step": step_id,
                "digest_version": DIGEST_VERSION,
                "content_digest": own,
                "digest": predecessor,
                "content": canonical_json(content.to_json()),
            }
        )
    return messages


def _extend(row: Conversation, contents: Sequence[Content], messages: Sequence[Mapping[str, Any]], now: str) -> None:
    """The conversation ends behind the messages, and has a title when its user has said something."""
    first = next((content.text for content in contents if content.role is Role.USER), "")
    _touch(
        ConversationId(row.id),
        now,
        next_message_id=row.next_message_id + len(messages),
        head_digest=messages[-1]["digest"] if messages else row.head_digest,
        title=row.title or title_of(first),
    )


def read_messages(conversation_id: ConversationId, start: int, end: int | None = None) -> list[StoredMessage]:
    """Messages with `start <= id < end`, oldest first; `end` None means to the last."""
    found: list[StoredMessage] = []
    for owner, first, after in lineage(conversation_id, start, end):
        query = Message.select().where(
            Message.conversation == owner, Message.message_id >= first, Message.message_id < after
        )
        going = pending_work.being_purged(owner)
        found += [_message(row, going) for row in query.order_by(Message.message_id)]
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
        # A quick look at the canonical JSON; what only speaks of such a role is sorted out below.
        query = Message.select().where(
            Message.conversation == owner,
            Message.message_id >= first,
            Message.message_id < after,
            Message.content.contains('"role":"user"'),
            *(() if among is None else (Message.message_id.in_(among),)),
        )
        going = pending_work.being_purged(owner)
        found += [_message(row, going) for row in query.order_by(Message.message_id)]
    return [
        message
        for message in found
        if message.content.role is Role.USER
        and message.purged is None
        and not any(each.start <= message.id < each.end for each in ranges)
    ]


def read_counts(conversation_id: ConversationId, tokenizer: str, start: int) -> dict[MessageId, int]:
    """Raw tokens of the messages from `start` on that were counted with `tokenizer`."""
    counts: dict[MessageId, int] = {}
    for owner, first, after in lineage(conversation_id, start):
        query = (
            TokenCount.select(Message.message_id, TokenCount.tokens)
            .join(Message, on=(Message.id == TokenCount.message))
            .where(
                Message.conversation == owner,
                Message.message_id >= first,
                Message.message_id < after,
                TokenCount.tokenizer == tokenizer,
            )
        )
        counts |= {MessageId(message_id): tokens for message_id, tokens in rows(query)}
    return counts


def write_counts(conversation_id: ConversationId, tokenizer: str, counts: dict[MessageId, int]) -> None:
    """Counts of messages that had none by this tokenizer."""
    for owner, first, after in lineage(conversation_id, min(counts), max(counts) + 1):
        query = Message.select(Message.id, Message.message_id).where(
            Message.conversation == owner, Message.message_id >= first, Message.message_id < after
        )
        for row_id, message_id in [row for row in rows(query) if row[1] in counts]:
            TokenCount.insert(
                message=row_id, tokenizer=tokenizer, tokens=counts[message_id]
            ).on_conflict_ignore().execute()


def _touch(conversation_id: ConversationId, now: str, **changes: object) -> None:
    """Changes the row, and tells those who follow that there is something new."""
    Conversation.update(change_seq=Conversation.change_seq + 1, updated_at=now, **changes).where(
        Conversation.id == conversation_id
    ).execute()


def _record(row: Conversation) -> ConversationRecord:
    return ConversationRecord(
        ConversationId(row.id),
        row.title,
        row.model,
        row.next_message_id,
        row.change_seq,
        row.created_at,
        row.updated_at,
        None if row.parent is None else ConversationId(row.parent),
        MessageId(row.fork_message_id),
        bool(row.is_archived),
        row.draft,
        row.layout,
    )


def purged_role(row: Message) -> Role | None:
    """Of a message that is or is being purged; None for an imported one that may have lost it."""
    if row.purged_role is not None:
        return Role(row.purged_role)
    return None if row.content is None else Content.from_json(json.loads(row.content)).role


def _message(row: Message, going: Sequence[tuple[int, int]]) -> StoredMessage:
    """`going`: ids whose content is being purged, so that nobody reads it any more."""
    purged: Digest | None = None
    if row.content is None or any(first <= row.message_id < after for first, after in going):
        # An imported tombstone may have lost its role; as a user's, it begins an exchange as every purged range does.
        content, purged = Content(purged_role(row) or Role.USER, ()), Digest(row.content_digest)
    else:
        content = Content.from_json(json.loads(row.content))
    return StoredMessage(
        ConversationId(row.conversation),
        MessageId(row.message_id),
        content,
        row.created_at,
        None if row.turn is None else TurnId(row.turn),
        Digest(row.digest),
        purged,
    )
