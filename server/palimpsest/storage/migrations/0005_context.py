"""Effects of compactions and costs of summaries; pins and withdrawals; the ranges that a cut leaves out."""

STATEMENTS = (
    "ALTER TABLE cut ADD COLUMN saved TEXT NOT NULL DEFAULT '{}'",
    "ALTER TABLE cut ADD COLUMN tokens_before INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE cut ADD COLUMN tokens_after INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE cut ADD COLUMN duration_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE cut ADD COLUMN front TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE cut ADD COLUMN left_out TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE summary ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE summary ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX summary_range ON summary (conversation, start_message_id)",
    """CREATE TABLE pin (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        text TEXT NOT NULL,
        is_open INTEGER NOT NULL DEFAULT 1,
        created_at TEXT NOT NULL
    )""",
    """CREATE TABLE withdrawal (
        conversation TEXT NOT NULL REFERENCES conversation (id),
        message_id INTEGER NOT NULL,
        rule INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        PRIMARY KEY (conversation, message_id, rule)
    ) WITHOUT ROWID""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
