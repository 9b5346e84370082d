"""A turn may be asked to stop by a server that does not run it."""

STATEMENTS = ("ALTER TABLE turn ADD COLUMN cancel_requested INTEGER NOT NULL DEFAULT 0",)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
