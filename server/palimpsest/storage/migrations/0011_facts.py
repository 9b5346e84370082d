"""Facts, what they are about, and the places in files they rest on.

A row of `fact_source` is one version of one file, by the hash of its bytes; the line hashes kept with it are shared by
all the facts that were tied to that version. `extraction` says how far each conversation was read for facts.
"""

STATEMENTS = (
    """CREATE TABLE fact (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        fact_type TEXT NOT NULL,
        content TEXT NOT NULL,
        turn_number INTEGER NOT NULL,
        conversation TEXT REFERENCES conversation (id),
        message_id INTEGER,
        quote TEXT,
        origin TEXT,
        created_at TEXT NOT NULL,
        closed_at TEXT,
        superseded_by INTEGER REFERENCES fact (id),
        verified_at TEXT,
        n_uses INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE INDEX fact_open ON fact (fact_type) WHERE closed_at IS NULL",
    "CREATE INDEX fact_message ON fact (conversation, message_id)",
    """CREATE TABLE fact_entity (
        fact INTEGER NOT NULL REFERENCES fact (id),
        entity TEXT NOT NULL COLLATE NOCASE,
        PRIMARY KEY (fact, entity)
    ) WITHOUT ROWID""",
    "CREATE INDEX fact_entity_name ON fact_entity (entity)",
    """CREATE TABLE fact_source (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        file_path TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        lines BLOB NOT NULL,
        updated_at TEXT NOT NULL,
        UNIQUE (file_path, sha256)
    )""",
    """CREATE TABLE fact_source_link (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        fact INTEGER NOT NULL REFERENCES fact (id),
        source INTEGER NOT NULL REFERENCES fact_source (id),
        anchor TEXT NOT NULL,
        symbol TEXT NOT NULL,
        start_line INTEGER,
        end_line INTEGER,
        state TEXT NOT NULL
    )""",
    "CREATE INDEX fact_source_link_fact ON fact_source_link (fact)",
    "CREATE INDEX fact_source_link_source ON fact_source_link (source)",
    "CREATE INDEX fact_source_link_stale ON fact_source_link (fact) WHERE state IN ('changed', 'missing')",
    "CREATE TABLE forgotten_fact (digest TEXT PRIMARY KEY) WITHOUT ROWID",
    """CREATE TABLE extraction (
        conversation TEXT PRIMARY KEY REFERENCES conversation (id),
        next_message_id INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "CREATE TABLE librarian_use (day TEXT PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
