"""The directory of a store: the names of its files, and who may read them."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Final

from palimpsest.domain.errors import StoreError

DATABASE_NAME: Final = "store.db"
SUSPECT_NAME: Final = "suspect"
"""A file that exists from the moment SQLite called the database damaged until somebody has checked it."""


def secure(directory: Path) -> None:
    """Makes the directory (0700) and an empty database (0600) where there are none, before SQLite makes anything in it.

    Raises StoreError when one of them belongs to another user, OSError when they cannot be made.
    """
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


def mark_suspect(directory: Path) -> None:
    """Makes the next server that opens the store check all of it, which takes too long to do every time."""
    with contextlib.suppress(OSError):
        os.close(os.open(directory / SUSPECT_NAME, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
