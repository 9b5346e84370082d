"""The messages of a conversation that contain rules, as far as it was searched for them."""

STATEMENTS = (
    """CREATE TABLE rule_mark (
        conversation TEXT PRIMARY KEY,
        reader TEXT NOT NULL,
        until INTEGER NOT NULL,
        message_ids TEXT NOT NULL
    )""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
