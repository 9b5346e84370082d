"""What an administrator finds out about a hub: whether it is sound, and all that it holds of a team."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection
from psycopg.rows import dict_row

from palimpsest_hub.administration import administering, team_id
from palimpsest_hub.migration import migrations

_BROKEN_CHAINS: Final = """
    WITH message AS (
        SELECT e.*, lag(e.digest) OVER (PARTITION BY e.team, e.conversation ORDER BY e.message_id) AS before
        FROM hub.entry e WHERE e.kind = 'message'
    )
    SELECT count(DISTINCT (m.team, m.conversation)) FROM message m
    JOIN hub.conversation c ON (c.team, c.id) = (m.team, m.conversation)
    LEFT JOIN hub.entry p ON p.team = c.team AND p.conversation = c.parent AND p.kind = 'message'
        AND p.message_id = c.fork_message_id - 1 AND m.message_id = c.fork_message_id
    WHERE m.digest <> hub.message_digest(m.digest_version, coalesce(m.before, p.digest), m.conversation, m.message_id,
                                         m.said_at, m.turn, m.author, m.content_digest)
        AND NOT (m.message_id = c.fork_message_id AND c.parent IS NOT NULL AND p.digest IS NULL)
        OR m.body IS NOT NULL AND m.content_digest <> encode(sha256(convert_to(m.body, 'UTF8')), 'hex')"""
_GAPS: Final = """
    SELECT count(*) FROM hub.conversation c WHERE c.unshared_at IS NULL AND c.head_seq <>
        (SELECT count(*) FROM hub.entry e WHERE e.team = c.team AND e.conversation = c.id AND e.seq <= c.head_seq)"""
_UNPROTECTED: Final = """
    SELECT relname FROM pg_class WHERE relnamespace = 'hub'::regnamespace AND relkind IN ('r', 'p')
        AND NOT relrowsecurity AND relname NOT IN ('migration', 'incarnation') ORDER BY relname"""
_TOO_MIGHTY: Final = """
    SELECT rolname FROM pg_roles JOIN hub.member ON login = rolname
    WHERE rolsuper OR rolbypassrls OR pg_has_role(rolname, 'hub_owner', 'MEMBER') ORDER BY rolname"""

_OPEN_SCHEMA: Final = """
    SELECT to_regnamespace('public') IS NOT NULL AND has_schema_privilege('hub_member', 'public', 'CREATE')"""
_ENDING_TOKENS: Final = """
    SELECT count(*) FROM hub.token
    WHERE revoked_at IS NULL AND expires_at BETWEEN now() AND now() + interval '14 days'"""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about a hub."""

    sentence: str
    is_trouble: bool = False


def examine(address: str) -> list[Finding]:
    """Look at the whole hub: its schema, who may do what, and every digest. It reads every text once."""
    with administering(address) as connection:
        return [*_about_schema(connection), *_about_rights(connection), *_about_logs(connection)]


def _about_schema(connection: Connection[Any]) -> Iterator[Finding]:
    version, newest = _one(connection, "SELECT max(version) FROM hub.migration"), max(migrations())
    server = ".".join(map(str, divmod(connection.info.server_version, 10000)))
    yield Finding(f"PostgreSQL {server}, schema {version}.")
    if version < newest:
        yield Finding(f"The newest schema is {newest}. Run `palimpsest hub setup`.", is_trouble=True)
    if not connection.pgconn.ssl_in_use and (connection.info.host or "/")[:1] != "/":
        yield Finding("This connection is not encrypted.")
    size = _one(connection, "SELECT pg_size_pretty(pg_database_size(current_database()))")
    n = {each: _one(connection, f"SELECT count(*) FROM hub.{each}") for each in ("team", "conversation", "entry")}
    yield Finding(f"Teams: {n['team']}. Conversations: {n['conversation']}. Entries: {n['entry']}. Size: {size}.")


def _about_rights(connection: Connection[Any]) -> Iterator[Finding]:
    for (table,) in connection.execute(_UNPROTECTED).fetchall():
        yield Finding(f"Row-level security is off for the table {table}.", is_trouble=True)
    for (login,) in connection.execute(_TOO_MIGHTY).fetchall():
        yield Finding(f"The member's login {login} may read every team's rows.", is_trouble=True)
    if _one(connection, _OPEN_SCHEMA):
        advice = "Let its owner run: REVOKE CREATE ON SCHEMA public FROM PUBLIC"
        yield Finding(f"Members may make functions in the schema public. {advice}", is_trouble=True)
    if n := _one(connection, _ENDING_TOKENS):
        yield Finding(f"Tokens that end within 14 days: {n}. `palimpsest hub token create` makes new ones.")


def _about_logs(connection: Connection[Any]) -> Iterator[Finding]:
    gaps, broken = _one(connection, _GAPS), _one(connection, _BROKEN_CHAINS)
    if gaps:
        yield Finding(f"Conversations whose log has a gap: {gaps}.", is_trouble=True)
    if broken:
        yield Finding(f"Conversations whose digests do not follow from their messages: {broken}.", is_trouble=True)
    if not gaps and not broken:
        yield Finding("Every digest follows, and no log has a gap.")


def _one(connection: Connection[Any], query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


_EXPORTED: Final = {
    "member": "SELECT id, name, role FROM hub.member JOIN hub.membership ON member = id WHERE team = %s ORDER BY name",
    "repository": "SELECT id, root_commit, remote FROM hub.repository WHERE team = %s ORDER BY id",
    "conversation": """SELECT id, repository, owner, parent, fork_message_id, title, model, created_at, unshared_at
        FROM hub.conversation WHERE team = %s ORDER BY created_at, id""",
    "entry": """SELECT conversation, seq, kind, key, author, restored_by, format, stored_at, message_id, said_at, turn,
        role, digest_version, content_digest, digest, body, gone
        FROM hub.entry WHERE team = %s ORDER BY conversation, seq""",
    "fact": """SELECT repository, key, seq, standing, author, body, changed_at FROM hub.fact WHERE team = %s
        ORDER BY repository, seq""",
    "audit": "SELECT at, member, action, subject, detail FROM hub.audit WHERE team = %s ORDER BY id",
}


def export(address: str, team: str) -> Iterator[dict[str, Any]]:
    """All that the hub holds of a team, by its name: values of JSON, each a row with the name of its table."""
    with administering(address) as connection:
        found = team_id(connection, team)
        yield {"table": "team", "id": found, "name": team}
        for table, query in _EXPORTED.items():
            with connection.cursor(name="export", row_factory=dict_row) as rows:
                for row in rows.execute(query.encode(), [found]):
                    yield {"table": table, **{name: _plain(value) for name, value in row.items()}}


def _plain(value: object) -> object:
    """Ids and times as text."""
    return value if value is None or isinstance(value, int | str) else str(value)
