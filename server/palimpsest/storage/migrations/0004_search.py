"""Full-text search over messages, and the role of purged messages."""

import json

from palimpsest.domain.messages import Content
from palimpsest.storage.conversation.search import columns

STATEMENTS = (
    "ALTER TABLE message ADD COLUMN purged_role TEXT",
    """CREATE VIRTUAL TABLE message_search USING fts5(
        words, parts, content='', tokenize='porter unicode61 remove_diacritics 2'
    )""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
    # What is indexed must be what a purge takes out again, so both come from one place; whoever changes `columns`
    # writes a migration that builds the index anew.
    for row_id, content in db.execute_sql("SELECT id, content FROM message WHERE content IS NOT NULL"):
        words, parts = columns(Content.from_json(json.loads(content)))
        db.execute_sql("INSERT INTO message_search (rowid, words, parts) VALUES (?, ?, ?)", (row_id, words, parts))
