"""The files of a store: who may read them, how large they are, and whether there are locks and room."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from palimpsest.storage.maintenance.health import Finding, Verdict
from palimpsest.wording import counted

_LEAST_FREE_BYTES: Final = 100 << 20
_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_PROBE_NAME: Final = "doctor.lock"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that holds text of messages."""

    path: Path
    size_bytes: int


def text_files(directory: Path) -> list[TextFile]:
    """Every file of the store that holds text, by name: the database, its log, copies, and damaged databases. Locks and
    the index of the log (`store.db-shm`) hold none."""
    found: list[TextFile] = []
    for path, status in _everything(directory):
        is_text = path.suffix != ".lock" and not path.name.endswith("-shm")
        if stat.S_ISREG(status.st_mode) and is_text and status.st_size:
            found.append(TextFile(path, status.st_size))
    return found


def look_at_files(directory: Path) -> list[Finding]:
    """The findings about owner, permissions, room and locks."""
    return [_owners(directory), _permissions(directory), _room(directory), _locks(directory)]


def make_private(directory: Path) -> int:
    """Removes the permissions of everybody but the owner. Returns the number of files that others could use. Links are
    not followed."""
    n_open = 0
    for path, status in _everything(directory):
        if (mode := _due(status)) is not None and stat.S_IMODE(status.st_mode) != mode:
            path.chmod(mode)
            n_open += 1
    return n_open


def _everything(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The folder and everything in it, by name. A file that is removed meanwhile is left out."""
    for path in (directory, *sorted(directory.rglob("*"))):
        try:
            yield path, path.lstat()
        except FileNotFoundError:
            continue


def _due(status: os.stat_result) -> int | None:
    """The permissions that it should have; None for what is neither a file nor a folder."""
    if stat.S_ISDIR(status.st_mode):
        return _FOLDER_MODE
    return _FILE_MODE if stat.S_ISREG(status.st_mode) else None


def _owners(directory: Path) -> Finding:
    if not hasattr(os, "getuid"):
        return Finding("owner", Verdict.OK, "Files have no owners on this system.")
    foreign = [path for path, status in _everything(directory) if status.st_uid != os.getuid()]
    if foreign:
        text = (
            f"Of another user: {counted(len(foreign), 'file')}, {foreign[0].name} among them. "
            "Only they can change that."
        )
        return Finding("owner", Verdict.PROBLEM, text)
    return Finding("owner", Verdict.OK, "All files are yours.")


def _permissions(directory: Path) -> Finding:
    found = list(_everything(directory))
    odd = [path for path, status in found if _due(status) is None]
    if odd:
        text = f"{odd[0].name} is neither a file nor a folder. Palimpsest did not make it; look at it yourself."
        return Finding("permissions", Verdict.PROBLEM, text)
    loose = [path for path, status in found if stat.S_IMODE(status.st_mode) != _due(status)]
    if loose:
        text = f"Other users may use {counted(len(loose), 'place')} by their permissions, {loose[0].name} among them."
        return Finding("permissions", Verdict.PROBLEM, text)
    return Finding("permissions", Verdict.OK, "Only you can read the files.")


def _room(directory: Path) -> Finding:
    free = shutil.disk_usage(directory).free
    text = f"{free >> 20} MiB of the disk are free."
    return Finding("room", Verdict.PROBLEM if free < _LEAST_FREE_BYTES else Verdict.OK, text)


def _locks(directory: Path) -> Finding:
    """Whether a held lock keeps others out. Where it does not, no two servers may share the store."""
    path = directory / _PROBE_NAME
    first, second = (FileLock(path, thread_local=False, mode=_FILE_MODE) for _ in range(2))
    try:
        with first.acquire(timeout=0):
            try:
                second.acquire(timeout=0)
            except Timeout:
                return Finding("locks", Verdict.OK, "Locks work here.")
            second.release()
    except (Timeout, OSError, NotImplementedError) as error:
        return Finding("locks", Verdict.UNKNOWN, f"No lock could be taken in the folder ({type(error).__name__}).")
    finally:
        path.unlink(missing_ok=True)
    text = (
        "Locks do not work here, so two servers would not see each other. Set storage.path to a folder on a local disk."
    )
    return Finding("locks", Verdict.PROBLEM, text)
