"""Edits of files that a user accepted in a turn: the text before and after each."""

STATEMENTS = (
    """CREATE TABLE file_change (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        turn TEXT NOT NULL,
        step INTEGER,
        path TEXT NOT NULL,
        before TEXT REFERENCES content (digest),
        after TEXT NOT NULL REFERENCES content (digest),
        n_bytes INTEGER NOT NULL,
        n_added INTEGER NOT NULL,
        n_removed INTEGER NOT NULL,
        state TEXT NOT NULL,
        asked_at TEXT NOT NULL,
        settled_at TEXT
    )""",
    "CREATE INDEX file_change_turn ON file_change (turn)",
    "CREATE INDEX file_change_step ON file_change (step)",
    "CREATE INDEX file_change_before ON file_change (before)",
    "CREATE INDEX file_change_after ON file_change (after)",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
