"""The first schema. Frozen: later changes are migrations of their own."""

STATEMENTS = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE conversation (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        has_user_title INTEGER NOT NULL,
        model TEXT NOT NULL,
        next_message_id INTEGER NOT NULL,
        head_digest TEXT,
        change_seq INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX conversation_updated ON conversation (updated_at)",
    """CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        conversation TEXT NOT NULL REFERENCES conversation (id),
        message_id INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        turn TEXT,
        step INTEGER,
        digest_version INTEGER NOT NULL,
        content_digest TEXT NOT NULL,
        digest TEXT NOT NULL,
        content TEXT,
        UNIQUE (conversation, message_id)
    )""",
    """CREATE TABLE token_count (
        message INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
        tokenizer TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        PRIMARY KEY (message, tokenizer)
    ) WITHOUT ROWID""",
    """CREATE TABLE turn (
        id TEXT PRIMARY KEY,
        conversation TEXT NOT NULL REFERENCES conversation (id),
        request_id TEXT NOT NULL UNIQUE,
        user_message_id INTEGER NOT NULL,
        state TEXT NOT NULL,
        model TEXT NOT NULL,
        next_seq INTEGER NOT NULL,
        stop_reason TEXT,
        error_kind TEXT,
        error_message TEXT,
        started_at TEXT NOT NULL,
        ended_at TEXT
    ) WITHOUT ROWID""",
    "CREATE INDEX turn_conversation ON turn (conversation)",
    """CREATE TABLE step (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        turn TEXT NOT NULL REFERENCES turn (id),
        number INTEGER NOT NULL,
        ending TEXT,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        server TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        last_seq INTEGER,
        input_tokens INTEGER,
        cache_read_tokens INTEGER,
        cache_write_tokens INTEGER,
        output_tokens INTEGER,
        estimated_tokens INTEGER NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        UNIQUE (turn, number)
    )""",
    "CREATE INDEX step_open ON step (turn) WHERE ending IS NULL",
    """CREATE TABLE stream_journal (
        step INTEGER NOT NULL REFERENCES step (id),
        seq INTEGER NOT NULL,
        event_type TEXT NOT NULL,
        content TEXT NOT NULL,
        call_id TEXT,
        name TEXT,
        is_error INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        PRIMARY KEY (step, seq)
    ) WITHOUT ROWID""",
    """CREATE TABLE lease (
        conversation TEXT PRIMARY KEY REFERENCES conversation (id),
        epoch INTEGER NOT NULL,
        server TEXT,
        holder TEXT,
        acquired_at TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE cut (
        conversation TEXT NOT NULL REFERENCES conversation (id),
        version INTEGER NOT NULL,
        cause TEXT NOT NULL,
        model TEXT NOT NULL,
        factor REAL NOT NULL,
        sigma REAL NOT NULL,
        overhead INTEGER NOT NULL,
        frame_digest TEXT NOT NULL,
        end_message_id INTEGER NOT NULL,
        blocks TEXT NOT NULL,
        created_at TEXT NOT NULL,
        PRIMARY KEY (conversation, version)
    ) WITHOUT ROWID""",
    """CREATE TABLE preview (
        conversation TEXT NOT NULL REFERENCES conversation (id),
        cut_version INTEGER NOT NULL,
        message_id INTEGER NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (conversation, cut_version, message_id)
    ) WITHOUT ROWID""",
    """CREATE TABLE summary (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation TEXT NOT NULL REFERENCES conversation (id),
        start_message_id INTEGER NOT NULL,
        end_message_id INTEGER NOT NULL,
        level INTEGER NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        original_tokens INTEGER NOT NULL,
        author TEXT NOT NULL,
        children TEXT NOT NULL,
        duration_ms INTEGER NOT NULL,
        created_at TEXT NOT NULL
    )""",
    "CREATE INDEX summary_conversation ON summary (conversation)",
    """CREATE TABLE injection (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation TEXT NOT NULL REFERENCES conversation (id),
        turn TEXT NOT NULL REFERENCES turn (id),
        cut_version INTEGER NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        created_at TEXT NOT NULL
    )""",
    "CREATE INDEX injection_turn ON injection (turn)",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
