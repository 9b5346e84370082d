"""The index for retrieval: passages of messages, with the data that scoring needs, and facts."""

STATEMENTS = (
    """CREATE TABLE indexed_message (
        message INTEGER PRIMARY KEY REFERENCES message (id),
        conversation TEXT NOT NULL,
        message_id INTEGER NOT NULL,
        role TEXT NOT NULL,
        name TEXT NOT NULL,
        n_words INTEGER NOT NULL,
        is_rule INTEGER NOT NULL,
        session INTEGER NOT NULL,
        day INTEGER,
        around TEXT NOT NULL
    )""",
    "CREATE UNIQUE INDEX indexed_message_place ON indexed_message (conversation, message_id)",
    """CREATE INDEX indexed_message_prose ON indexed_message (conversation, message_id)
        WHERE role <> 'tool' AND role <> '' AND n_words > 0""",
    """CREATE INDEX indexed_message_day ON indexed_message (conversation, day)
        WHERE role <> 'tool' AND role <> '' AND n_words > 0""",
    "CREATE INDEX indexed_message_rule ON indexed_message (conversation, message_id) WHERE is_rule = 1",
    "CREATE INDEX indexed_message_name ON indexed_message (conversation, name, message_id) WHERE name <> ''",
    """CREATE VIRTUAL TABLE passage_search USING fts5(
        words, parts, around, content='', tokenize='porter unicode61 remove_diacritics 2'
    )""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
    # What is in the store is indexed piece by piece, which migration 0015 writes down: a large store would keep its
    # users waiting. Whoever changes what of a message is indexed empties both tables and writes the same down again.
