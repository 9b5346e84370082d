"""Two files that change places in one moment, where the system can: what loses its place can then be looked at."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Any, Final

_HERE: Final = -100
"""`AT_FDCWD` of Linux."""
_SWAP: Final = 2
"""`RENAME_EXCHANGE` of Linux, and `RENAME_SWAP` of macOS."""
_CANNOT: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def swap(one: Path, other: Path) -> bool:
    """Each takes the name of the other. False, and nothing is done, where this system or file system cannot. Raises
    OSError, such as FileNotFoundError when one of them is not there."""
    if sys.platform not in ("linux", "darwin"):
        return False
    try:
        library: Any = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(one), os.fsencode(other)
        if sys.platform == "linux":
            failed = library.renameat2(_HERE, names[0], _HERE, names[1], _SWAP)
        else:
            failed = library.renamex_np(*names, _SWAP)
    except (AttributeError, OSError):  # a C library without it
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))
