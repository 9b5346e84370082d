"""Failures of SQLite and of the disk: their meaning, in words for the user."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

import peewee

from palimpsest.domain.errors import NO_HANDLES, is_out_of_handles

_HANDLES_OF_SQLITE: Final = 8
"""The least number of handles that SQLite needs for a database: the file, its log, the log's index, and temporary
files."""


def is_damage(error: Exception) -> bool:
    """Whether SQLite says that the file is not what it wrote."""
    text = str(error).lower()
    return "malformed" in text or "not a database" in text


def is_unwritable(error: Exception) -> bool:
    """Whether the place cannot be written but may well be readable: it is full, or the user may only read there."""
    text = str(error).lower()
    words = ("full", "no space", "readonly", "read-only", "unable to open", "i/o error")
    return isinstance(error, PermissionError) or any(each in text for each in words)


def explain(error: Exception, directory: Path) -> str:
    """A sentence for the user about a failure of the database or the disk of the store in `directory`."""
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
        return f"The store in {directory} is in use by another program that does not release it. Try again."
    if isinstance(error, (peewee.DatabaseError, sqlite3.Error)) and _are_handles_short():
        return NO_HANDLES
    if isinstance(error, (NotADirectoryError, FileNotFoundError, FileExistsError)):
        return f"The folder {directory} is not there and cannot be made. Check storage.path and XDG_DATA_HOME."
    return f"The store in {directory} could not be used ({type(error).__name__})."


def _are_handles_short() -> bool:
    """Whether too few handles are left for SQLite to open a database. Its error does not say so, and it has closed some
    since."""
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
