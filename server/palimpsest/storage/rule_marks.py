"""Which messages of a conversation rule, as far as it was looked through: ids only, no words.

A mark says what one version of the reader found; another version looks anew. It needs no lease: whoever looks finds the
same, messages never change, and what is hidden or purged is left out when the messages are read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.storage import tables


def read(conversation_id: ConversationId, reader: str) -> tuple[list[MessageId], MessageId]:
    """The ids, ascending, and the first message that was not looked at yet. A fork begins with what is known of the
    conversation it was forked from."""
    after: int | None = None
    row: tables.RuleMark | None = None
    conversation = tables.Conversation.get_or_none(tables.Conversation.id == conversation_id)
    while conversation is not None and row is None:
        row = tables.RuleMark.get_or_none(
            tables.RuleMark.conversation == conversation.id, tables.RuleMark.reader == reader
        )
        if row is None:
            after = conversation.fork_message_id if after is None else min(after, conversation.fork_message_id)
            parent = conversation.parent
            conversation = None if parent is None else tables.Conversation.get_or_none(tables.Conversation.id == parent)
    if row is None:
        return [], MessageId(0)
    until = row.until if after is None else min(row.until, after)
    return [MessageId(each) for each in json.loads(row.message_ids) if each < until], MessageId(until)


def write(conversation_id: ConversationId, reader: str, ids: Sequence[MessageId], until: MessageId) -> None:
    """`ids` are those below `until` that rule, ascending. A mark that reaches further stays."""
    known = tables.RuleMark.get_or_none(tables.RuleMark.conversation == conversation_id)
    if known is None or known.reader != reader or known.until < until:
        tables.RuleMark.insert(
            conversation=conversation_id, reader=reader, until=until, message_ids=json.dumps(list(ids))
        ).on_conflict_replace().execute()
