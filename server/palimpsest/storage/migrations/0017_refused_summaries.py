"""The costs of models' texts that were refused as summaries."""

STATEMENTS = (
    """CREATE TABLE refused_summary (
        id INTEGER PRIMARY KEY,
        conversation TEXT NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        duration_ms INTEGER NOT NULL,
        created_at TEXT NOT NULL
    )""",
    "CREATE INDEX refused_summary_conversation ON refused_summary (conversation)",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
