"""What was added behind messages is asked for by conversation whenever memory is held against the store."""

STATEMENTS = ("CREATE INDEX injection_conversation ON injection (conversation)",)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
