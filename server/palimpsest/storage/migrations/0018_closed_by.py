"""The message that closed a fact without a successor: when it is hidden, the fact holds again."""

STATEMENTS = (
    "ALTER TABLE fact ADD COLUMN closed_by_conversation TEXT",
    "ALTER TABLE fact ADD COLUMN closed_by_message INTEGER",
    "CREATE INDEX fact_superseded ON fact (superseded_by) WHERE superseded_by IS NOT NULL",
    """CREATE INDEX fact_closed_by ON fact (closed_by_conversation, closed_by_message)
        WHERE closed_by_message IS NOT NULL""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
