"""Checks the digest chain of every conversation: computes it again from the stored messages."""

from __future__ import annotations

import json
from collections.abc import Iterator

from palimpsest.domain.conversation.chain import StoredMessage, content_digest, covered_author, first_broken
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, Role, TurnId
from palimpsest.storage.conversation import conversations
from palimpsest.storage.sql import execute
from palimpsest.wording import counted


def faults() -> list[str]:
    """The faults, as clauses that name conversations and messages by id; empty when every chain verifies."""
    lost = lineage_faults()
    found = [f"conversation {each} {what}" for each, what in lost.items()]
    listed = execute("SELECT id, next_message_id, head_digest FROM conversation ORDER BY id")
    for conversation_id, n_messages, head_digest in listed:
        if conversation_id not in lost:
            found += _of_conversation(ConversationId(conversation_id), n_messages, head_digest)
    strays = execute(
        """SELECT conversation, count(*) FROM message JOIN conversation ON conversation.id = message.conversation
        WHERE message_id < fork_message_id OR message_id >= next_message_id
        GROUP BY conversation ORDER BY conversation"""
    )
    found += [f"conversation {each} has {counted(n, 'message')} outside of its history" for each, n in strays]
    return found


def lineage_faults() -> dict[str, str]:
    """The conversations whose forks lead nowhere, or in a circle, each with the fault. Nothing else of them can be
    checked."""
    listed = execute("SELECT id, parent, fork_message_id, next_message_id FROM conversation")
    parents = {row[0]: row[1:] for row in listed}
    found: dict[str, str] = {}
    for each in sorted(parents):
        seen, at = {each}, each
        while (parent := parents[at][0]) is not None:
            if parent not in parents or parent in seen:
                found[each] = "is a fork of a conversation that does not exist"
                break
            if not 0 < parents[at][1] <= parents[parent][2]:
                found[each] = f"was forked behind the end of {parent}"
                break
            seen.add(parent)
            at = parent
    return found


def _of_conversation(conversation_id: ConversationId, n_messages: int, head_digest: str | None) -> list[str]:
    mismatched: list[int] = []
    n_read = 0
    last: list[str] = []

    def messages() -> Iterator[StoredMessage]:
        nonlocal n_read
        for message, is_own in _rows(conversation_id):
            n_read += 1
            last[:] = [message.digest]
            if not is_own:
                mismatched.append(message.id)
            yield message

    broken = first_broken(messages())
    if broken is not None:
        return [f"conversation {conversation_id} breaks at message {broken}"]
    found = [f"message {each} of conversation {conversation_id} is not what its digest says" for each in mismatched[:1]]
    if n_read != n_messages:
        found.append(f"conversation {conversation_id} should have {counted(n_messages, 'message')} and has {n_read}")
    elif (last[0] if last else None) != head_digest:
        found.append(f"the next message of conversation {conversation_id} would not follow its last one")
    return found


def _rows(conversation_id: ConversationId) -> Iterator[tuple[StoredMessage, bool]]:
    """Every message, oldest first, one at a time, and whether its own digest and version match its content."""
    for owner, first, after in conversations.lineage(conversation_id):
        rows = execute(
            """SELECT conversation, message_id, created_at, turn, digest_version, content_digest, digest, content,
                author
            FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ? ORDER BY message_id""",
            *(owner, first, after),
        )
        for holder, message_id, created_at, turn, version, own, digest, text, author in rows:
            purged = Digest(own) if text is None else None
            content = Content(Role.USER, ()) if text is None else Content.from_json(json.loads(text))
            is_own = purged is not None or content_digest(content) == own
            try:
                covered = covered_author(version, author)
            except ValueError:
                is_own, covered = False, None
            yield (
                StoredMessage(
                    ConversationId(holder),
                    MessageId(message_id),
                    content,
                    created_at,
                    None if turn is None else TurnId(turn),
                    Digest(digest),
                    purged,
                    covered,
                ),
                is_own,
            )
