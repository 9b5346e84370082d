"""Injections are counted by conversation whenever a context in memory is compared with the store."""

STATEMENTS = ("CREATE INDEX injection_conversation ON injection (conversation)",)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
