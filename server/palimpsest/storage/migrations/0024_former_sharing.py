"""What was shared once, with whom, and how many messages it had when the sharing ended."""


def up(_migrator, db):
    db.execute_sql(
        """CREATE TABLE former_sharing (
            conversation TEXT PRIMARY KEY REFERENCES conversation (id),
            hub TEXT NOT NULL,
            member TEXT NOT NULL,
            team TEXT NOT NULL,
            n_messages INTEGER NOT NULL
        ) WITHOUT ROWID"""
    )
    db.execute_sql(
        """INSERT INTO former_sharing (conversation, hub, member, team, n_messages)
        SELECT conversation.id, '', '', value, next_message_id FROM meta
        JOIN conversation ON key = 'detached:' || conversation.id"""
    )
    db.execute_sql("DELETE FROM meta WHERE key LIKE 'detached:%'")
