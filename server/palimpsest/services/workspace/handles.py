"""Handles of what lies below a folder, opened so that no link leads out of it.

A path is opened part by part, each from the handle of the folder before it and each refusing to be a link. So it does
not matter what was there when somebody looked, or what is put in place meanwhile: what is opened is below the root.

Where the system cannot do that (Windows), a path is opened whole and compared afterwards with what lies there without
following links. A link that is put in place and taken away again between the two goes unnoticed there.
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
"""Without O_NONBLOCK, opening a pipe would wait for somebody to write into it."""


class Kind(Enum):
    """What an opened path must be. A FILE may still turn out to be a pipe or a device: who opens it looks."""

    FILE = 0
    FOLDER = getattr(os, "O_DIRECTORY", -1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder."""

    name: str
    status: os.stat_result
    """Of the entry itself: a link is not followed."""


def open_below(root: str, parts: tuple[str, ...], kind: Kind) -> int:
    """A handle of what lies at `parts` below `root`; the caller closes it.

    `parts` are names, none of them `..`. Raises OSError where a link is on the way.
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
    """What the folder at `parts` holds, by name. Raises OSError when it is gone, forbidden, or no folder any more."""
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
