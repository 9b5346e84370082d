"""A forgotten fact is kept for some time, out of sight, so that it can be restored."""

STATEMENTS = (
    """CREATE TABLE forgotten (
        fact INTEGER PRIMARY KEY,
        forgotten_at TEXT NOT NULL,
        conversation TEXT,
        message_id INTEGER,
        kept TEXT NOT NULL
    )""",
    "CREATE INDEX forgotten_message ON forgotten (conversation, message_id)",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
