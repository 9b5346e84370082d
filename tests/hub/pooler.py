"""PgBouncer in transaction mode before a hub of the tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.hub.lab import Lab
from tests.hub.postgres import other_user

_SETTINGS: Final = """
[databases]
hub = host={host} dbname=hub user=gate
[pgbouncer]
listen_addr =
unix_socket_dir = {place}
auth_type = trust
auth_file = {place}/users
pool_mode = transaction
default_pool_size = {n_connections}
max_client_conn = 1000
log_connections = 0
log_disconnections = 0
"""


def pooling_program() -> str | None:
    """None where PgBouncer is not installed."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextlib.contextmanager
def pooling(lab: Lab, n_connections: int) -> Iterator[str]:
    """The address of a pooler that has so many connections to the hub, of the login that members share."""
    program = pooling_program()
    assert program is not None
    with psycopg.connect(lab.admin, autocommit=True) as connection:  # others of the tests may still hold some
        connection.execute("ALTER ROLE gate CONNECTION LIMIT -1")
    user = other_user()
    with tempfile.TemporaryDirectory(prefix="hub") as name:
        place = Path(name)
        if user is not None:
            os.chown(place, user.pw_uid, user.pw_gid)
        host = conninfo_to_dict(lab.admin)["host"]
        (place / "settings").write_text(_SETTINGS.format(host=host, place=place, n_connections=n_connections))
        (place / "users").write_text(f'"gate" "{lab.gate.password}"\n')
        bouncer = subprocess.Popen(
            [program, place / "settings"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            user=user and user.pw_uid,
            group=user and user.pw_gid,
            extra_groups=None if user is None else [],
        )
        with bouncer, contextlib.ExitStack() as stack:
            stack.callback(bouncer.kill)
            assert bouncer.stdout is not None
            assert any("process up" in line for line in bouncer.stdout)
            yield make_conninfo(host=name, port=6432, dbname="hub", user="gate")
