"""What each call of a model took, whatever it was for: it holds no word, and outlives the conversation."""

STATEMENTS = (
    """CREATE TABLE model_call (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        conversation TEXT,
        step INTEGER UNIQUE,
        purpose TEXT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        input_tokens INTEGER NOT NULL,
        cache_read_tokens INTEGER NOT NULL,
        cache_write_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        is_estimated INTEGER NOT NULL,
        nanodollars INTEGER
    )""",
    "CREATE INDEX model_call_at ON model_call (at)",
    "CREATE INDEX model_call_conversation ON model_call (conversation)",
    """INSERT INTO model_call (at, conversation, step, purpose, provider, model, input_tokens, cache_read_tokens,
            cache_write_tokens, output_tokens, is_estimated)
        SELECT COALESCE(step.ended_at, step.started_at), turn.conversation, step.id, 'answer', step.provider,
            step.model, step.input_tokens, COALESCE(step.cache_read_tokens, 0), COALESCE(step.cache_write_tokens, 0),
            COALESCE(step.output_tokens, 0), 0
        FROM step JOIN turn ON turn.id = step.turn
        WHERE step.provider <> 'offline'
            AND COALESCE(step.input_tokens, 0) + COALESCE(step.cache_read_tokens, 0)
                + COALESCE(step.cache_write_tokens, 0) + COALESCE(step.output_tokens, 0) > 0""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
