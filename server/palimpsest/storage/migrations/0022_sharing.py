"""What is shared through a hub, how much of its log was taken in, and who wrote what came from there."""

STATEMENTS = (
    """CREATE TABLE shared_conversation (
        conversation TEXT PRIMARY KEY REFERENCES conversation (id),
        hub TEXT NOT NULL,
        incarnation TEXT NOT NULL,
        member TEXT NOT NULL,
        team TEXT NOT NULL,
        channel TEXT NOT NULL,
        hub_seq INTEGER NOT NULL,
        n_pushed INTEGER NOT NULL,
        title TEXT NOT NULL,
        root TEXT NOT NULL,
        home TEXT NOT NULL,
        shares_results INTEGER NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE shared_entry (
        conversation TEXT NOT NULL REFERENCES conversation (id),
        kind TEXT NOT NULL,
        entry_key TEXT NOT NULL,
        PRIMARY KEY (conversation, kind, entry_key)
    ) WITHOUT ROWID""",
    "ALTER TABLE message ADD COLUMN author TEXT",
    """CREATE TABLE stand_in (
        conversation TEXT NOT NULL REFERENCES conversation (id),
        message_id INTEGER NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (conversation, message_id)
    ) WITHOUT ROWID""",
    """CREATE TABLE purge_intent (
        id INTEGER PRIMARY KEY,
        conversation TEXT NOT NULL REFERENCES conversation (id),
        start_message_id INTEGER NOT NULL,
        end_message_id INTEGER NOT NULL
    )""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
