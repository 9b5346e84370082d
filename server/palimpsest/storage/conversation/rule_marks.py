"""Rule marks: the ids of a conversation's messages that contain rules, as far as they were searched; no words.

A mark is the finding of one version of the reader; another version searches anew. It needs no lease: every reader finds
the same, messages never change, and hidden and purged ones are left out when they are read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage.sql import execute


def read(conversation_id: ConversationId, reader: str) -> tuple[list[MessageId], MessageId]:
    """The ids, ascending, and the first message that was not searched yet. A fork begins with its parent's marks."""
    owner: str | None = conversation_id
    after: int | None = None
    while owner is not None:
        row = execute(
            "SELECT until, message_ids FROM rule_mark WHERE conversation = ? AND reader = ?", owner, reader
        ).fetchone()
        if row is not None:
            until = row[0] if after is None else min(row[0], after)
            return [MessageId(each) for each in json.loads(row[1]) if each < until], MessageId(until)
        place = execute("SELECT parent, fork_message_id FROM conversation WHERE id = ?", owner).fetchone()
        owner, fork_at = place or (None, 0)
        after = fork_at if after is None else min(after, fork_at)
    return [], MessageId(0)


def write(conversation_id: ConversationId, reader: str, ids: Sequence[MessageId], until: MessageId) -> None:
    """Stores the ids below `until` of messages that contain rules, ascending. A mark that reaches further stays."""
    known = execute("SELECT reader, until FROM rule_mark WHERE conversation = ?", conversation_id).fetchone()
    if known is None or known[0] != reader or known[1] < until:
        execute(
            "INSERT OR REPLACE INTO rule_mark (conversation, reader, until, message_ids) VALUES (?, ?, ?, ?)",
            *(conversation_id, reader, until, json.dumps(ids)),
        )
