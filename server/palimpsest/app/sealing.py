"""Hides the environment of this process, which has keys, from other programs.

A program that a model chose gets an environment without keys, but on Linux it could read that of this process, because
the user is the same. After `seal`, only the system's administrator can look into the process; `os.environ`, and the
environment for C code, are as before. Other systems do not show the environment, or cannot hide it.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_PR_SET_DUMPABLE: Final = 4
_ENV_START: Final = 47
"""Of the fields of `/proc/PID/stat` behind the name; the next one is where it ends (proc(5), read in 2026)."""


def seal() -> None:
    """Hide the environment of a server process. A second call changes nothing. Never raises: a failure is logged."""
    if not sys.platform.startswith("linux"):
        return
    try:
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        start, end = int(fields[_ENV_START]), int(fields[_ENV_START + 1])
        # C code gets copies from now on, so the memory that the system shows is unused.
        for name, value in os.environ.items():
            os.putenv(name, value)
        if 0 < start < end:
            ctypes.memset(start, 0, end - start)
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (OSError, ValueError, IndexError, AttributeError) as error:
        log.warning("The environment could not be hidden from other programs (%s).", type(error).__name__)
