"""A server that does not run a turn may ask for its end."""

STATEMENTS = ("ALTER TABLE turn ADD COLUMN cancel_requested INTEGER NOT NULL DEFAULT 0",)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
