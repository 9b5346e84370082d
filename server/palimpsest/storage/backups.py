"""Whole copies of a store, made while servers use it.

Every copy is checked before it gets its name, and nothing is overwritten. Automatic copies are in `backups/` beside the
database; the newest two of each occasion stay. Copies hold text, so a purge has to remove them (`kept`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from palimpsest.domain.errors import InvalidRequest, StoreError
from palimpsest.machine import machine
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.failures import explain

FOLDER_NAME: Final = "backups"
_KEPT_OF_EACH: Final = 2
_BUSY_TIMEOUT_S: Final = 10

Occasion = Literal["migration", "repair", "request"]
"""The reason for a copy: a change of an older schema, a repair, or the user's request."""


def now_in_names() -> str:
    """The present moment in the form of file names: later names sort behind."""
    return machine.now().strftime("%Y%m%dT%H%M%S%fZ")


def back_up(database: Path, target: Path) -> int:
    """Copies the database as of one moment, with everything committed, into one file that only its owner may read.
    Returns its size in bytes.

    Raises InvalidRequest when `target` exists, StoreError when the copy is damaged, sqlite3.Error and OSError as they
    come. Then there is no file.
    """
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        _copy(database, partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        size_bytes = partial.stat().st_size
        # The name is taken first: a rename alone would put the copy in the place of another file.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        partial.replace(target)
    except FileExistsError as error:
        raise InvalidRequest(f"{target} exists already. Choose another name; nothing was overwritten.") from error
    finally:
        partial.unlink(missing_ok=True)
    return size_bytes


def _copy(database: Path, partial: Path) -> None:
    uri = f"{database.resolve().as_uri()}?mode=ro"
    with (
        contextlib.closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S)) as source,
        contextlib.closing(sqlite3.connect(partial, timeout=_BUSY_TIMEOUT_S)) as copy,
    ):
        source.backup(copy)
        # One file, with nothing beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
        found = copy.execute("PRAGMA integrity_check(1)").fetchone()
    if found != ("ok",):
        raise StoreError(
            f"The copy of {database} is damaged, as the store itself is, so it was not kept. "
            "`palimpsest rescue` reads the part that is left of it."
        )


def keep(database: Path, occasion: Occasion) -> Path:
    """Makes a copy in `backups/`, named after the occasion, the version of its schema and the moment. Of automatic
    copies, the newest two of the occasion stay. Returns its path. Raises as `back_up`."""
    folder = database.parent / FOLDER_NAME
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{occasion}-{_schema(database)}-{now_in_names()}.db"
    back_up(database, target)
    if occasion != "request":
        for old in sorted(folder.glob(f"{occasion}-*.db"), key=_moment)[:-_KEPT_OF_EACH]:
            old.unlink(missing_ok=True)
    return target


def _schema(database: Path) -> str:
    """The number of the last migration, such as `0003`."""
    with contextlib.closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as source:
        (name,) = source.execute("SELECT max(name) FROM schema_migration").fetchone()
    return str(name).partition("_")[0]


def kept(directory: Path) -> Iterator[Path]:
    """The copies in the folder of a store, those made on request among them, oldest first."""
    yield from sorted((directory / FOLDER_NAME).glob("*.db"), key=_moment)


def _moment(path: Path) -> str:
    return path.stem.rpartition("-")[2]


def copy_store(directory: Path, output: Path | None) -> Path:
    """A checked copy of the store in `directory`, made beside running servers: at `output`, or at a new name among the
    store's backups when `output` is None. Returns its path.

    Raises InvalidRequest when `output` exists or there is no store, StoreError when it cannot be copied.
    """
    database = directory / DATABASE_NAME
    if not database.is_file():
        raise InvalidRequest(f"There is no store in {directory}, so there is nothing to copy.")
    try:
        if output is None:
            return keep(database, "request")
        back_up(database, output)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(explain(error, directory)) from error
    return output
