"""One store: the SQLite file of a workspace folder, with its threads.

One writer thread owns the writing connection, and one call of `run` is one transaction: nothing awaits inside it, so no
other task's rows can be rolled back with it. Two read-only connections on threads of their own serve reads, one of them
the reads that may take long. Every file is 0600 in a folder that is 0700.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import sqlite3
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

import peewee
from peewee import SqliteDatabase

from palimpsest.domain.errors import PalimpsestError, StoreError
from palimpsest.domain.upgrade import TellUpgrade, untold
from palimpsest.machine import machine, utc_now
from palimpsest.storage import backups, sql, upgrades
from palimpsest.storage.directory import DATABASE_NAME, mark_suspect, secure
from palimpsest.storage.failures import explain, is_damage, is_unwritable
from palimpsest.storage.leases import Writer
from palimpsest.storage.maintenance import hidden_words
from palimpsest.storage.maintenance.hidden_words import HiddenWords
from palimpsest.storage.reading_only import ReadingSource, find_source, is_writable
from palimpsest.storage.server_locks import ONLY_SERVER_NAME, ServerLock, migration_lock

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_BUSY_TIMEOUT_S = 10
_CACHE_KIB = -4_000
"""For each connection; SQLite takes kibibytes as a negative number. The system caches the file as well, and a server
runs for weeks."""


class Store:
    """Made by `open_store`. Its methods may be called from any task of one event loop."""

    def __init__(self, directory: Path, synchronous: Literal["NORMAL", "FULL"]) -> None:
        self.directory = directory = directory.absolute()
        self.server_id = machine.new_id()
        """Identifies this process in leases; its lock file is held for life, which proves that it is alive."""
        self._lock = ServerLock(directory, self.server_id)
        self.notes: tuple[str, ...] = ()
        """Sentences for the user about the place of the store."""
        self.mended = HiddenWords()
        """The hidden words that were taken out of use when the store was opened."""
        self.refusal: str | None = None
        """The reason why this server may not write, as a sentence; None when it may."""
        self._file: tuple[int, int] | None = None
        """The device and inode of the open database."""
        self._writer = machine.call_thread("store-writer")
        self._reader = machine.call_thread("store-reader")
        self._searcher = machine.call_thread("store-searcher")
        self._write_db = SqliteDatabase(
            str(directory / DATABASE_NAME),
            timeout=_BUSY_TIMEOUT_S,
            lock_type="IMMEDIATE",
            pragmas={
                "journal_mode": "wal",
                "synchronous": synchronous,
                "foreign_keys": 1,
                "cache_size": _CACHE_KIB,
                "temp_store": "memory",
                "secure_delete": 1,
                "journal_size_limit": 64 << 20,
            },
        )
        self._source: ReadingSource | None = None
        """The source of rows where the database itself cannot be written; None elsewhere."""
        self._read_db, self._search_db = (self._reading_database() for _ in range(2))

    def _reading_database(self) -> SqliteDatabase:
        return SqliteDatabase(
            f"{(self.directory / DATABASE_NAME).as_uri()}?mode=ro" if self._source is None else self._source.uri,
            uri=True,
            timeout=_BUSY_TIMEOUT_S,
            pragmas={"query_only": 1, "cache_size": _CACHE_KIB},
        )

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function` on the writer thread, in one transaction.

        The transaction goes on to its end even if the caller is cancelled meanwhile. Raises StoreError when the
        database cannot be written; an error of `function` rolls back and passes through.
        """
        future = self.begin(function, *args, **kwargs)
        future.add_done_callback(_take_notice)
        return await asyncio.shield(future)

    async def commit(self, function: Callable[[], T], then: Callable[[T], None]) -> T:
        """As `run`, for a transaction that something in memory must follow: `then` is called with the result on the
        event loop as soon as the loop learns of the commit, before the caller goes on, and even if the caller was
        cancelled meanwhile. It is not called when the transaction failed."""
        heard: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        heard.add_done_callback(_take_notice)

        def hear(future: asyncio.Future[T]) -> None:
            try:
                result = future.result()
                then(result)
            except Exception as error:
                heard.set_exception(error)
            else:
                heard.set_result(result)

        self.begin(function).add_done_callback(hear)
        return await asyncio.shield(heard)

    def begin(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """As `run`, for callers that cannot wait for the event loop: the writer thread has the call when this returns.
        Cancelling the future does not stop it."""
        if self.refusal is not None:
            raise StoreError(self.refusal)
        return self._writer.run(functools.partial(self._in_transaction, self._write_db, function, *args, **kwargs))

    async def read(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function` on the reader thread, in one read transaction; it sees every earlier commit."""
        call = functools.partial(self._in_transaction, self._read_db, function, *args, **kwargs)
        return await asyncio.shield(self._reader.run(call))

    async def search(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `read`, on a thread of its own, for calls that may read much, such as a whole conversation. No other read
        waits for it."""
        call = functools.partial(self._in_transaction, self._search_db, function, *args, **kwargs)
        return await asyncio.shield(self._searcher.run(call))

    async def data_version(self) -> int:
        """A number that changes whenever another server has written; this server's own transactions do not change
        it."""
        return await asyncio.shield(self._writer.run(self._data_version))

    def _data_version(self) -> int:
        # On the writing connection, because SQLite does not count a connection's own commits; outside of a transaction,
        # because ours would take the write lock.
        sql.bind_thread(self._write_db)
        try:
            ((version,),) = sql.execute("PRAGMA data_version")
        except (peewee.DatabaseError, peewee.InterfaceError, sqlite3.Error, OSError) as error:
            raise StoreError(explain(error, self.directory)) from error
        return int(version)

    def is_alive(self, server_id: str | None) -> bool:
        """Whether the server with that id still runs, which its lock proves; False for None."""
        return server_id is not None and self._lock.is_alive(server_id)

    def writer(self, now: str) -> Writer:
        """This server as the writer of a unit of work at the time `now`."""
        return Writer(self.server_id, self.is_alive, now)

    async def close(self) -> None:
        """Waits for running transactions, then closes the store, which cannot be opened again."""
        await asyncio.to_thread(self._reader.end, self._read_db.close)
        await asyncio.to_thread(self._searcher.end, self._search_db.close)
        await asyncio.to_thread(self._writer.end, self._write_db.close)
        self._release()

    def _release(self) -> None:
        """Releases the lock and the copy. Called after the threads have ended."""
        self._lock.release()
        if self._source is not None:
            self._source.close()

    @property
    def reads_until_writable(self) -> bool:
        """Whether the store was opened for reading only, because nothing could be written in its place then."""
        return self._source is not None

    def is_writable(self) -> bool:
        """Whether its place can be written now. Blocking."""
        return is_writable(self.directory)

    def _in_transaction(
        self, database: SqliteDatabase, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        sql.bind_thread(database)
        if database is self._write_db:
            self._require_file()
        try:
            with _Transaction(sql.raw_connection(), "BEGIN IMMEDIATE" if database is self._write_db else "BEGIN"):
                return function(*args, **kwargs)
        except (peewee.DatabaseError, peewee.InterfaceError, sqlite3.Error, OSError) as error:
            _let_go(error)
            self._require_file()
            if is_damage(error):
                mark_suspect(self.directory)
            raise StoreError(explain(error, self.directory)) from error
        except BaseException as error:
            _let_go(error)
            raise

    def _require_file(self) -> None:
        """Raises StoreError when the database was deleted, moved or replaced: nobody would find what is written
        then."""
        try:
            status = os.stat(self.directory / DATABASE_NAME)
        except OSError:
            status = None
        if self._file is not None and (status is None or (status.st_dev, status.st_ino) != self._file):
            raise StoreError(
                f"The store in {self.directory} was deleted, moved or replaced while it was in use, so nothing more is "
                "written. Put it back, or restart Palimpsest to begin with what is there now."
            )

    def _open(self, tell: TellUpgrade) -> None:
        """Brings the schema up to date, on the writer thread and under a lock, because several servers may start at
        once."""
        self._lock.take()
        if not self._lock.locks_work:
            self._say_that_locks_fail()
        with migration_lock(self.directory) if self._lock.locks_work else contextlib.nullcontext():
            sql.bind_thread(self._write_db)
            self._write_db.connect()
            status = os.stat(self.directory / DATABASE_NAME)
            self._file = (status.st_dev, status.st_ino)
            upgrades.require_known(self._write_db, self.directory)
            if self.refusal is not None:
                return
            upgrades.upgrade(self._write_db, self.directory, tell)
        self.mended = self._take_back_hidden_words()

    def _take_back_hidden_words(self) -> HiddenWords:
        """Takes hidden and purged words out of use that earlier versions left, and purged ones out of the files. If
        that fails, the store is opened all the same."""
        try:
            if not hidden_words.find():
                return HiddenWords()
            found = self._in_transaction(self._write_db, _mend_hidden_words)
        except (PalimpsestError, peewee.PeeweeException, sqlite3.Error, ValueError, KeyError, TypeError) as error:
            log.warning("the search for hidden words failed: %s", type(error).__name__)
            return HiddenWords()
        if found.of_purged:
            sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for copy in list(backups.kept(self.directory)):
                copy.unlink(missing_ok=True)
        return found

    def _say_that_locks_fail(self) -> None:
        """Says in notes, and in the refusal, that locks do not work: one server writes, the others read."""
        place = f"File locks do not work in {self.directory}, so only one Palimpsest server at a time can write there."
        if self._lock.is_only:
            self.notes = (f"{place} Set storage.path to a folder on a local disk to open several windows.",)
        else:
            self.refusal = (
                f"{place} Another one does, and this one only reads. Close the other window and start this one again, "
                f"or set storage.path to a folder on a local disk. If no other runs on any machine, delete "
                f"{ONLY_SERVER_NAME} there."
            )
            self.notes = (self.refusal,)

    def _abandon(self) -> None:
        """Releases a store that could not be opened."""
        self._writer.end(self._write_db.close)
        self._reader.end(self._read_db.close)
        self._searcher.end(self._search_db.close)
        self._release()

    def _open_to_read(self, source: ReadingSource, why: str) -> None:
        """Opens the store for reading, on the writer thread, instead of `_open`. Raises StoreError for a store of
        another version."""
        self._source = source
        self.refusal = f"{why} Until then conversations can be read, searched and exported."
        self.notes = (self.refusal,)
        self._write_db, self._read_db, self._search_db = (self._reading_database() for _ in range(3))
        sql.bind_thread(self._write_db)
        self._write_db.connect()
        if not upgrades.is_current(self._write_db):
            raise StoreError(f"{why} It was last used by another version, so it cannot be read before that.")


def _mend_hidden_words() -> HiddenWords:
    found = hidden_words.find()
    hidden_words.mend(found, utc_now())
    return found


def _take_notice(future: asyncio.Future[T]) -> None:
    """Logs the kind of an error that no caller waits for any more. Otherwise the garbage collector would log the error
    itself."""
    if not future.cancelled() and isinstance(error := future.exception(), StoreError):
        log.debug("a transaction failed: %s", error.kind)


class _Transaction:
    """A transaction without the nesting that `database.atomic()` supports and pays for: every delta of an answer is one
    of these.

    SQLite rolls back by itself when the disk is full or fails, and then there is nothing left to end.
    """

    __slots__ = ("_begin", "_connection")

    def __init__(self, connection: sqlite3.Connection, begin: str) -> None:
        self._connection = connection
        self._begin = begin

    def __enter__(self) -> None:
        self._connection.execute(self._begin)

    def __exit__(self, kind: object, error: object, frames: object) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


async def open_store(
    directory: Path, synchronous: Literal["NORMAL", "FULL"] = "NORMAL", tell: TellUpgrade = untold
) -> Store:
    """Opens the store in `directory`, and makes it when there is none. `tell` hears of each step when it is an older
    one. A relative path counts from the folder that the process is in now.

    Raises StoreError, with advice, when the folder cannot be used or belongs to another user.
    """
    try:
        secure(directory)
        return await _opened(Store(directory, synchronous), lambda store: store._open(tell))
    except StoreError:
        raise
    except (peewee.DatabaseError, sqlite3.Error, OSError) as error:
        if is_damage(error):
            mark_suspect(directory)
        why = explain(error, directory)
        source = await asyncio.to_thread(find_source, directory / DATABASE_NAME) if is_unwritable(error) else None
        if source is None:
            raise StoreError(why) from error
        return await _opened(Store(directory, synchronous), lambda store: store._open_to_read(source, why))


async def _opened(store: Store, opens: Callable[[Store], None]) -> Store:
    """The store after `opens` was called for it. When that fails, nothing of the store stays held."""
    try:
        await store._writer.run(lambda: opens(store))
    except BaseException as error:
        _let_go(error)
        await asyncio.to_thread(store._abandon)
        raise
    return store


def _let_go(error: BaseException | None) -> None:
    """Drops the cursors that tracebacks hold. A statement that was not read to its end outlives ROLLBACK: until it is
    dropped, the connection reads the store as it was when the statement began, and a closed connection keeps its lock,
    for which the next server to open the store would wait in vain."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__
