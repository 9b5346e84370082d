"""How much of the shared conversations the hub does not have yet."""

from __future__ import annotations

from palimpsest.domain.messages import ConversationId
from palimpsest.storage.sharing import outgoing
from palimpsest.storage.sql import execute


def count(conversation_id: ConversationId) -> int:
    """The entries of one conversation that the hub lacks; 0 when it is not shared."""
    row = execute(
        """SELECT next_message_id, n_pushed FROM conversation
        JOIN shared_conversation ON shared_conversation.conversation = conversation.id WHERE conversation.id = ?""",
        conversation_id,
    ).fetchone()
    if row is None:
        return 0
    n_messages, n_pushed = int(row[0]), int(row[1])
    return max(0, n_messages - n_pushed) + len(outgoing.unpushed(conversation_id, n_messages).entries)
