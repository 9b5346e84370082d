"""Handles of files and folders below a folder, opened so that no link leads out of it.

A path is opened part by part, each from the handle of the folder before it, and a link is refused. So the opened file
is below the root, whatever changes meanwhile.

On a system that cannot do that (Windows), the whole path is opened, and then compared with the path without links. A
link that exists only between these two steps goes unnoticed there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

CAN_STEP: Final = os.open in os.supports_dir_fd and os.scandir in os.supports_fd and hasattr(os, "O_NOFOLLOW")

_READ: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_STEP: Final = _READ | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Without O_NONBLOCK, opening a pipe would wait for a writer."""


class Kind(Enum):
    """The kind of an opened path. A FILE may still be a pipe or a device, so the caller checks it."""

    FILE = 0
    FOLDER = getattr(os, "O_DIRECTORY", -1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder."""

    name: str
    status: os.stat_result
    """The status of the entry itself: a link is not followed."""


def open_below(root: str, parts: tuple[str, ...], kind: Kind) -> int:
    """A handle of the file or folder at `parts` below `root`; the caller closes it.

    `parts` are names, none of them `..`. Raises OSError for a link in the path.
    """
    if not CAN_STEP:
        return _open_and_compare(root, parts)
    handle = os.open(root, _STEP | Kind.FOLDER.value)
    for i, part in enumerate(parts):
        flags = Kind.FOLDER.value if i + 1 < len(parts) else kind.value
        try:
            deeper = os.open(part, _STEP | flags, dir_fd=handle)
        finally:
            os.close(handle)
        handle = deeper
    return handle


def entries_below(root: str, parts: tuple[str, ...]) -> list[Entry]:
    """The entries of the folder at `parts`, by name. Raises OSError when it is gone, forbidden, or not a folder."""
    if not CAN_STEP:
        path = os.path.join(root, *parts)
        if os.path.realpath(path) != path:
            raise OSError(f"A link leads to {'/'.join(parts)}.")
        return sorted(_scan(path), key=lambda entry: entry.name)
    handle = open_below(root, parts, Kind.FOLDER)
    try:
        return sorted(_scan(handle), key=lambda entry: entry.name)
    finally:
        os.close(handle)


def _open_and_compare(root: str, parts: tuple[str, ...]) -> int:
    path = os.path.join(root, *parts)
    handle = os.open(path, _STEP)
    try:
        if os.path.realpath(path) != path or not os.path.samestat(os.fstat(handle), os.lstat(path)):
            raise OSError(f"A link leads to {'/'.join(parts)}.")
    except BaseException:
        os.close(handle)
        raise
    return handle


def _scan(folder: str | int) -> Iterator[Entry]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                yield Entry(entry.name, entry.stat(follow_symlinks=False))
            except OSError:
                continue
