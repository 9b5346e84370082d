"""One store: the SQLite file of a workspace folder, its threads, its liveness lock.

One writer thread owns the writing connection, and one call of `run` is one transaction: nothing awaits inside it, so
no other task's rows can be rolled back with it. A second, read-only connection on a thread of its own serves long
reads. Every file is 0600 in a folder that is 0700.
"""

from __future__ import annotations

import asyncio
import functools
import os
import sqlite3
import stat
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

import peewee
from filelock import FileLock, Timeout
from peewee import SqliteDatabase
from playhouse.migrations import Runner

from palimpsest.domain.errors import PalimpsestError, StoreError
from palimpsest.storage import tables

P = ParamSpec("P")
T = TypeVar("T")

DATABASE_NAME = "store.db"
_MIGRATIONS = Path(__file__).with_name("migrations")
_BUSY_TIMEOUT_S = 10
_MIGRATION_TIMEOUT_S = 60


class Store:
    """Made by `open_store`. Its methods may be called from any task of one event loop."""

    def __init__(self, directory: Path, synchronous: Literal["NORMAL", "FULL"]) -> None:
        self.directory = directory
        self.server_id = uuid.uuid4().hex
        """Names this process in leases; its lock file is held for life, which proves it is alive."""
        self._liveness = FileLock(_lock_path(directory, self.server_id), thread_local=False, mode=0o600)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="store-reader")
        self._write_db = SqliteDatabase(
            str(directory / DATABASE_NAME),
            timeout=_BUSY_TIMEOUT_S,
            lock_type="IMMEDIATE",
            pragmas={
                "journal_mode": "wal",
                "synchronous": synchronous,
                "foreign_keys": 1,
                "cache_size": -16_000,
                "temp_store": "memory",
                "secure_delete": 1,
                "journal_size_limit": 64 << 20,
            },
        )
        self._read_db = SqliteDatabase(
            f"{(directory / DATABASE_NAME).as_uri()}?mode=ro",
            uri=True,
            timeout=_BUSY_TIMEOUT_S,
            pragmas={"query_only": 1, "cache_size": -16_000},
        )

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function` on the writer thread, in one transaction.

        A caller that is cancelled meanwhile leaves no doubt: the transaction goes on to its end. Raises StoreError
        when the database cannot be written; whatever `function` raises rolls back and passes through.
        """
        call = functools.partial(self._in_transaction, self._write_db, function, *args, **kwargs)
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._writer, call))

    async def read(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function` on the reader thread, in one read transaction; it sees what was committed before."""
        call = functools.partial(self._in_transaction, self._read_db, function, *args, **kwargs)
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._reader, call))

    def is_alive(self, server_id: str | None) -> bool:
        """Whether the server of that id still runs: whether its lock is held. Its own id is alive."""
        if server_id is None:
            return False
        if server_id == self.server_id:
            return True
        probe = FileLock(_lock_path(self.directory, server_id), thread_local=False, mode=0o600)
        try:
            probe.acquire(timeout=0)
        except Timeout:
            return True
        probe.release()
        _lock_path(self.directory, server_id).unlink(missing_ok=True)
        return False

    async def close(self) -> None:
        """Waits for running transactions, then closes. A closed store is not opened again."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._reader, self._read_db.close)
        await loop.run_in_executor(self._writer, self._write_db.close)
        self._reader.shutdown()
        self._writer.shutdown()
        self._liveness.release()
        _lock_path(self.directory, self.server_id).unlink(missing_ok=True)

    def _in_transaction(
        self, database: SqliteDatabase, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        tables.bind_thread(database)
        try:
            with database.atomic():
                return function(*args, **kwargs)
        except PalimpsestError:
            raise
        except (peewee.DatabaseError, peewee.InterfaceError, sqlite3.Error, OSError) as error:
            raise StoreError(explain(error, self.directory)) from error

    def _open(self) -> None:
        """On the writer thread: schema brought up to date, under a lock, because several servers may start at once."""
        self._liveness.acquire(timeout=0)
        with FileLock(self.directory / "migrate.lock", timeout=_MIGRATION_TIMEOUT_S, mode=0o600):
            tables.bind_thread(self._write_db)
            self._write_db.connect()
            Runner(self._write_db, str(_MIGRATIONS)).up()


async def open_store(directory: Path, synchronous: Literal["NORMAL", "FULL"] = "NORMAL") -> Store:
    """The store in `directory`, made when there is none.

    Raises StoreError, with what to do, when the folder cannot be used or belongs to somebody else.
    """
    try:
        _secure(directory)
        store = Store(directory, synchronous)
        await asyncio.get_running_loop().run_in_executor(store._writer, store._open)
    except StoreError:
        raise
    except (peewee.DatabaseError, sqlite3.Error, OSError) as error:
        raise StoreError(explain(error, directory)) from error
    return store


def explain(error: Exception, directory: Path) -> str:
    """A sentence for the user about a failure of the database or the disk."""
    text = str(error).lower()
    if "full" in text or "no space" in text:
        return f"The disk that holds {directory} is full. Free some space and try again; nothing stored is lost."
    if "readonly" in text or "read-only" in text or isinstance(error, PermissionError) or "unable to open" in text:
        return f"Palimpsest cannot write to {directory}. Check its permissions, or set storage.path to another folder."
    if "malformed" in text or "not a database" in text:
        return f"The store in {directory} is damaged. It was left as it is; copy the folder before doing anything else."
    if "locked" in text or "busy" in text:
        return f"The store in {directory} is in use by another program that does not let go. Try again."
    return f"The store in {directory} could not be used ({type(error).__name__})."


def _lock_path(directory: Path, server_id: str) -> Path:
    return directory / "servers" / f"{server_id}.lock"


def _secure(directory: Path) -> None:
    """Folders 0700 and the database 0600, all ours, before SQLite makes anything in them."""
    for folder in (directory, directory / "servers"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_owner(folder)
        if stat.S_IMODE(folder.stat().st_mode) != 0o700:
            folder.chmod(0o700)
    database = directory / DATABASE_NAME
    # -wal and -shm take the mode of the database file.
    os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    _check_owner(database)
    if stat.S_IMODE(database.stat().st_mode) != 0o600:
        database.chmod(0o600)


def _check_owner(path: Path) -> None:
    if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
        raise StoreError(
            f"{path} belongs to another user, so Palimpsest does not use it. Set storage.path to a folder of your own."
        )
