"""SQL statements on the database of the current thread.

A process holds one store per workspace folder, and each store has threads of its own (`Store`), so a statement needs no
connection as an argument. What the functions raise is SQLite's own.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence

from peewee import DatabaseProxy, SqliteDatabase

_thread = threading.local()


class ThreadDatabase(DatabaseProxy):
    """Stands for the database that the current thread was bound to."""

    @property
    def obj(self) -> SqliteDatabase | None:
        return getattr(_thread, "database", None)

    @obj.setter
    def obj(self, _value: object) -> None:
        """peewee initializes proxies with None; a thread is bound by `bind_thread` only."""


def bind_thread(database: SqliteDatabase) -> None:
    """From now on, statements and models that are used on this thread mean `database`."""
    _thread.database = database


def raw_connection() -> sqlite3.Connection:
    """The connection under the database of this thread."""
    connection: sqlite3.Connection = _thread.database.connection()
    return connection


def execute(sql: str, *parameters: object) -> sqlite3.Cursor:
    """Carries out one statement; the cursor has its rows, `lastrowid` and `rowcount`."""
    return raw_connection().execute(sql, parameters)


def execute_many(sql: str, parameters: Iterable[Sequence[object]]) -> None:
    """Carries out the statement once for each of the parameters."""
    raw_connection().executemany(sql, parameters)
