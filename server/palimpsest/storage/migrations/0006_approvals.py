"""The user's kept answers: tool calls that always run, and tool calls that never do."""

STATEMENTS = (
    """CREATE TABLE approval_rule (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        tool TEXT NOT NULL,
        words TEXT NOT NULL,
        answer TEXT NOT NULL,
        created_at TEXT NOT NULL,
        UNIQUE (tool, words)
    )""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
