"""What the administrator of a hub does: teams, members, tokens. Each function is one transaction.

The administrator owns the database and may create roles. Functions raise HubRefused and HubUnreachable.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection, sql

from palimpsest_hub.errors import HubRefused
from palimpsest_hub.migration import administrator

TOKEN_DAYS: Final = 90
_MOST_CONNECTIONS: Final = 12
_LONGEST_STATEMENT: Final = "30s"


@dataclass(frozen=True, slots=True)
class Login:
    """A login that was made. The password is kept nowhere else."""

    name: str
    password: str


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A membership as the administrator sees it."""

    team: str
    name: str
    role: str
    login: str | None
    n_tokens: int
    """Those that still work."""


@contextlib.contextmanager
def administering(address: str) -> Iterator[Connection[Any]]:
    """A transaction of the hub's owner, at an address of the administrator."""
    with administrator(address) as connection:
        if connection.execute("SELECT to_regnamespace('hub') IS NULL").fetchone() == (True,):
            raise HubRefused("schema", "There is no hub in this database. Make one with `palimpsest hub setup`.")
        connection.execute("SET LOCAL ROLE hub_owner")
        yield connection


def add_member(address: str, team: str, name: str, role: str) -> str:
    """A member of a team, by their names; the member's id. Both are made when they are new."""
    with administering(address) as connection:
        connection.execute("INSERT INTO hub.team (name) VALUES (%s) ON CONFLICT DO NOTHING", [team])
        connection.execute("INSERT INTO hub.member (name) VALUES (%s) ON CONFLICT DO NOTHING", [name])
        _set_role(connection, team_id(connection, team), member := _member(connection, name), role)
        return member


def remove_member(address: str, team: str, name: str) -> None:
    """Take a member out of a team. Who is in no team any more loses the tokens and the login, too."""
    with administering(address) as connection:
        member = _member(connection, name)
        where = (team_id(connection, team), member)
        if not connection.execute(
            "SELECT FROM hub.membership WHERE team = %s AND member = %s AND role <> 'left'", where
        ).rowcount:
            raise HubRefused("not_found", f"{name} is not in the team {team}.")
        _set_role(connection, *where, "left")
        connection.execute(
            """UPDATE hub.conversation SET lease_store = NULL, epoch = epoch + 1
            WHERE team = %s AND lease_member = %s AND lease_store IS NOT NULL""",
            where,
        )
        stays = "SELECT FROM hub.membership WHERE member = %s AND role <> 'left'"
        if connection.execute(stays, [member]).rowcount:
            return
        _revoke(connection, member)
        (login,) = connection.execute("SELECT login FROM hub.member WHERE id = %s", [member]).fetchone() or (None,)
        if login is not None:
            connection.execute("RESET ROLE")  # the administrator made the login
            connection.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(sql.Identifier(login)))


def list_members(address: str) -> list[MemberRow]:
    """All memberships but those that have ended, by team and name."""
    query = """SELECT t.name, m.name, s.role, m.login, (SELECT count(*) FROM hub.token WHERE member = m.id
            AND expires_at > now() AND revoked_at IS NULL)
        FROM hub.membership s JOIN hub.team t ON t.id = s.team JOIN hub.member m ON m.id = s.member
        WHERE s.role <> 'left' ORDER BY t.name, m.name"""
    with administering(address) as connection:
        return [MemberRow(*row) for row in connection.execute(query)]


def make_login(address: str, login: str, member: str | None) -> Login:
    """A login with a new password: a member's own, or with None one that members share and use with tokens. A login
    that is there gets a new password. A login of one's own has at most 12 connections."""
    password = secrets.token_urlsafe(24)
    with administering(address) as connection:
        if member is not None:
            taken = connection.execute("SELECT name FROM hub.member WHERE login = %s", [login]).fetchone()
            if taken is not None and taken[0] != member:
                raise HubRefused("taken", f"The login {login} is the one of {taken[0]}.")
            connection.execute("UPDATE hub.member SET login = %s WHERE id = %s", [login, _member(connection, member)])
        connection.execute("RESET ROLE")
        role = sql.Identifier(login)
        known = connection.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = %s", [login])
        match known.fetchone():
            case None:
                connection.execute(sql.SQL("CREATE ROLE {} IN ROLE hub_member").format(role))
            case (True,):
                raise HubRefused("taken", f"{login} is an administrator of this PostgreSQL. Choose another login.")
            case _:
                connection.execute(sql.SQL("GRANT hub_member TO {}").format(role))
        limit = sql.Literal(-1 if member is None else _MOST_CONNECTIONS)
        connection.execute(
            sql.SQL("ALTER ROLE {} LOGIN PASSWORD {} CONNECTION LIMIT {}").format(role, sql.Literal(password), limit)
        )
        connection.execute(
            sql.SQL("ALTER ROLE {} SET statement_timeout = {}").format(role, sql.Literal(_LONGEST_STATEMENT))
        )
    return Login(login, password)


def create_token(address: str, name: str, days: int = TOKEN_DAYS) -> str:
    """A token for a member. The hub keeps only its digest, so it can be shown once."""
    token = secrets.token_urlsafe(32)
    with administering(address) as connection:
        connection.execute(
            "INSERT INTO hub.token (digest, member, expires_at) VALUES (%s, %s, now() + make_interval(days => %s))",
            [hashlib.sha256(token.encode()).hexdigest(), _member(connection, name), days],
        )
    return token


def revoke_tokens(address: str, name: str) -> int:
    """End every token of a member; how many still worked."""
    with administering(address) as connection:
        return _revoke(connection, _member(connection, name))


def _set_role(connection: Connection[Any], team: str, member: str, role: str) -> None:
    connection.execute(
        """INSERT INTO hub.membership VALUES (%s, %s, %s)
        ON CONFLICT (team, member) DO UPDATE SET role = excluded.role""",
        [team, member, role],
    )
    connection.execute(
        "INSERT INTO hub.audit (team, action, subject, detail) VALUES (%s, 'membership', %s, %s)", [team, member, role]
    )


def _revoke(connection: Connection[Any], member: str) -> int:
    query = """UPDATE hub.token SET revoked_at = clock_timestamp()
        WHERE member = %s AND revoked_at IS NULL AND expires_at > now()"""
    return connection.execute(query, [member]).rowcount


def _member(connection: Connection[Any], name: str) -> str:
    return _id(connection, "SELECT id::text FROM hub.member WHERE name = %s", "member", name)


def team_id(connection: Connection[Any], name: str) -> str:
    return _id(connection, "SELECT id::text FROM hub.team WHERE name = %s", "team", name)


def _id(connection: Connection[Any], query: str, noun: str, name: str) -> str:
    found = connection.execute(query.encode(), [name]).fetchone()
    if found is None:
        raise HubRefused(
            "not_found", f"There is no {noun} {name} in this hub. `palimpsest hub member list` lists them."
        )
    return str(found[0])
