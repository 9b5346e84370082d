"""Repairs of a store that lose nothing. Each function is called inside one transaction, and returns the number of
changed rows."""

from __future__ import annotations

import json

from palimpsest.domain.errors import StoreError
from palimpsest.domain.messages import Content
from palimpsest.storage import contents, tables
from palimpsest.storage.conversation import passages, search
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import search as fact_search
from palimpsest.storage.leases import Writer
from palimpsest.storage.sql import execute
from palimpsest.storage.tables import Message
from palimpsest.storage.turns import turns

_LEFTOVERS = (
    # Committed in the transaction that should have removed them.
    "DELETE FROM stream_journal WHERE step IN (SELECT id FROM step WHERE ending IS NOT NULL)",
    # Counted anew when they are needed.
    "DELETE FROM token_count WHERE message NOT IN (SELECT id FROM message WHERE content IS NOT NULL)",
    """DELETE FROM preview WHERE cut_version > 0 AND NOT EXISTS (
        SELECT 1 FROM cut WHERE cut.conversation = preview.conversation AND cut.version = preview.cut_version)""",
    "DELETE FROM injection WHERE turn NOT IN (SELECT id FROM turn)",
    "DELETE FROM frame WHERE digest NOT IN (SELECT frame FROM sent_request)",
    f"DELETE {contents.UNUSED}",
)
"""Rows that belong to no other row, and that nobody reads."""


def close_open_turns(writer: Writer) -> int:
    """Closes the turns of dead servers; their shown text becomes messages."""
    return len(turns.recover(writer))


def remove_leftovers() -> int:
    n_removed = 0
    for statement in _LEFTOVERS:
        execute(statement)
        ((n,),) = execute("SELECT changes()")
        n_removed += n
    return n_removed


def rebuild_search() -> int:
    """Makes the indexes anew from the messages and facts. Raises StoreError when one of those cannot be read."""
    execute("INSERT INTO message_search (message_search) VALUES ('delete-all')")
    n_messages = 0
    query = Message.select(Message.id, Message.content).where(Message.content.is_null(False))
    for row_id, content in tables.rows(query):
        try:
            search.add(row_id, Content.from_json(json.loads(content)))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(
                "A stored message is not what Palimpsest writes, so the search index was left as it is. "
                "`palimpsest doctor` names the conversation."
            ) from error
        n_messages += 1
    passages.rebuild()
    for fact in facts.all_known():
        fact_search.add(fact.id, fact.fact)
    search.settle()
    passages.settle()
    return n_messages
