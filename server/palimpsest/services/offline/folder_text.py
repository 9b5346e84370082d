"""The text of a workspace folder, for quoting: what a person would call its files, and nothing from outside it.

What may be read at all is decided by `workspace_files`; left out besides are binary, empty and large files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from palimpsest.domain.deny_list import holds_private_key
from palimpsest.domain.offline.passages import FileSource, SourceText
from palimpsest.services.workspace.files import Found, WorkspaceFiles

MAX_FILE_BYTES: Final = 1024 * 1024
"""Larger files are left out."""
MAX_FILES: Final = 5_000
MAX_TOTAL_BYTES: Final = 64 * 1024 * 1024
MAX_ENTRIES: Final = 200_000
"""Names looked at, so that a folder of a million pictures does not take minutes."""
BINARY_PROBE_BYTES: Final = 8 * 1024


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The texts of a folder at one moment."""

    files: tuple[SourceText, ...]
    """Nearest the root first, then by name."""
    is_truncated: bool
    """Whether MAX_FILES, MAX_TOTAL_BYTES or MAX_ENTRIES cut it short."""


@dataclass(frozen=True, slots=True)
class _Cached:
    size: int
    mtime_ns: int
    inode: int
    text: str | None
    """None for a file that is not text or must not be read."""


class FolderText:
    """Reads one folder again and again, keeping what has not changed. Blocking, and safe between threads."""

    def __init__(self, root: Path) -> None:
        self._files = WorkspaceFiles(root)
        self._cache: dict[str, _Cached] = {}
        self._lock = Lock()

    def read(self) -> FolderFiles:
        """What the folder holds now. What cannot be read is left out; a folder that is gone is empty."""
        with self._lock:
            return self._read()

    def _read(self) -> FolderFiles:
        kept: dict[str, _Cached] = {}
        files: list[SourceText] = []
        n_bytes = 0
        walk = self._files.walk(max_entries=MAX_ENTRIES)
        is_truncated = False
        for found in walk:
            if found.is_folder or not 0 < found.status.st_size <= MAX_FILE_BYTES:
                continue
            cached = self._text(found)
            kept[found.path] = cached
            if cached.text is None:
                continue
            if len(files) == MAX_FILES or n_bytes + cached.size > MAX_TOTAL_BYTES:
                is_truncated = True
                break
            n_bytes += cached.size
            files.append(SourceText(FileSource(found.path), cached.text))
        self._cache = kept
        return FolderFiles(tuple(files), is_truncated or walk.is_truncated)

    def _text(self, found: Found) -> _Cached:
        identity = found.status.st_size, found.status.st_mtime_ns, found.status.st_ino
        cached = self._cache.get(found.path)
        if cached is not None and (cached.size, cached.mtime_ns, cached.inode) == identity:
            return cached
        try:
            return _Cached(*identity, _decode(self._files.read_below(found.parts, MAX_FILE_BYTES)))
        except OSError:
            return _Cached(*identity, None)


def _decode(data: bytes) -> str | None:
    """The text of a file; None when it is binary, or a private key under another name."""
    head = data[:BINARY_PROBE_BYTES]
    if b"\0" in head or holds_private_key(head):
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
