"""Roll backs, forks, archived conversations, drafts, and the ranges that the user expanded."""

STATEMENTS = (
    "ALTER TABLE conversation ADD COLUMN parent TEXT",
    "ALTER TABLE conversation ADD COLUMN fork_message_id INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE conversation ADD COLUMN is_archived INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE conversation ADD COLUMN draft TEXT NOT NULL DEFAULT ''",
    """CREATE TABLE hidden (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation TEXT NOT NULL REFERENCES conversation (id),
        start_message_id INTEGER NOT NULL,
        end_message_id INTEGER NOT NULL,
        last_summary INTEGER NOT NULL,
        created_at TEXT NOT NULL
    )""",
    "CREATE INDEX hidden_conversation ON hidden (conversation)",
    """CREATE TABLE expansion (
        conversation TEXT NOT NULL REFERENCES conversation (id),
        start_message_id INTEGER NOT NULL,
        end_message_id INTEGER NOT NULL,
        PRIMARY KEY (conversation, start_message_id, end_message_id)
    ) WITHOUT ROWID""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
