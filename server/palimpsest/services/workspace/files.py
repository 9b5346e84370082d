"""The files of one workspace folder that tools may read: none outside it, no secrets, and no ignored files.

A path is untrusted text, because a model wrote it. It is first resolved as text, with links inside the folder, against
the names in each folder on the way. Then it is judged, and then `handles` opens it and follows no link at all. So a
change between the check and the open can only make the open fail.

A file with several hard links is refused, because another of its names may lie outside the folder. Names are compared
exactly, even when the file system ignores case: an ignore rule must not depend on the spelling of a path.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple

from palimpsest.domain.deny_list import is_denied
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.services.workspace import handles as folder_handles
from palimpsest.services.workspace.handles import Entry, Kind, entries_below, open_below
from palimpsest.services.workspace.ignore import IGNORE_FILE, IgnoreRules, is_marked

MAX_FILE_BYTES: Final = 32 * 1024 * 1024
"""The largest file that is read, in bytes."""
MAX_PATH_CHARACTERS: Final = 4096
MAX_DEPTH: Final = 64
MAX_LINKS: Final = 40
"""The most links in one path, as on Linux."""
MAX_ENTRIES: Final = 200_000
"""The most names in one walk, so that a folder of a million pictures does not take minutes."""

_MAX_IGNORE_BYTES: Final = 1024 * 1024
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_SYSTEM_FOLDERS: Final = frozenset(("dev", "proc", "run", "sys"))
"""Folders without real files. They are in the workspace folder when that is the root of the file system."""


class PlaceKind(Enum):
    FOLDER = auto()
    FILE = auto()
    MISSING = auto()
    """Nothing exists at the path, and its folder may be missing too: an editor may hold a file that was never saved."""
    SPECIAL = auto()
    """A device, pipe or socket."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a readable path, with links resolved. None of its parts is a link or `..`."""

    parts: tuple[str, ...]
    """Empty for the workspace folder itself."""
    kind: PlaceKind

    @property
    def path(self) -> str:
        """The path relative to the workspace folder, with `/`."""
        return "/".join(self.parts) or "."


class Found(NamedTuple):
    """A folder or a regular file of a walk."""

    parts: tuple[str, ...]
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def path(self) -> str:
        return "/".join(self.parts)


@dataclass(frozen=True, slots=True)
class _Folder:
    parts: tuple[str, ...]
    entries: dict[str, Entry]
    """The entries, ordered by name."""
    rules: IgnoreRules

    @property
    def is_marked(self) -> bool:
        """Whether the place is ignored. The workspace folder itself never is: the user opened it."""
        return bool(self.parts) and is_marked(self.entries)


class WorkspaceFiles:
    """Reads one workspace folder. Blocking, without state, and safe for threads."""

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        self._spellings = (self._root, os.path.abspath(root))
        self._hides_system = self._root == os.path.abspath(os.sep)

    def locate(self, path: str) -> Place:
        """The place of a path, which is relative to the folder, or absolute and inside it.

        Raises InvalidRequest, with the reason, for a path that must not be read; NotFound when it leads on below a file
        or, by a link, below nothing.
        """
        names = deque(self._names_of(path))
        _refuse_denied(names, path)
        folders = [self._enter((), IgnoreRules(), path)]
        n_links = 0
        while names:
            name = names.popleft()
            if name == "..":  # only the text of a link can contain it
                folders.pop()
                if not folders:
                    raise _leads_out(path)
                continue
            folder = folders[-1]
            parts = (*folder.parts, name)
            entry = folder.entries.get(name)
            mode = 0 if entry is None else entry.status.st_mode
            if self._is_left_out(folder.rules, parts, is_folder=stat.S_ISDIR(mode)):
                raise _ignored(path)
            if stat.S_ISLNK(mode):
                n_links += 1
                if n_links > MAX_LINKS:
                    raise InvalidRequest(f"{_quoted(path)} leads through too many links.")
                names.extendleft(reversed(self._follow(folders, name, path)))
            elif stat.S_ISDIR(mode):
                folders.append(self._enter(parts, folder.rules, path))
            elif names and entry is None and n_links == 0:
                return self._missing(folder.rules, parts, tuple(names), path)
            elif names:
                raise _nothing_at(path)
            else:
                return Place(parts, _kind_of(mode))
        return Place(folders[-1].parts, PlaceKind.FOLDER)

    def _missing(self, rules: IgnoreRules, folder: tuple[str, ...], names: tuple[str, ...], path: str) -> Place:
        """The place of `names` below a folder that does not exist."""
        parts = (*folder, *names)
        if len(parts) > MAX_DEPTH:
            raise _too_deep(path)
        if any(
            self._is_left_out(rules, parts[:length], is_folder=length < len(parts))
            for length in range(len(folder), len(parts) + 1)
        ):
            raise _ignored(path)
        return Place(parts, PlaceKind.MISSING)

    def read(self, place: Place) -> bytes:
        """The bytes of a regular file of at most MAX_FILE_BYTES. Raises InvalidRequest or NotFound."""
        if place.kind is PlaceKind.FOLDER:
            raise InvalidRequest(f"{_quoted(place.path)} is a folder. list_files shows what it holds.")
        if place.kind is PlaceKind.MISSING:  # never opened: a file system may know the file by another spelling
            raise _nothing_at(place.path)
        if place.kind is PlaceKind.SPECIAL:
            raise InvalidRequest(f"{_quoted(place.path)} is a device, pipe or socket. Only regular files are read.")
        try:
            return self.read_below(place.parts, MAX_FILE_BYTES)
        except FileNotFoundError:
            raise _nothing_at(place.path) from None
        except OSError as error:
            raise InvalidRequest(f"{_quoted(place.path)} cannot be read: {error.strerror or error}.") from None

    def read_below(self, parts: tuple[str, ...], max_bytes: int) -> bytes:
        """The bytes of the regular file at `parts`.

        Raises OSError for a link in the path, a file with several hard links, and one larger than `max_bytes`.
        """
        status, data = self._read_regular(parts, max_bytes)
        if status.st_nlink > 1:
            raise OSError("it has several hard links, and another of them may lie outside the workspace folder")
        return data

    def has(self, path: str) -> bool:
        """Whether the disk has something at that path, readable or not: below the folder, or absolute."""
        return os.path.lexists(os.path.join(self._root, path))

    def walk(self, start: tuple[str, ...] = (), *, max_depth: int = MAX_DEPTH, max_entries: int = MAX_ENTRIES) -> Walk:
        """Walk over the readable entries below a folder that `locate` found."""
        return Walk(self, start, max_depth, max_entries)

    def _enter(self, parts: tuple[str, ...], rules: IgnoreRules, path: str) -> _Folder:
        if len(parts) > MAX_DEPTH:
            raise _too_deep(path)
        try:
            folder = self._folder(parts, rules)
        except FileNotFoundError:
            raise _nothing_at(path) from None
        except OSError as error:
            raise InvalidRequest(f"{_quoted(path)} cannot be opened: {error.strerror or error}.") from None
        if folder.is_marked:
            raise InvalidRequest(f"{_quoted(path)} lies in a virtual environment or a cache. It is not read.")
        return folder

    def _folder(self, parts: tuple[str, ...], rules: IgnoreRules) -> _Folder:
        """The folder at `parts`; `rules` are the ignore rules of the folder above it."""
        entries = {entry.name: entry for entry in entries_below(self._root, parts)}
        if IGNORE_FILE in entries and stat.S_ISREG(entries[IGNORE_FILE].status.st_mode):
            try:
                data = self._read_regular((*parts, IGNORE_FILE), _MAX_IGNORE_BYTES)[1]
            except OSError:
                return _Folder(parts, entries, rules)
            rules = rules.deeper(len(parts), data.decode("utf-8-sig", errors="replace"))
        return _Folder(parts, entries, rules)

    def _is_left_out(self, rules: IgnoreRules, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        if self._hides_system and parts[0] in _SYSTEM_FOLDERS:
            return True
        return rules.leave_out(parts, is_folder=is_folder)

    def _read_regular(self, parts: tuple[str, ...], max_bytes: int) -> tuple[os.stat_result, bytes]:
        handle = open_below(self._root, parts, Kind.FILE)
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise OSError("it is not a regular file")
            data = file.read(status.st_size + 1) if status.st_size <= max_bytes else b""
            if len(data) > status.st_size:  # the file grew meanwhile
                data += file.read(max_bytes + 1 - len(data))
            if status.st_size > max_bytes or len(data) > max_bytes:
                raise OSError(f"it is larger than {max_bytes // (1024 * 1024)} MiB")
            return status, data

    def _follow(self, folders: list[_Folder], name: str, path: str) -> list[str]:
        """The names in the target of the link `name` in the last of `folders`. An absolute target starts at the
        root."""
        if not folder_handles.CAN_STEP:
            raise InvalidRequest(f"{_quoted(path)} leads through a link, and links are not followed on this system.")
        try:
            text = os.readlink(os.path.join(self._root, *folders[-1].parts, name))
        except OSError:
            raise InvalidRequest(f"{_quoted(path)} changed while it was opened. Try again.") from None
        if os.path.isabs(text):
            below = self._below(text)
            if below is None:
                raise _leads_out(path)
            text = below
            del folders[1:]
        names = [name for name in text.split("/") if name not in ("", ".")]
        _refuse_denied(names, path)
        return names

    def _names_of(self, path: str) -> list[str]:
        """The names in a path, none of them `..`; empty for the workspace folder itself."""
        if not path:
            raise InvalidRequest("The path is empty. Name a file or folder of the workspace folder.")
        if len(path) > MAX_PATH_CHARACTERS:
            raise InvalidRequest(f"The path is longer than {MAX_PATH_CHARACTERS} characters.")
        if not _is_sayable(path):
            raise InvalidRequest("The path holds characters that no path here may hold.")
        if _URI.match(path) and os.path.splitdrive(path)[0] == "":
            raise InvalidRequest(f"{_quoted(path)} is a URI. Name the file by its path in the workspace folder.")
        text = path.replace(os.sep, "/")
        if "\\" in text:
            raise InvalidRequest(f"{_quoted(path)} holds a backslash. Write paths with `/`.")
        if text.startswith("/") or os.path.isabs(path):
            below = self._below(text)
            if below is None:
                raise InvalidRequest(f"{_quoted(path)} lies outside the workspace folder.")
            text = below
        names = [name for name in text.split("/") if name not in ("", ".")]
        if ".." in names:
            raise InvalidRequest(f"{_quoted(path)} holds `..`. Name the file by its path from the workspace folder.")
        if names[:1] == ["~"]:
            raise InvalidRequest(f"{_quoted(path)} lies outside the workspace folder: `~` is a home folder.")
        return names

    def _below(self, path: str) -> str | None:
        """The part of an absolute path, with `/`, below the workspace folder; None for a path outside."""
        for spelling in self._spellings:
            root = spelling.replace(os.sep, "/").rstrip("/")
            if path == root or path.startswith(root + "/"):
                return path[len(root) :]
        return None


class Walk:
    """The readable folders and regular files below a folder, nearest first, then by name.

    Links, names that no tool could repeat, and entries that cannot be opened are left out.
    """

    def __init__(self, files: WorkspaceFiles, start: tuple[str, ...], max_depth: int, max_entries: int) -> None:
        self._files = files
        self._start = start
        self._max_depth = max_depth
        self._max_entries = max_entries
        self.is_truncated = False
        """Whether the walk ended before it had seen everything. Valid once it has ended."""
        self.unused_patterns: list[str] = []
        """The lines of ignore files, as `path:line`, that are not used because their patterns are too long or too
        many."""

    def __iter__(self) -> Iterator[Found]:
        n_entries = 0
        folders = deque([(self._start, self._rules_above())])
        while folders:
            if n_entries > self._max_entries:
                self.is_truncated = True
                return
            parts, rules = folders.popleft()
            try:
                folder = self._files._folder(parts, rules)
            except OSError:
                continue
            n_entries += len(folder.entries)
            if folder.is_marked:
                continue
            if folder.rules is not rules:
                self.unused_patterns += ["/".join((*parts, f"{IGNORE_FILE}:{line}")) for line in folder.rules.refused]
            for found in self._visible(folder):
                if found.is_folder and len(found.parts) - len(self._start) < self._max_depth:
                    folders.append((found.parts, folder.rules))
                yield found

    def _visible(self, folder: _Folder) -> Iterator[Found]:
        for name, entry in folder.entries.items():
            found = Found((*folder.parts, name), entry.status)
            if not (found.is_folder or stat.S_ISREG(entry.status.st_mode)):
                continue
            if is_denied(name) or "\\" in name or not _is_sayable(name):
                continue
            if not self._files._is_left_out(folder.rules, found.parts, is_folder=found.is_folder):
                yield found

    def _rules_above(self) -> IgnoreRules:
        rules = IgnoreRules()
        for n_parts in range(len(self._start)):
            try:
                rules = self._files._folder(self._start[:n_parts], rules).rules
            except OSError:
                break
        return rules


def stamp_of(status: os.stat_result) -> tuple[int, int, int, int]:
    """The size of a file, its times of modification and of change in ns, and its inode: the same four mean the same
    content. `cp --preserve` and `touch` can restore a time of modification, but not a time of change."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _kind_of(mode: int) -> PlaceKind:
    if mode == 0:
        return PlaceKind.MISSING
    return PlaceKind.FILE if stat.S_ISREG(mode) else PlaceKind.SPECIAL


def _is_sayable(name: str) -> bool:
    """Whether a model can repeat the name from a line: it is valid Unicode without control characters."""
    return name.isprintable() or not any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in name)


def _refuse_denied(names: Iterable[str], path: str) -> None:
    if any(is_denied(name) for name in names):
        raise InvalidRequest(
            f"{_quoted(path)} is never read: by its name it holds secrets, or belongs to git or to Palimpsest."
        )


def _leads_out(path: str) -> InvalidRequest:
    return InvalidRequest(f"{_quoted(path)} leads out of the workspace folder through a link.")


def _ignored(path: str) -> InvalidRequest:
    return InvalidRequest(f"{_quoted(path)} is ignored by .gitignore, or belongs to a tool. It is not read.")


def _too_deep(path: str) -> InvalidRequest:
    return InvalidRequest(f"{_quoted(path)} lies more than {MAX_DEPTH} folders deep.")


def _nothing_at(path: str) -> NotFound:
    return NotFound(f"There is no {_quoted(path)} in the workspace folder. list_files shows what is there.")


def _quoted(path: str) -> str:
    return repr(path if len(path) <= 200 else path[:200] + "…")
