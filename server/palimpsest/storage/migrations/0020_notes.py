"""What is recalled for a step of a turn stands behind the newest message of the step, not behind the user's."""

STATEMENTS = ("ALTER TABLE injection ADD COLUMN message_id INTEGER",)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
