"""The digest chain of every conversation, derived once more from what the store holds (invariant 1)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from palimpsest.domain.chain import DIGEST_VERSION, StoredMessage, content_digest, first_broken
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, Role, TurnId
from palimpsest.storage import conversations
from palimpsest.storage.tables import Conversation, Message, execute


def faults() -> list[str]:
    """What is wrong, as clauses that name conversations and messages by id; empty when every chain verifies."""
    lost = lineage_faults()
    found = [f"conversation {each} {what}" for each, what in lost.items()]
    for row in Conversation.select().order_by(Conversation.id):
        if row.id not in lost:
            found += _of_conversation(row)
    strays = execute(
        """SELECT conversation, count(*) FROM message JOIN conversation ON conversation.id = message.conversation
        WHERE message_id < fork_message_id OR message_id >= next_message_id
        GROUP BY conversation ORDER BY conversation"""
    )
    found += [f"conversation {each} has {n} messages that are outside of its history" for each, n in strays]
    return found


def lineage_faults() -> dict[str, str]:
    """Conversations whose forks lead nowhere, or in a circle, and what is wrong: nothing else of them can be
    followed."""
    parents = {
        row.id: (row.parent, row.fork_message_id, row.next_message_id)
        for row in Conversation.select(
            Conversation.id, Conversation.parent, Conversation.fork_message_id, Conversation.next_message_id
        )
    }
    found: dict[str, str] = {}
    for each in sorted(parents):
        seen, at = {each}, each
        while (parent := parents[at][0]) is not None:
            if parent not in parents or parent in seen:
                found[each] = "is a fork of what is not there"
                break
            if not 0 < parents[at][1] <= parents[parent][2]:
                found[each] = f"was forked behind the end of {parent}"
                break
            seen.add(parent)
            at = parent
    return found


def _of_conversation(row: Conversation) -> list[str]:
    mismatched: list[int] = []
    counted = [0]
    last: list[str] = []

    def messages() -> Iterator[StoredMessage]:
        for message, is_own in _rows(ConversationId(row.id)):
            counted[0] += 1
            last[:] = [message.digest]
            if not is_own:
                mismatched.append(message.id)
            yield message

    broken = first_broken(messages())
    if broken is not None:
        return [f"conversation {row.id} breaks at message {broken}"]
    found = [f"message {each} of conversation {row.id} is not what its digest says" for each in mismatched[:1]]
    if counted[0] != row.next_message_id:
        found.append(f"conversation {row.id} counts {row.next_message_id} messages and has {counted[0]}")
    elif (last[0] if last else None) != row.head_digest:
        found.append(f"the next message of conversation {row.id} would not follow its last one")
    return found


def _rows(conversation_id: ConversationId) -> Iterator[tuple[StoredMessage, bool]]:
    """Every message, oldest first, one at a time, and whether its own digest and version are those of its content."""
    for owner, first, after in conversations.lineage(conversation_id):
        query = Message.select().where(
            Message.conversation == owner, Message.message_id >= first, Message.message_id < after
        )
        for row in query.order_by(Message.message_id).iterator():
            purged = Digest(row.content_digest) if row.content is None else None
            content = Content(Role.USER, ()) if row.content is None else Content.from_json(json.loads(row.content))
            turn = None if row.turn is None else TurnId(row.turn)
            is_own = row.digest_version == DIGEST_VERSION and (
                purged is not None or content_digest(content) == row.content_digest
            )
            yield (
                StoredMessage(
                    ConversationId(row.conversation),
                    MessageId(row.message_id),
                    content,
                    row.created_at,
                    turn,
                    Digest(row.digest),
                    purged,
                ),
                is_own,
            )
