"""Keeps the environment this process was started with, where keys are, from programs that run beside it.

A program that a model chose gets an environment without keys, and could read ours: Linux shows it to every process of
the same user. After `seal` it shows nothing, nobody but the system's administrator can look into the process, and
`os.environ` and what C code asks of the environment are as before. Elsewhere nothing is shown to begin with, or nothing
can be done.
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
    """Once, in a server's process; a second time changes nothing. Never raises: what cannot be done is logged."""
    if not sys.platform.startswith("linux"):
        return
    try:
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        start, end = int(fields[_ENV_START]), int(fields[_ENV_START + 1])
        # C code gets copies from now on, so that what the system shows is used by nobody.
        for name, value in os.environ.items():
            os.putenv(name, value)
        if 0 < start < end:
            ctypes.memset(start, 0, end - start)
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (OSError, ValueError, IndexError, AttributeError) as error:
        log.warning("The environment could not be hidden from other programs (%s).", type(error).__name__)
