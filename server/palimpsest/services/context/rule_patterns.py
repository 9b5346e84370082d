"""The patterns by which rules are found: compiled once, and kept from one start to the next."""

from __future__ import annotations

import functools

from palimpsest.domain.context.rules.detection import compile_languages
from palimpsest.machine.imports import kept_patterns


@functools.cache
def load_patterns() -> None:
    """For a thread: takes half a second the first time after an installation, and some hundredths after each start. Who
    comes meanwhile waits for it."""
    with kept_patterns("rules"):
        compile_languages()
