"""Answers of the user that are kept: which tool calls always run, and which never do."""

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
