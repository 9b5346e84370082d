"""Values learned about models: their calibrations, and limits from errors."""

STATEMENTS = (
    """CREATE TABLE calibration (
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        tokenizer TEXT NOT NULL,
        overhead REAL NOT NULL,
        factor REAL NOT NULL,
        sigma REAL NOT NULL,
        weight REAL NOT NULL,
        mean_raw REAL NOT NULL,
        variance_raw REAL NOT NULL,
        updated_at TEXT NOT NULL,
        PRIMARY KEY (provider, model, tokenizer)
    ) WITHOUT ROWID""",
    """CREATE TABLE learned_limit (
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        max_input INTEGER NOT NULL,
        learned_at TEXT NOT NULL,
        PRIMARY KEY (provider, model)
    ) WITHOUT ROWID""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
