"""A conversation may be laid out otherwise than the settings say."""

STATEMENTS = ("ALTER TABLE conversation ADD COLUMN layout TEXT",)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
