"""`palimpsest serve`, with a fault put under it: `python -m tests.faults.serve`.

The product has no failpoints. This entry point puts another connection under the store's writing database (and, for
single faults, another lock, clock or file limit under the process) and then runs the very command an editor starts.
What to do stands in the variable FAULT, as the JSON of `Fault`.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import importlib
import itertools
import json
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import peewee

VARIABLE: Final = "FAULT"
_SENTENCES: Final = {"io": "disk I/O error", "full": "database or disk is full"}
_WRITES: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP", "COMMIT")


@dataclass(frozen=True)
class Fault:
    """Statements are those of the writing connection, from its first pragma on, counted from 1."""

    kill_before: int = 0
    """The statement before which the process kills itself; 0 for none."""
    kill_after: int = 0
    error_at: int = 0
    """The statement that fails; 0 for none. A ROLLBACK never does."""
    error_among: str = ""
    """How the statements begin that `error_at` counts; empty counts all."""
    error: str = "io"
    """`io`, or `full`: then only what writes fails."""
    until: str = ""
    """A file: everything from `error_at` on fails until it exists. Empty: one statement fails."""
    log: str = ""
    """A file that gets the beginning of each statement, a line each."""
    lock_errno: int = 0
    """What every lock on a file answers; 0 for locks that work."""
    clock_goes_back: bool = False
    """Each look at the wall clock shows an earlier time than the one before."""
    max_files: int = 0
    """Files that may be open at once; 0 leaves the limit as it is."""
    max_file_bytes: int = 0
    """How large a file may become; 0 leaves the limit as it is."""
    read_timeout_s: float = 0
    """The longest silence of a model; 0 leaves it as it is."""
    hub_lease_s: int = 0
    """How long the hub's lease of a conversation lasts. The hub is then asked for news five times in that. 0 leaves
    both as they are."""

    def environment(self) -> dict[str, str]:
        return {VARIABLE: json.dumps(asdict(self))}


class _Faults:
    """Counts the statements of this process and does to them what was asked."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._n_statements = 0
        self._n_among = 0
        self._log = os.open(fault.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if fault.log else -1

    def around(self, sql: str, run: Callable[[], Any]) -> Any:
        self._n_statements += 1
        number = self._n_statements
        if self._log >= 0:
            os.write(self._log, (" ".join(sql.split())[:70] + "\n").encode())
        if number == self._fault.kill_before:
            os.kill(os.getpid(), signal.SIGKILL)
        self._n_among += sql.lstrip().startswith(self._fault.error_among)
        if self._fails(sql.lstrip()):
            raise sqlite3.OperationalError(_SENTENCES[self._fault.error])
        result = run()
        if number == self._fault.kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    def _fails(self, sql: str) -> bool:
        fault = self._fault
        if not fault.error_at or self._n_among < fault.error_at or sql.upper().startswith("ROLLBACK"):
            return False
        if fault.error == "full" and not sql.upper().startswith(_WRITES):
            return False
        if fault.until:
            return not Path(fault.until).exists()
        return self._n_among == fault.error_at and sql.startswith(fault.error_among)


def _connections(faults: _Faults) -> type[sqlite3.Connection]:
    class Cursor(sqlite3.Cursor):
        def execute(self, sql: str, *parameters: Any) -> Cursor:
            faults.around(sql, lambda: sqlite3.Cursor.execute(self, sql, *parameters))
            return self

        def executemany(self, sql: str, parameters: Iterable[Any]) -> Cursor:
            faults.around(sql, lambda: sqlite3.Cursor.executemany(self, sql, parameters))
            return self

        def executescript(self, _script: str) -> Cursor:
            raise AssertionError("a script of statements cannot be counted")

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            cursor: sqlite3.Cursor = self.cursor()
            return cursor.execute(sql, *parameters)

    return Connection


def _put_under_store(faults: _Faults) -> None:
    from palimpsest.storage import store

    connection = _connections(faults)

    class Database(peewee.SqliteDatabase):
        """The store's database; the one that writes gets our connections."""

        def __init__(self, database: str, **options: Any) -> None:
            if "uri" not in options:
                options["factory"] = connection
            super().__init__(database, **options)

    setattr(store, "SqliteDatabase", Database)  # noqa: B010  # a name that the module does not export


def _turn_clock_back() -> None:
    ticks = itertools.count()

    def earlier() -> str:
        at = datetime(2020, 1, 1, tzinfo=UTC) - timedelta(seconds=next(ticks))
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    importlib.import_module("palimpsest.app.compose")  # so that everything that names the clock is there

    for name, module in list(sys.modules.items()):
        if name.startswith("palimpsest.") and hasattr(module, "utc_now"):
            setattr(module, "utc_now", earlier)  # noqa: B010  # what a module type has no word for


def _break_locks(number: int) -> None:
    def flock(_file: Any, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    fcntl.flock = flock


def _contest_leases(lease_s: int) -> None:
    from palimpsest.services.sharing import sharing, watch

    def often(sharing: Any, _: float, *more: Any) -> watch.Watch:
        return usual(sharing, lease_s / 5, *more)

    usual = watch.Watch
    sharing.Sharing = functools.partial(sharing.Sharing, lease_s=lease_s)  # type: ignore[misc, assignment]
    watch.Watch = often  # type: ignore[misc, assignment]


def apply(fault: Fault) -> None:
    """Everything the fault asks for, in this process."""
    _put_under_store(_Faults(fault))
    if fault.hub_lease_s:
        _contest_leases(fault.hub_lease_s)
    if fault.lock_errno:
        _break_locks(fault.lock_errno)
    if fault.clock_goes_back:
        _turn_clock_back()
    if fault.read_timeout_s:
        import httpx

        from palimpsest_clients import http

        http.TIMEOUT = httpx.Timeout(10, read=fault.read_timeout_s)  # type: ignore[misc]
    if fault.max_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (fault.max_files, fault.max_files))
    if fault.max_file_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.max_file_bytes, fault.max_file_bytes))


def main() -> int:
    from palimpsest.cli.main import main as palimpsest

    apply(Fault(**json.loads(os.environ.pop(VARIABLE, "{}"))))
    return palimpsest(["serve", "--stdio"])


NO_LOCKS: Final = errno.ENOLCK

if __name__ == "__main__":
    sys.exit(main())
