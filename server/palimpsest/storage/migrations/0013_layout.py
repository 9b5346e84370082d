"""A conversation may have another layout than the settings."""

STATEMENTS = ("ALTER TABLE conversation ADD COLUMN layout TEXT",)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
