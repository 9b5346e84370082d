"""Bytes that messages and others refer to by their digest, each kept once, and which messages and open steps refer to
which."""

STATEMENTS = (
    """CREATE TABLE content (
        digest TEXT PRIMARY KEY,
        bytes BLOB NOT NULL
    )""",
    """CREATE TABLE message_content (
        message INTEGER NOT NULL REFERENCES message (id),
        digest TEXT NOT NULL REFERENCES content (digest),
        PRIMARY KEY (message, digest)
    ) WITHOUT ROWID""",
    "CREATE INDEX message_content_digest ON message_content (digest)",
    """CREATE TABLE step_content (
        step INTEGER NOT NULL REFERENCES step (id),
        digest TEXT NOT NULL REFERENCES content (digest),
        PRIMARY KEY (step, digest)
    ) WITHOUT ROWID""",
    "CREATE INDEX step_content_digest ON step_content (digest)",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
