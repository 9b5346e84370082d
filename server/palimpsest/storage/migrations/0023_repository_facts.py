"""Facts of a repository that are shared through a hub: with whom, what the hub has, and who wrote what came from it."""

STATEMENTS = (
    """CREATE TABLE repository_share (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        hub TEXT NOT NULL,
        incarnation TEXT NOT NULL,
        member TEXT NOT NULL,
        team TEXT NOT NULL,
        repository TEXT NOT NULL,
        root_commit TEXT NOT NULL,
        remote TEXT NOT NULL,
        subfolder TEXT NOT NULL,
        hub_seq INTEGER NOT NULL
    )""",
    """CREATE TABLE shared_fact (
        fact_key TEXT PRIMARY KEY,
        standing TEXT NOT NULL,
        fact INTEGER,
        member TEXT NOT NULL,
        body TEXT,
        n_bytes INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX shared_fact_here ON shared_fact (fact) WHERE fact IS NOT NULL",
    """CREATE TABLE fact_author (
        fact INTEGER PRIMARY KEY REFERENCES fact (id),
        member TEXT NOT NULL,
        name TEXT NOT NULL
    )""",
)


def up(_migrator, db):
    for statement in STATEMENTS:
        db.execute_sql(statement)
