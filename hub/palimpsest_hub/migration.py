"""The schema of a hub: made and brought up to date by an administrator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo

from palimpsest_hub.addresses import connection_options
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.failures import administrators_failure

OLDEST_SERVER: Final = 130000
_MIGRATIONS: Final = Path(__file__).with_name("migrations")
_ROLES: Final = ("hub_owner", "hub_member")


@contextlib.contextmanager
def administrator(address: str) -> Iterator[Connection[Any]]:
    """A transaction of an administrator. Raises HubRefused, HubUnreachable."""
    try:
        with psycopg.connect(make_conninfo(**connection_options(address))) as connection:
            yield connection
    except psycopg.Error as error:
        raise administrators_failure(error) from error


def migrations() -> dict[int, Path]:
    """The files by their version, the lowest first. Files that are released never change."""
    return {int(path.name[:4]): path for path in sorted(_MIGRATIONS.glob("*.sql"))}


def set_up(address: str, *, is_restored: bool = False) -> list[int]:
    """Bring the schema up to date in one transaction; the versions that were missing.

    Run by the owner of the database, who may create roles and need not be a superuser. `is_restored`: the hub comes
    from a backup, and stores are to notice it. Raises HubRefused, HubUnreachable.
    """
    with administrator(address) as connection:
        if connection.info.server_version < OLDEST_SERVER:
            raise HubRefused("schema", "A hub needs PostgreSQL 13 or newer.")
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('palimpsest hub migration'))")
        _make_roles(connection)
        connection.execute("SET LOCAL ROLE hub_owner")
        done = _done(connection)
        known = migrations()
        if done and max(done) > max(known):
            raise HubRefused("schema", "This hub was set up by a newer Palimpsest. Install that one to change it.")
        missing = [version for version in known if version not in done]
        for version in missing:
            connection.execute(known[version].read_bytes())
            connection.execute("INSERT INTO hub.migration (version) VALUES (%s)", [version])
        if is_restored:
            connection.execute("UPDATE hub.incarnation SET id = gen_random_uuid(), restored_at = clock_timestamp()")
    return missing


def _make_roles(connection: Connection[Any]) -> None:
    for role in _ROLES:
        if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).rowcount:
            connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
    connection.execute("GRANT hub_owner TO CURRENT_USER")
    database = sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO hub_owner").format(database))


def _done(connection: Connection[Any]) -> set[int]:
    if connection.execute("SELECT to_regclass('hub.migration') IS NULL").fetchone() == (True,):
        return set()
    return {int(str(version)) for (version,) in connection.execute("SELECT version FROM hub.migration")}
