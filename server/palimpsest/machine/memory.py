"""What the C library keeps of memory that is free."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Final

_M_ARENA_MAX: Final = -8
"""Of mallopt(3), read in November 2026."""


def share_arena() -> None:
    """Lets all threads take memory from one place, where glibc would make one for each, with its own free memory.
    To be called before there are threads; other C libraries have no such places."""
    _call("mallopt", _M_ARENA_MAX, 1)


def return_free() -> None:
    """Gives the system the memory back that is free, which glibc would keep."""
    _call("malloc_trim", 0)


def _call(function: str, *arguments: int) -> None:
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):  # another C library
            getattr(ctypes.CDLL(None), function)(*arguments)
