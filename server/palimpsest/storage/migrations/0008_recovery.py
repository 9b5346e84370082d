"""The user's choice about an ended turn, and the answer that a turn continues."""

STATEMENTS = (
    "ALTER TABLE turn ADD COLUMN resolution TEXT",
    "ALTER TABLE turn ADD COLUMN goes_on_behind INTEGER",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
