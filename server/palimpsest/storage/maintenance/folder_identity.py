"""The identity of a store's folder, as the store remembers it, so that the store is found again when the folder was
moved."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.tables import Meta

TOO_LONG: Final = "too long"
"""Replaces the first commit where looking for it took too long, so that it is not done again."""
_ADOPTED_BY: Final = "folder.adopted_by"
_DECLINED: Final = "declined."


@dataclass(frozen=True, slots=True)
class FolderIdentity:
    """The path of a folder, and what identifies it under another path."""

    path: str
    """Resolved."""
    id: str
    """Its name in the file system, which a rename keeps."""
    git_root: str = ""
    """The first commit of its repository; empty when it has none, or nobody looked; or `TOO_LONG`."""


def remember(identity: FolderIdentity) -> None:
    for name in identity.__slots__:
        _write(f"folder.{name}", getattr(identity, name))


def recall() -> FolderIdentity | None:
    """The remembered identity; None when there is none yet."""
    rows = {row.key: row.value for row in Meta.select().where(Meta.key.startswith("folder."))}
    return _identity(rows)


def mark_adopted(path: str) -> None:
    """Notes that the conversations of this store were brought to the folder at `path`: they are not offered again."""
    _write(_ADOPTED_BY, path)


def decline(directory: Path) -> None:
    """Notes that the user does not want the other store: it is not offered to this one again."""
    _write(f"{_DECLINED}{directory.name}", "1")


def declined() -> set[str]:
    """The names of the directories of declined stores."""
    rows = Meta.select(Meta.key).where(Meta.key.startswith(_DECLINED))
    return {row.key.removeprefix(_DECLINED) for row in rows}


def peek(directory: Path) -> FolderIdentity | None:
    """The identity in a store that is not open here, if it has conversations that were not adopted. None also when the
    store cannot be read. Changes nothing."""
    uri = f"{(directory / DATABASE_NAME).as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            rows = dict(database.execute("SELECT key, value FROM meta WHERE key GLOB 'folder.*'"))
            ((has_conversations,),) = database.execute("SELECT EXISTS (SELECT 1 FROM conversation)")
    except (sqlite3.Error, OSError):
        return None
    return _identity(rows) if has_conversations and _ADOPTED_BY not in rows else None


def _identity(rows: dict[str, str]) -> FolderIdentity | None:
    names = FolderIdentity.__slots__
    found = {name: rows[f"folder.{name}"] for name in names if f"folder.{name}" in rows}
    return FolderIdentity(**found) if len(found) == len(names) else None


def _write(key: str, value: str) -> None:
    Meta.insert(key=key, value=value).on_conflict_replace().execute()
