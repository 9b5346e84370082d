"""One folder of unpacked vocabularies for all tests of a process: to unpack one takes a tenth of a second."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path


@functools.cache
def vocabularies() -> Path:
    """The folder, which is removed when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="palimpsest-vocabularies-")
    _kept.append(folder)
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []
