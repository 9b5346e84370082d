"""A disk that fails when it is told to: at any statement, in the middle of a transaction, or at its commit."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any, Final

from tests.simulation.scheduler import NODE

_WRITES: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE", "COMMIT", "WITH")


@dataclass(slots=True)
class Disk:
    """The disk of the machine on which all servers run."""

    n_until: int = 0
    """Statements that still succeed."""
    n_failing: int = 0
    """Statements that fail after those."""
    is_full: bool = False
    """Whether only what writes fails, as on a full disk; SQLite then ends the transaction by itself."""
    n_failed: int = 0

    def fail(self, n_until: int, n_failing: int, *, is_full: bool) -> None:
        self.n_until, self.n_failing, self.is_full = n_until, n_failing, is_full

    def repair(self) -> None:
        self.n_failing = 0

    def carry_out(self, statement: str, connection: sqlite3.Connection) -> None:
        """Before each statement of a server. Raises what SQLite would."""
        if not self.n_failing or NODE.get(None) is None or statement == "ROLLBACK":
            return
        if self.n_until:
            self.n_until -= 1
            return
        if not self.is_full:
            self.n_failing -= 1
            self.n_failed += 1
            raise sqlite3.OperationalError("disk I/O error")
        if statement.lstrip()[:10].upper().startswith(_WRITES):
            self.n_failing -= 1
            self.n_failed += 1
            if connection.in_transaction:
                sqlite3.Connection.execute(connection, "ROLLBACK")
            raise sqlite3.OperationalError("database or disk is full")


def connections_on(disk: Disk) -> Any:
    """Stands for `sqlite3.connect`: connections of a server ask the disk first, and end with its process."""

    class Cursor(sqlite3.Cursor):
        def execute(self, sql: str, *rest: Any) -> Any:
            disk.carry_out(sql, self.connection)
            return super().execute(sql, *rest)

        def executemany(self, sql: str, *rest: Any) -> Any:
            disk.carry_out(sql, self.connection)
            return super().executemany(sql, *rest)

    class Connection(sqlite3.Connection):
        def cursor(self, *_: Any, **__: Any) -> Any:
            return super().cursor(Cursor)

        def execute(self, sql: str, *rest: Any) -> Any:
            disk.carry_out(sql, self)
            return super().execute(sql, *rest)

        def executemany(self, sql: str, *rest: Any) -> Any:
            disk.carry_out(sql, self)
            return super().executemany(sql, *rest)

    real = sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        if (node := NODE.get(None)) is None or arguments[:1] == (":memory:",):  # which is on no disk
            plain: sqlite3.Connection = real(*arguments, **options)
            return plain
        connection: sqlite3.Connection = real(*arguments, **{**options, "factory": Connection})
        node.held.append(connection.close)
        return connection

    return connect
