"""Long work in pieces, and an index for the messages of a turn."""

STATEMENTS = (
    """CREATE TABLE pending_work (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        first INTEGER NOT NULL,
        after INTEGER NOT NULL
    )""",
    "CREATE INDEX message_turn ON message (turn) WHERE turn IS NOT NULL",
    # Of a store in which retrieval had no index yet.
    """INSERT INTO pending_work (kind, subject, first, after)
        SELECT 'index', conversation, MIN(message_id), MAX(message_id) + 1 FROM message
        WHERE id NOT IN (SELECT message FROM indexed_message) GROUP BY conversation""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
