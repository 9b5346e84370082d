"""The two-level digest chain of a conversation.

    content digest = H(canonical JSON of the content)
    digest         = H(canonical JSON of [predecessor's digest, header, content digest])

With two levels, a purge can leave the digests as a tombstone, and the chain is still verifiable without the text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, TurnId, canonical_json

_VERSION: Final = 1
_AUTHORED_VERSION: Final = 2


def digest_version(author: str | None) -> int:
    """The version of a digest: 2 when it covers the author as well, as of messages that are said in a shared
    conversation."""
    return _VERSION if author is None else _AUTHORED_VERSION


def covered_author(version: int, author: str | None) -> str | None:
    """The author that a digest of the version covers. Version 1 covers none, although a hub may name one. Raises
    ValueError for another version, and for version 2 without an author."""
    if version not in (_VERSION, _AUTHORED_VERSION) or (version == _AUTHORED_VERSION and author is None):
        raise ValueError("no such version of a digest")
    return author if version == _AUTHORED_VERSION else None


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message in the store. It never changes, except that a purge leaves a tombstone."""

    conversation_id: ConversationId
    id: MessageId
    content: Content
    created_at: str
    """UTC, ISO 8601."""
    turn_id: TurnId | None
    digest: Digest
    purged: Digest | None = None
    """For a tombstone, the digest of the content that was purged; its own content has no parts. Else None."""
    author: str | None = None
    """The member of a hub whom the digest covers; None for version 1."""


def _hash(value: object) -> Digest:
    return Digest(hashlib.sha256(canonical_json(value).encode()).hexdigest())


def content_digest(content: Content) -> Digest:
    return _hash(content.to_json())


def message_digest(
    predecessor: Digest | None,
    conversation_id: ConversationId,
    message_id: MessageId,
    created_at: str,
    turn_id: TurnId | None,
    content: Digest,
    author: str | None = None,
) -> Digest:
    """The digest of a message. `predecessor` is None for the first message of a conversation that is no fork. With an
    `author`, the id of a member of a hub, it is one of version 2; a hub derives the same (`hub.message_digest`)."""
    header: dict[str, object] = {
        "version": digest_version(author),
        "conversation": conversation_id,
        "id": message_id,
        "created_at": created_at,
        "turn": turn_id,
    }
    if author is not None:
        header["author"] = author
    return _hash([predecessor, header, content])


def first_broken(messages: Iterable[StoredMessage]) -> MessageId | None:
    """The first message whose digest or id does not follow from its predecessors; None when the chain is intact.

    `messages` are all messages of one conversation, oldest first. Tombstones count with the digest they kept.
    """
    predecessor: Digest | None = None
    for expected_id, message in enumerate(messages):
        derived = message_digest(
            predecessor,
            message.conversation_id,
            message.id,
            message.created_at,
            message.turn_id,
            message.purged or content_digest(message.content),
            message.author,
        )
        if message.id != expected_id or derived != message.digest:
            return message.id
        predecessor = message.digest
    return None
