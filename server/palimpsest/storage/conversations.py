"""Conversations and their messages: append, read, count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

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
from palimpsest.storage.tables import Conversation, Message, TokenCount, rows


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """A conversation as it stands."""

    id: ConversationId
    title: str
    model: str
    n_messages: int
    change_seq: int
    created_at: str
    updated_at: str


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
    )
    return _record(row)


def find(conversation_id: ConversationId) -> ConversationRecord | None:
    row = Conversation.get_or_none(Conversation.id == conversation_id)
    return None if row is None else _record(row)


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


def set_model(conversation_id: ConversationId, model: str, now: str) -> None:
    _touch(conversation_id, now, model=model)


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
    predecessor = None if row.head_digest is None else Digest(row.head_digest)
    stored: list[StoredMessage] = []
    for offset, content in enumerate(contents):
        message_id = MessageId(row.next_message_id + offset)
        own = content_digest(content)
        predecessor = message_digest(predecessor, conversation_id, message_id, now, turn_id, own)
        message = Message.create(
            conversation=conversation_id,
            message_id=message_id,
            created_at=now,
            turn=turn_id,
            step=step_id,
            digest_version=DIGEST_VERSION,
            content_digest=own,
            digest=predecessor,
            content=canonical_json(content.to_json()),
        )
        if counts is not None:
            TokenCount.create(message=message.id, tokenizer=counts.tokenizer, tokens=counts.tokens[offset])
        stored.append(StoredMessage(conversation_id, message_id, content, now, turn_id, predecessor))
    title = row.title
    if not title:
        first = next((content.text for content in contents if content.role is Role.USER), "")
        title = title_of(first)
    _touch(
        conversation_id,
        now,
        next_message_id=row.next_message_id + len(contents),
        head_digest=predecessor,
        title=title,
    )
    return stored


def read_messages(conversation_id: ConversationId, start: int, end: int | None = None) -> list[StoredMessage]:
    """Messages with `start <= id < end`, oldest first; `end` None means to the last."""
    query = Message.select().where(Message.conversation == conversation_id, Message.message_id >= start)
    if end is not None:
        query = query.where(Message.message_id < end)
    return [_message(row) for row in query.order_by(Message.message_id)]


def read_counts(conversation_id: ConversationId, tokenizer: str, start: int) -> dict[MessageId, int]:
    """Raw tokens of the messages from `start` on that were counted with `tokenizer`."""
    query = (
        TokenCount.select(Message.message_id, TokenCount.tokens)
        .join(Message, on=(Message.id == TokenCount.message))
        .where(Message.conversation == conversation_id, Message.message_id >= start, TokenCount.tokenizer == tokenizer)
    )
    return {MessageId(message_id): tokens for message_id, tokens in rows(query)}


def write_counts(conversation_id: ConversationId, tokenizer: str, counts: dict[MessageId, int]) -> None:
    """Counts of messages that had none by this tokenizer."""
    query = Message.select(Message.id, Message.message_id).where(
        Message.conversation == conversation_id, Message.message_id.in_(list(counts))
    )
    for row_id, message_id in rows(query):
        TokenCount.insert(message=row_id, tokenizer=tokenizer, tokens=counts[message_id]).on_conflict_ignore().execute()


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
    )


def _message(row: Message) -> StoredMessage:
    content = Content.from_json(json.loads(row.content or ""))
    return StoredMessage(
        ConversationId(row.conversation),
        MessageId(row.message_id),
        content,
        row.created_at,
        None if row.turn is None else TurnId(row.turn),
        Digest(row.digest),
    )
