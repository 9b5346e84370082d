"""The text of a workspace folder, for quoting: what a person would call its files, and nothing from outside it.

Left out are links, what `.gitignore` files in the folder exclude, folders of tools and dependencies, names that hold
secrets (DENIED_NAMES), binary and large files. No link is followed, not even one that is put in place between the look
and the read (invariant 12): every file is opened step by step from the folder's own handle.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock
from typing import Final

from pathspec import GitIgnoreSpec

from palimpsest.domain.quoting.passages import FileSource, SourceText

MAX_FILE_BYTES: Final = 1024 * 1024
"""Larger files are left out."""
MAX_FILES: Final = 5_000
MAX_TOTAL_BYTES: Final = 64 * 1024 * 1024
MAX_ENTRIES: Final = 200_000
"""Names looked at, so that a folder of a million pictures does not take minutes."""
BINARY_PROBE_BYTES: Final = 8 * 1024

DENIED_NAMES: Final = (
    ".aws",
    ".azure",
    ".docker",
    ".env*",
    ".git-credentials",
    ".gnupg",
    ".htpasswd",
    ".kube",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".ssh",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.p12",
    "*.pem",
    "*.pfx",
    "*.ppk",
    "_netrc",
    "client_secret*.json",
    "credentials",
    "credentials*.json",
    "credentials*.toml",
    "credentials*.y*ml",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "id_rsa*",
    "secrets*.json",
    "secrets*.toml",
    "secrets*.y*ml",
    "service*account*.json",
)
"""Names of files and folders that hold secrets, in lower case: never read for a model or a quote."""

SKIPPED_FOLDERS: Final = frozenset(
    (
        ".bzr",
        ".cache",
        ".eggs",
        ".git",
        ".gradle",
        ".hg",
        ".hypothesis",
        ".import_linter_cache",
        ".jj",
        ".mypy_cache",
        ".next",
        ".nox",
        ".nuxt",
        ".parcel-cache",
        ".pnpm-store",
        ".pytest_cache",
        ".ruff_cache",
        ".svelte-kit",
        ".svn",
        ".terraform",
        ".tox",
        ".turbo",
        ".venv",
        ".yarn",
        "__pycache__",
        "bower_components",
        "node_modules",
        "site-packages",
        "venv",
    )
)
"""Folders that tools own, whatever `.gitignore` says. Also left out: folders marked by MARKERS."""
MARKERS: Final = frozenset(("pyvenv.cfg", "CACHEDIR.TAG"))
"""A folder with a file of this name is a virtual environment or a cache."""

_PRIVATE_KEY: Final = b"PRIVATE KEY-----"
_CAN_STEP: Final = os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")
_READ: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER: Final = getattr(os, "O_DIRECTORY", 0)


def is_denied(path: str) -> bool:
    """Whether a path, with `/` or `\\`, names a secret or lies in a folder of secrets."""
    names = path.lower().replace("\\", "/").split("/")
    return any(fnmatchcase(name, pattern) for name in names for pattern in DENIED_NAMES)


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


@dataclass(frozen=True, slots=True)
class _Folder:
    parts: tuple[str, ...]
    ignores: tuple[tuple[int, GitIgnoreSpec], ...]
    """How many parts lead to each `.gitignore`, and what it says; deepest first."""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    status: os.stat_result
    """Of the entry itself: a link is not followed."""


class FolderText:
    """Reads one folder again and again, keeping what has not changed. Blocking, and safe between threads."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        self._cache: dict[str, _Cached] = {}
        self._lock = Lock()

    def read(self) -> FolderFiles:
        """What the folder holds now. What cannot be read is left out; a folder that is gone is empty."""
        with self._lock:
            return self._read()

    def _read(self) -> FolderFiles:
        kept: dict[str, _Cached] = {}
        files: list[SourceText] = []
        n_bytes = n_entries = 0
        is_truncated = False
        folders = deque([_Folder((), ())])
        while folders and not is_truncated:
            folder = folders.popleft()
            entries = self._entries(folder.parts)
            n_entries += len(entries)
            if MARKERS & {entry.name for entry in entries}:
                continue
            folder = self._with_own_ignores(folder, entries)
            for entry in entries:
                parts = (*folder.parts, entry.name)
                is_folder = stat.S_ISDIR(entry.status.st_mode)
                if self._is_left_out(folder, entry, is_folder):
                    continue
                if is_folder:
                    folders.append(_Folder(parts, folder.ignores))
                    continue
                cached = self._text(parts, entry.status)
                kept["/".join(parts)] = cached
                if cached.text is None:
                    continue
                if len(files) == MAX_FILES or n_bytes + cached.size > MAX_TOTAL_BYTES:
                    is_truncated = True
                    break
                n_bytes += cached.size
                files.append(SourceText(FileSource("/".join(parts)), cached.text))
            is_truncated = is_truncated or n_entries > MAX_ENTRIES
        self._cache = kept
        return FolderFiles(tuple(files), is_truncated)

    def _is_left_out(self, folder: _Folder, entry: _Entry, is_folder: bool) -> bool:
        mode = entry.status.st_mode
        if not (is_folder or (stat.S_ISREG(mode) and 0 < entry.status.st_size <= MAX_FILE_BYTES)):
            return True
        if is_denied(entry.name) or (is_folder and entry.name in SKIPPED_FOLDERS):
            return True
        return _is_ignored(folder, entry.name, is_folder)

    def _with_own_ignores(self, folder: _Folder, entries: list[_Entry]) -> _Folder:
        own = next((entry for entry in entries if entry.name == ".gitignore"), None)
        if own is None or not stat.S_ISREG(own.status.st_mode) or own.status.st_size > MAX_FILE_BYTES:
            return folder
        text = self._text((*folder.parts, own.name), own.status).text or ""
        return _Folder(
            folder.parts, ((len(folder.parts), GitIgnoreSpec.from_lines(text.splitlines())), *folder.ignores)
        )

    def _entries(self, parts: tuple[str, ...]) -> list[_Entry]:
        """What a folder holds, by name. Empty when it is gone, forbidden, or no folder any more."""
        try:
            if not _CAN_STEP:
                return sorted(_scan(os.path.join(self._root, *parts)), key=lambda entry: entry.name)
            handle = self._open(parts, _FOLDER)
            try:
                return sorted(_scan(handle), key=lambda entry: entry.name)
            finally:
                os.close(handle)
        except OSError:
            return []

    def _text(self, parts: tuple[str, ...], status: os.stat_result) -> _Cached:
        cached = self._cache.get("/".join(parts))
        if cached is not None and (cached.size, cached.mtime_ns, cached.inode) == _identity(status):
            return cached
        try:
            handle = self._open(parts, 0)
        except OSError:
            return _Cached(*_identity(status), None)
        with open(handle, "rb") as file:
            try:
                opened = os.fstat(handle)
                data = file.read(MAX_FILE_BYTES + 1) if stat.S_ISREG(opened.st_mode) else b""
            except OSError:
                return _Cached(*_identity(status), None)
        return _Cached(*_identity(opened), _decode(data))

    def _open(self, parts: tuple[str, ...], flags: int) -> int:
        """A handle of what lies at `parts` below the root. OSError where a link is on the way."""
        if not _CAN_STEP:
            return self._open_and_compare(parts)
        handle = os.open(self._root, _READ | _FOLDER)
        for i, part in enumerate(parts):
            kind = _FOLDER if i + 1 < len(parts) else flags
            try:
                deeper = os.open(part, _READ | _NO_LINK | kind, dir_fd=handle)
            finally:
                os.close(handle)
            handle = deeper
        return handle

    def _open_and_compare(self, parts: tuple[str, ...]) -> int:
        """Where folders cannot be opened step by step: opens by path, then proves that the file lies below the root."""
        path = os.path.join(self._root, *parts)
        handle = os.open(path, _READ)
        try:
            if os.path.realpath(path) != path or not os.path.samestat(os.fstat(handle), os.lstat(path)):
                raise OSError(f"A link leads to {'/'.join(parts)}.")
        except BaseException:
            os.close(handle)
            raise
        return handle


def _scan(folder: str | int) -> Iterator[_Entry]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                yield _Entry(entry.name, entry.stat(follow_symlinks=False))
            except OSError:
                continue


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ino


def _decode(data: bytes) -> str | None:
    """The text of a file; None when it is binary, too large, or a private key under another name."""
    head = data[:BINARY_PROBE_BYTES]
    if len(data) > MAX_FILE_BYTES or b"\0" in head or _PRIVATE_KEY in head:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _is_ignored(folder: _Folder, name: str, is_folder: bool) -> bool:
    """What git would say of an entry of a folder that is itself not ignored; the deepest `.gitignore` decides."""
    for depth, spec in folder.ignores:
        path = "/".join((*folder.parts[depth:], name)) + ("/" if is_folder else "")
        verdict = spec.check_file(path).include
        if verdict is not None:
            return verdict
    return False
