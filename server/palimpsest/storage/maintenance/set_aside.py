"""Opening a store that may be damaged: a damaged one is set aside, never overwritten, and an empty one takes its place.

That happens only while no server holds the store, and after all of the file was checked. Checking takes long, so it
happens only after SQLite reported damage (`SUSPECT_NAME`).
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Literal

from filelock import Timeout

from palimpsest.domain.errors import StoreError
from palimpsest.domain.upgrade import TellUpgrade, untold
from palimpsest.storage.backups import now_in_names
from palimpsest.storage.directory import DATABASE_NAME, SUSPECT_NAME
from palimpsest.storage.failures import explain, is_damage
from palimpsest.storage.server_locks import live_servers, migration_lock
from palimpsest.storage.store import Store, open_store


async def open_sound_store(
    directory: Path, synchronous: Literal["NORMAL", "FULL"], tell: TellUpgrade = untold
) -> tuple[Store, Path | None]:
    """The store, and the path of the damaged one that was in its place; None when there was none.

    Raises StoreError as `open_store`, and when a damaged store is held by another server.
    """
    suspect = directory / SUSPECT_NAME
    aside: Path | None = None
    if suspect.exists() and not live_servers(directory):
        aside = await asyncio.to_thread(_set_aside, directory)
    try:
        return await open_store(directory, synchronous, tell), aside
    except StoreError:
        if not suspect.exists() or (aside := await asyncio.to_thread(_set_aside, directory)) is None:
            raise
        return await open_store(directory, synchronous, tell), aside


def _set_aside(directory: Path) -> Path | None:
    """The path of the damaged database now; None when it is sound after all."""
    try:
        with migration_lock(directory):
            if live_servers(directory):
                raise StoreError(
                    f"The store in {directory} is damaged, and another server holds it. Close the other windows on "
                    "this folder, then open it again: the damaged store is then set aside and kept."
                )
            aside = None if _is_sound(directory / DATABASE_NAME) else _move(directory)
            (directory / SUSPECT_NAME).unlink(missing_ok=True)
            return aside
    except Timeout as error:
        raise StoreError(f"The store in {directory} is being opened by another server. Try again.") from error
    except (sqlite3.Error, OSError) as error:
        raise StoreError(explain(error, directory)) from error


def _is_sound(database: Path) -> bool:
    try:
        with contextlib.closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            found: list[tuple[str]] = connection.execute("PRAGMA integrity_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return False
        raise
    return found == [("ok",)]


def _move(directory: Path) -> Path:
    """Moves the log first: left behind, it would be taken for the log of the next database."""
    aside = directory / f"damaged-{now_in_names()}"
    aside.mkdir(mode=0o700)
    for name in (f"{DATABASE_NAME}-wal", f"{DATABASE_NAME}-shm", DATABASE_NAME):
        with contextlib.suppress(FileNotFoundError):
            (directory / name).rename(aside / name)
    return aside
