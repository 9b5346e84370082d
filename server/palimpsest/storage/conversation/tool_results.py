"""Finding the result of a tool call by the id of the call."""

from __future__ import annotations

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import ConversationId, canonical_json
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.sql import execute


def find(conversation_id: ConversationId, call_id: str) -> StoredMessage | None:
    """The newest visible message with a result of that call; None when there is none. Some services use the same ids in
    every answer."""
    hidden = hidden_ranges.read(conversation_id)
    for owner, first, after in reversed(conversations.lineage(conversation_id)):
        # A quick look at the canonical JSON; the call itself has the id too and is sorted out below.
        found = execute(
            """SELECT message_id FROM message WHERE conversation = ? AND message_id >= ? AND message_id < ?
            AND INSTR(content, ?) ORDER BY message_id DESC""",
            *(owner, first, after, f'"call_id":{canonical_json(call_id)}'),
        )
        for (message_id,) in found:
            if any(each.start <= message_id < each.end for each in hidden):
                continue
            message = message_log.read(conversation_id, message_id, message_id + 1)[0]
            if any(result.call_id == call_id for result in message.content.results):
                return message
    return None
