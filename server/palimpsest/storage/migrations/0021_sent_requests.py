"""What was sent with each step, by its places in the store, so that every request can be shown again. A recall that
ends while a turn runs is marked and kept, because the requests so far held it."""

STATEMENTS = (
    """CREATE TABLE frame (
        digest TEXT PRIMARY KEY,
        content TEXT NOT NULL
    )""",
    """CREATE TABLE sent_request (
        step INTEGER PRIMARY KEY REFERENCES step (id),
        frame TEXT NOT NULL REFERENCES frame (digest),
        cut_version INTEGER NOT NULL,
        outline TEXT NOT NULL,
        n_known_pieces INTEGER NOT NULL,
        is_redacted INTEGER NOT NULL,
        tool_choice TEXT NOT NULL,
        upper_tokens INTEGER NOT NULL,
        limit_tokens INTEGER NOT NULL,
        max_output_tokens INTEGER NOT NULL,
        window_tokens INTEGER NOT NULL,
        digest TEXT NOT NULL
    )""",
    "ALTER TABLE injection ADD COLUMN is_ended INTEGER NOT NULL DEFAULT 0",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
