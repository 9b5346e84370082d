"""A PostgreSQL of the tests' own: started once for each process of tests, on a socket in a temporary folder.

PostgreSQL does not run as root, so where the tests do, it runs as the user `postgres` or `nobody`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from palimpsest_hub.local import programs

if TYPE_CHECKING:
    import pwd

_SETTINGS: Final = {
    "listen_addresses": "''",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "max_wal_size": "64MB",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


def fast_place() -> str | None:
    """A folder in memory, where nothing waits for a disk; None for the usual one."""
    memory = Path("/dev/shm")
    with contextlib.suppress(OSError):
        if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 1 << 30:
            return str(memory)
    return None


@contextlib.contextmanager
def running(parent: str | None = fast_place(), trusted: str = "admin,keeper,gate", **settings: str) -> Iterator[str]:
    """The address of a fresh PostgreSQL, of its superuser `admin`, which is stopped at the end. `parent`: the folder of
    its folder; None for the usual one. `trusted`: the logins without a password. `settings`: of PostgreSQL, before
    those of the tests."""
    folder = next(programs())
    user = other_user()
    with tempfile.TemporaryDirectory(prefix="hub", dir=parent, ignore_cleanup_errors=True) as name:
        place, data = Path(name), Path(name) / "data"
        if user is not None:
            os.chown(place, user.pw_uid, user.pw_gid)

        def start(*words: str | Path) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                words,
                cwd=place,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                user=user and user.pw_uid,
                group=user and user.pw_gid,
                extra_groups=None if user is None else [],
                env={"PATH": os.environ["PATH"], "LC_ALL": "C", "TZ": "UTC"},
                start_new_session=True,
            )

        def run(program: str, *words: str) -> None:
            with start(folder / program, *words) as running:
                assert running.wait() == 0, program

        run("initdb", "-D", str(data), "-U", "admin", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        data.joinpath("pg_hba.conf").write_text(f"local all {trusted} trust\nlocal all all scram-sha-256\n")
        options = " ".join(f"-c {key}={value}" for key, value in (_SETTINGS | settings).items())
        # It ends when its input does: also when the tests are killed.
        with start("sh", "-c", 'read -r _; exec "$0" -D data -m fast stop', folder / "pg_ctl"):
            run("pg_ctl", "-D", str(data), "-w", "-l", str(place / "log"), "-o", f"{options} -k {place}", "start")
            yield f"host={place} dbname=postgres user=admin"


def other_user() -> pwd.struct_passwd | None:
    """The user as whom PostgreSQL runs; None for the one of the tests."""
    if os.geteuid() != 0:
        return None
    import pwd

    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise LookupError("no user postgres and no user nobody")
