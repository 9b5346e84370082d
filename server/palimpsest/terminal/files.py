"""Files of the workspace folder that are changed whole: all of a set, or none.

A text is written to a new file beside the old one, which then takes its place, so nobody ever reads half of it. The old
one is read once more right before that. Where the system can, the two change places in one moment, and what lost its
place gets it back unless it is the text that was read; elsewhere the old file is only read again: what somebody wrote
meanwhile stays.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from palimpsest.terminal import exchange, texts

_PREFIX: Final = ".palimpsest-"
"""Begins the names of files that are not yet in their place; one is left behind only by a kill."""


class NotWritten(Exception):
    """Nothing was changed, or all of it was put back. The message is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file. None stands for no file."""

    path: Path
    """Without links, below the folder."""
    shown: str
    """The path as the user knows it."""
    before: bytes | None
    after: bytes | None


def resolve(root: Path, path: Path) -> Path:
    """The file that a path means, over links. Raises NotWritten when it does not lie below `root`, which has none."""
    try:
        found = Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise NotWritten(texts.not_written(str(path), str(error))) from None
    if root not in found.parents:
        raise NotWritten(texts.outside(str(path)))
    return found


def read(path: Path, shown: str) -> bytes | None:
    """The bytes of a file; None when there is none. Raises NotWritten for what is no file of its own."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise NotWritten(texts.no_file(shown))
        if status.st_nlink > 1:
            raise NotWritten(texts.many_names(shown))
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotWritten(texts.not_written(shown, error.strerror or str(error))) from None


def write_all(changes: Sequence[FileChange]) -> None:
    """Make all changes. Raises NotWritten; the files are then as they were, or as somebody else left them."""
    done: list[FileChange] = []
    try:
        for change in changes:
            _write(change)
            done.append(change)
    except NotWritten as error:
        lost = [each.shown for each in reversed(done) if not _is_put_back(each)]
        raise NotWritten(f"{error} {texts.not_put_back(lost)}" if lost else str(error)) from None


def _is_put_back(change: FileChange) -> bool:
    try:
        _write(FileChange(change.path, change.shown, change.after, change.before))
    except NotWritten:
        return False
    return True


def _write(change: FileChange) -> None:
    try:
        if change.after is None:
            _remove(change.path, change.shown, change.before)
        elif change.before is None:
            _create(change.path, change.shown, change.after)
        else:
            _replace(change.path, change.shown, change.before, change.after)
    except FileExistsError:
        raise NotWritten(texts.changed_meanwhile(change.shown)) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise NotWritten(texts.not_written(change.shown, why)) from None


def _remove(path: Path, shown: str, before: bytes | None) -> None:
    """What was saved in the last moment is put back."""
    with _beside(path) as aside:
        _require(path, shown, before)
        os.replace(path, aside)
        if _bytes(aside) == before:
            return
        try:
            os.link(aside, path)
        except FileExistsError:
            pass  # something newer has the place by now
        except OSError:  # a file system without hard links
            os.replace(aside, path)
        raise NotWritten(texts.changed_meanwhile(shown))


def _create(path: Path, shown: str, data: bytes) -> None:
    """With the folders that it lies in."""
    missing = [each for each in path.parents if not each.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb"):
            pass  # takes the name, which nobody else can have from now on, and the usual mode of new files
        try:
            _replace(path, shown, b"", data)
        except BaseException:
            with contextlib.suppress(OSError):
                if path.stat().st_size == 0:
                    path.unlink()
            raise
    except BaseException:
        with contextlib.suppress(OSError):  # one that is there no more, or holds something by now
            for each in missing:
                each.rmdir()
        raise


def _replace(path: Path, shown: str, before: bytes, after: bytes) -> None:
    if not os.access(path, os.W_OK):
        raise NotWritten(texts.read_only(shown))
    with _beside(path) as new:
        new.write_bytes(after)
        with open(new, "rb+") as file:
            os.fsync(file.fileno())
        _take_after(path, new)
        with _held(path) as old:
            _require(path, shown, before)
            if exchange.swap(new, path):
                if _bytes(new) != before:
                    _give_back(path, new, after)
                    raise NotWritten(texts.changed_meanwhile(shown))
                return
            os.replace(new, path)
            late = before if old is None else old.read()
    if late != before:
        _replace(path, shown, after, late)
        raise NotWritten(texts.changed_meanwhile(shown))


def _give_back(path: Path, theirs: Path, after: bytes) -> None:
    """Return its place to what was saved right before `after` took it, unless something newer has it by now."""
    exchange.swap(theirs, path)
    if _bytes(theirs) != after:
        exchange.swap(theirs, path)


def _bytes(path: Path) -> bytes | None:
    """None for what is no file."""
    try:
        return path.read_bytes() if stat.S_ISREG(os.lstat(path).st_mode) else None
    except OSError:
        return None


@contextlib.contextmanager
def _held(path: Path) -> Iterator[BinaryIO | None]:
    """The file, to be read also when another has taken its place; None on Windows, where it would keep the place."""
    if os.name == "nt":
        yield None
        return
    with open(path, "rb") as file:
        yield file


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A new empty file in the same folder, which is gone in the end unless it took another name."""
    handle, name = tempfile.mkstemp(prefix=_PREFIX, dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


def _take_after(path: Path, new: Path) -> None:
    """Give a new file the owner, the mode and the extended attributes of another one."""
    old = path.stat()
    if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (new.stat().st_uid, new.stat().st_gid):
        os.chown(new, old.st_uid, old.st_gid)
    shutil.copystat(path, new)
    os.utime(new)


def _require(path: Path, shown: str, before: bytes | None) -> None:
    """Raises NotWritten unless the file holds this, and lies where it did."""
    if os.path.realpath(path.parent) != str(path.parent) or read(path, shown) != before:
        raise NotWritten(texts.changed_meanwhile(shown))
