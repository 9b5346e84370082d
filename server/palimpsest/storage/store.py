"""One store: the SQLite file of a workspace folder, its threads, its liveness lock.

One writer thread owns the writing connection, and one call of `run` is one transaction: nothing awaits inside it, so
no other task's rows can be rolled back with it. Two read-only connections on threads of their own serve reads, one of
them those that may take long. Every file is 0600 in a folder that is 0700.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import logging
import os
import sqlite3
import stat
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

import peewee
from filelock import FileLock, SoftFileLock, Timeout
from peewee import SqliteDatabase
from playhouse.migrations import Runner

from palimpsest.domain.errors import NO_HANDLES, InvalidRequest, PalimpsestError, StoreError, is_out_of_handles
from palimpsest.machine import machine, utc_now
from palimpsest.storage import backups, tables
from palimpsest.storage.leases import Writer
from palimpsest.storage.maintenance import hidden_words
from palimpsest.storage.maintenance.hidden_words import HiddenWords
from palimpsest.storage.reading_only import ReadingSource, find_source, is_writable

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

DATABASE_NAME = "store.db"
MIGRATIONS = Path(__file__).with_name("migrations")
SUSPECT_NAME = "suspect"
"""A file that is there after SQLite called the database damaged, until it was looked at."""
_BUSY_TIMEOUT_S = 10
_MIGRATION_TIMEOUT_S = 60
_LIVENESS_TIMEOUT_S = 5
"""Somebody who asks whether a server lives holds its lock for a moment."""
ONLY_SERVER_NAME = "only-server.lock"
"""A file that is there while a server writes in a place where file locks do not work."""
_CACHE_KIB = -4_000
"""Of each connection, as SQLite wants it said. The system caches the file as well, and a server runs for weeks."""
_HANDLES_OF_SQLITE = 8
"""At least as many as it opens for a database: the file, its log, the log's index, and what it sorts in."""
_NO_LOCKS = frozenset((errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL))
"""What a file system answers that has no locks."""


class Store:
    """Made by `open_store`. Its methods may be called from any task of one event loop."""

    def __init__(self, directory: Path, synchronous: Literal["NORMAL", "FULL"]) -> None:
        self.directory = directory
        self.server_id = machine.new_id()
        """Names this process in leases; its lock file is held for life, which proves it is alive."""
        self._liveness = FileLock(
            _lock_path(directory, self.server_id), thread_local=False, mode=0o600, fallback_to_soft=False
        )
        self._only = SoftFileLock(directory / ONLY_SERVER_NAME, thread_local=False, mode=0o600)
        """Held instead where file locks do not work."""
        self.notes: tuple[str, ...] = ()
        """What the user should know about the place, in sentences."""
        self.mended = HiddenWords()
        """What was taken back when it was opened."""
        self.refusal: str | None = None
        """Why this server may not write; None when it may."""
        self._file: tuple[int, int] | None = None
        """What the file system calls the database that is open."""
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
        """What is read instead of the database itself, where that cannot be written."""
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

        A caller that is cancelled meanwhile leaves no doubt: the transaction goes on to its end. Raises StoreError
        when the database cannot be written; whatever `function` raises rolls back and passes through.
        """
        future = self.begin(function, *args, **kwargs)
        future.add_done_callback(_take_notice)
        return await asyncio.shield(future)

    async def commit(self, function: Callable[[], T], then: Callable[[T], None]) -> T:
        """As `run`, for a transaction that something in memory must follow: `then` is called with the result on the
        event loop as soon as the commit is heard of, before the caller goes on, and also when the caller was cancelled
        meanwhile. It is not called when the transaction failed."""
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
        """As `run`, for who cannot wait for the loop to come by: the call is with the writer thread when this returns.
        Cancelling the future does not stop it."""
        if self.refusal is not None:
            raise StoreError(self.refusal)
        return self._writer.run(functools.partial(self._in_transaction, self._write_db, function, *args, **kwargs))

    async def read(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function` on the reader thread, in one read transaction; it sees what was committed before."""
        call = functools.partial(self._in_transaction, self._read_db, function, *args, **kwargs)
        return await asyncio.shield(self._reader.run(call))

    async def search(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `read`, on a thread of its own: for what may look at much of the store. Nothing else waits behind it."""
        call = functools.partial(self._in_transaction, self._search_db, function, *args, **kwargs)
        return await asyncio.shield(self._searcher.run(call))

    async def data_version(self) -> int:
        """Another number whenever another server has written; this one's own transactions do not change it."""
        return await asyncio.shield(self._writer.run(self._data_version))

    def _data_version(self) -> int:
        # On the writing connection, because SQLite does not count a connection's own commits; outside a transaction,
        # because ours would take the write lock.
        tables.bind_thread(self._write_db)
        try:
            ((version,),) = tables.execute("PRAGMA data_version")
        except (peewee.DatabaseError, peewee.InterfaceError, sqlite3.Error, OSError) as error:
            raise StoreError(explain(error, self.directory)) from error
        return int(version)

    def is_alive(self, server_id: str | None) -> bool:
        """Whether the server of that id still runs: whether its lock is held. Its own id is alive."""
        if server_id is None:
            return False
        if server_id == self.server_id:
            return True
        if self.notes:  # no lock tells; but who may write here is the only one
            return self.refusal is not None
        if _is_held(_lock_path(self.directory, server_id)):
            return True
        _lock_path(self.directory, server_id).unlink(missing_ok=True)
        return False

    def writer(self, now: str) -> Writer:
        """This server, as who writes at the time `now`."""
        return Writer(self.server_id, self.is_alive, now)

    async def close(self) -> None:
        """Waits for running transactions, then closes. A closed store is not opened again."""
        await asyncio.to_thread(self._reader.end, self._read_db.close)
        await asyncio.to_thread(self._searcher.end, self._search_db.close)
        await asyncio.to_thread(self._writer.end, self._write_db.close)
        self._release()

    def _release(self) -> None:
        """What it holds of the place, after its threads."""
        self._liveness.release()
        self._only.release()
        with contextlib.suppress(OSError):
            _lock_path(self.directory, self.server_id).unlink(missing_ok=True)
        if self._source is not None:
            self._source.close()

    @property
    def reads_until_writable(self) -> bool:
        """Whether it was opened for reading only because nothing could be written in its place then."""
        return self._source is not None

    def is_writable(self) -> bool:
        """Whether its place can be written now. Blocking."""
        return is_writable(self.directory)

    def _in_transaction(
        self, database: SqliteDatabase, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        tables.bind_thread(database)
        if database is self._write_db:
            self._require_file()
        try:
            with _Transaction(tables.raw_connection(), "BEGIN IMMEDIATE" if database is self._write_db else "BEGIN"):
                return function(*args, **kwargs)
        except (peewee.DatabaseError, peewee.InterfaceError, sqlite3.Error, OSError) as error:
            _let_go(error)
            self._require_file()
            if is_damage(error):
                _mark_suspect(self.directory)
            raise StoreError(explain(error, self.directory)) from error
        except BaseException as error:
            _let_go(error)
            raise

    def _require_file(self) -> None:
        """Raises StoreError when the database was deleted, moved or replaced: what is written then is in no file that
        anybody finds again."""
        try:
            status = os.stat(self.directory / DATABASE_NAME)
        except OSError:
            status = None
        if self._file is not None and (status is None or (status.st_dev, status.st_ino) != self._file):
            raise StoreError(
                f"The store in {self.directory} was deleted, moved or replaced while it was in use, so nothing more is "
                "written. Put it back, or restart Palimpsest to begin with what is there now."
            )

    def _open(self) -> None:
        """On the writer thread: schema brought up to date, under a lock, because several servers may start at once."""
        locks_work = self._prove_alive()
        if not locks_work:
            self._be_the_only_server()
        with opening_lock(self.directory) if locks_work else contextlib.nullcontext():
            tables.bind_thread(self._write_db)
            self._write_db.connect()
            status = os.stat(self.directory / DATABASE_NAME)
            self._file = (status.st_dev, status.st_ino)
            runner = Runner(self._write_db, str(MIGRATIONS))
            status = runner.status()
            if newer := [each.name for each in status if each.path is None]:
                raise StoreError(
                    f"The store in {self.directory} was last used by a newer Palimpsest ({', '.join(newer)}), and this "
                    "version cannot read it. Install the newest Palimpsest, then open the folder again; nothing was "
                    "changed."
                )
            if self.refusal is not None:
                return
            if len({bool(each.applied) for each in status}) == 2:
                # An older store: some migrations were applied, some were not.
                backups.keep(self.directory / DATABASE_NAME, "migration")
            runner.up()
        self.mended = self._take_back_hidden_words()

    def _take_back_hidden_words(self) -> HiddenWords:
        """What earlier versions left of hidden and purged words goes out of use, and what was purged out of the files.
        A store in which that cannot be done is opened all the same."""
        try:
            if not hidden_words.find():
                return HiddenWords()
            found = self._in_transaction(self._write_db, _mend_hidden_words)
        except (PalimpsestError, peewee.PeeweeException, sqlite3.Error, ValueError, KeyError, TypeError) as error:
            log.warning("what is left of hidden words could not be looked for: %s", type(error).__name__)
            return HiddenWords()
        if found.of_purged:
            tables.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for copy in list(backups.kept(self.directory)):
                copy.unlink(missing_ok=True)
        return found

    def _prove_alive(self) -> bool:
        """Takes the lock that others ask for. Whether it keeps anybody out."""
        path = _lock_path(self.directory, self.server_id)
        try:
            self._liveness.acquire(timeout=_LIVENESS_TIMEOUT_S)
            return _is_held(path)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            path.unlink(missing_ok=True)
            return False

    def _be_the_only_server(self) -> None:
        """Where nothing proves that a server is alive, one of them writes, and the others read."""
        place = f"File locks do not work in {self.directory}, so only one Palimpsest server at a time can write there."
        self.notes = (f"{place} Set storage.path to a folder on a local disk to open several windows.",)
        try:
            self._only.acquire(timeout=0)
        except Timeout:
            self.refusal = (
                f"{place} Another one does, and this one only reads. Close the other window and start this one again, "
                f"or set storage.path to a folder on a local disk. If no other runs on any machine, delete "
                f"{ONLY_SERVER_NAME} there."
            )
            self.notes = (self.refusal,)

    def _abandon(self) -> None:
        """Leaves a store that could not be opened as it is, and lets go of it."""
        self._writer.end(self._write_db.close)
        self._reader.end(self._read_db.close)
        self._searcher.end(self._search_db.close)
        self._release()

    def _open_to_read(self, source: ReadingSource, why: str) -> None:
        """On the writer thread, instead of `_open`. Raises StoreError for a store of another version."""
        self._source = source
        self.refusal = f"{why} Until then conversations can be read, searched and exported."
        self.notes = (self.refusal,)
        self._write_db, self._read_db, self._search_db = (self._reading_database() for _ in range(3))
        tables.bind_thread(self._write_db)
        self._write_db.connect()
        if any(each.path is None or not each.applied for each in Runner(self._write_db, str(MIGRATIONS)).status()):
            raise StoreError(f"{why} It was last used by another version, so it cannot be read before that.")


def _mend_hidden_words() -> HiddenWords:
    found = hidden_words.find()
    hidden_words.mend(found, utc_now())
    return found


def _take_notice(future: asyncio.Future[T]) -> None:
    """An error that nobody waits for any more is logged here, by its kind, instead of when the collector finds it."""
    if not future.cancelled() and isinstance(error := future.exception(), StoreError):
        log.debug("a transaction failed: %s", error.kind)


class _Transaction:
    """What `database.atomic()` is, without what that does for nested ones: every delta of an answer is one of these.

    A full disk or a failing one makes SQLite roll back by itself, and then there is nothing left to end."""

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


async def open_store(directory: Path, synchronous: Literal["NORMAL", "FULL"] = "NORMAL") -> Store:
    """The store in `directory`, made when there is none.

    Raises StoreError, with what to do, when the folder cannot be used or belongs to somebody else.
    """
    try:
        _secure(directory)
        return await _opened(Store(directory, synchronous), Store._open)
    except StoreError:
        raise
    except (peewee.DatabaseError, sqlite3.Error, OSError) as error:
        if is_damage(error):
            _mark_suspect(directory)
        why = explain(error, directory)
        source = await asyncio.to_thread(find_source, directory / DATABASE_NAME) if is_unwritable(error) else None
        if source is None:
            raise StoreError(why) from error
        return await _opened(Store(directory, synchronous), lambda store: store._open_to_read(source, why))


async def _opened(store: Store, opens: Callable[[Store], None]) -> Store:
    """The store, or nothing held of it."""
    try:
        await store._writer.run(lambda: opens(store))
    except BaseException as error:
        _let_go(error)
        await asyncio.to_thread(store._abandon)
        raise
    return store


def copy_store(directory: Path, output: Path | None) -> Path:
    """Where a checked copy of the store is now: `output`, or a file among its backups. Safe beside servers.

    Raises InvalidRequest when `output` exists or there is no store, StoreError when it cannot be copied.
    """
    database = directory / DATABASE_NAME
    if not database.is_file():
        raise InvalidRequest(f"There is no store in {directory}, so there is nothing to copy.")
    try:
        if output is None:
            return backups.keep(database, "request")
        backups.back_up(database, output)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(explain(error, directory)) from error
    return output


def opening_lock(directory: Path) -> FileLock:
    """Held by whoever brings the database up to date, or takes it out of the way: one at a time."""
    return FileLock(directory / "migrate.lock", timeout=_MIGRATION_TIMEOUT_S, mode=0o600)


def live_servers(directory: Path) -> list[str]:
    """The ids of the servers that hold the store now. Changes nothing."""
    return [path.stem for path in sorted((directory / "servers").glob("*.lock")) if _is_held(path)]


def _is_held(path: Path) -> bool:
    probe = FileLock(path, thread_local=False, mode=0o600)
    try:
        probe.acquire(timeout=0)
    except Timeout:
        return True
    probe.release()
    return False


def _let_go(error: BaseException | None) -> None:
    """Of the cursors that tracebacks hold. A statement that was not read to its end outlives ROLLBACK: until it is
    dropped, the connection reads the store as it was when the statement began, and a closed one keeps its lock, for
    which the next to open the store would wait in vain."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def is_damage(error: Exception) -> bool:
    """Whether SQLite says that the file is not what it wrote."""
    text = str(error).lower()
    return "malformed" in text or "not a database" in text


def is_unwritable(error: Exception) -> bool:
    """Whether the place may well be readable, and cannot be written: it is full, or the user may only read there."""
    text = str(error).lower()
    words = ("full", "no space", "readonly", "read-only", "unable to open", "i/o error")
    return isinstance(error, PermissionError) or any(each in text for each in words)


def _mark_suspect(directory: Path) -> None:
    """So that the next to open the store looks at all of it, which takes too long to do every time."""
    with contextlib.suppress(OSError):
        os.close(os.open(directory / SUSPECT_NAME, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _are_handles_short() -> bool:
    """Whether SQLite could not have opened what it needs. It does not say so, and has let go of some since."""
    taken: list[int] = []
    try:
        while len(taken) < _HANDLES_OF_SQLITE:
            taken.append(os.dup(2))
    except OSError as refused:
        return is_out_of_handles(refused)
    finally:
        for handle in taken:
            os.close(handle)
    return False


def explain(error: Exception, directory: Path) -> str:
    """A sentence for the user about a failure of the database or the disk."""
    text = str(error).lower()
    if is_out_of_handles(error) or ("unable to open" in text and _are_handles_short()):
        return NO_HANDLES
    if "full" in text or "no space" in text:
        return f"The disk that holds {directory} is full. Free some space and try again; nothing stored is lost."
    if "readonly" in text or "read-only" in text or isinstance(error, PermissionError) or "unable to open" in text:
        return f"Palimpsest cannot write to {directory}. Check its permissions, or set storage.path to another folder."
    if is_damage(error):
        return f"The store in {directory} is damaged. It was left as it is; copy the folder before doing anything else."
    if "i/o error" in text:
        # SQLite's words for a shared-memory file that cannot grow as well.
        return f"The disk that holds {directory} is full or failing. Check it, then try again."
    if "locked" in text or "busy" in text:
        return f"The store in {directory} is in use by another program that does not let go. Try again."
    if isinstance(error, (peewee.DatabaseError, sqlite3.Error)) and _are_handles_short():
        return NO_HANDLES
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
