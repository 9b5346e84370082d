"""What the user chose to do about a turn that ended, and where a turn goes on with an answer that broke off."""

STATEMENTS = (
    "ALTER TABLE turn ADD COLUMN resolution TEXT",
    "ALTER TABLE turn ADD COLUMN goes_on_behind INTEGER",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
