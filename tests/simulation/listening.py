"""What the product logs as broken is a problem."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

_EDGE: Final = "palimpsest.lsp"
"""There failures are logged without the error, whose text may be somebody's words."""


class Listening(logging.Handler):
    """Tells a world of them: a short name, and what was logged."""

    def __init__(self, problem: Callable[[str, str], None]) -> None:
        super().__init__(logging.ERROR)
        self.problem = problem

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            what = record.getMessage().split(" ")[0]
            self.problem("broke", f"{what}: {type(error).__name__} at {place_of(error)}")
        elif record.name.startswith(_EDGE):
            first, *frames = record.getMessage().strip().splitlines() or [""]
            places = [frame.strip() for frame in frames if frame.lstrip().startswith("File ")]
            self.problem("edge broke", f"{first} {places[-1].rpartition('/')[2] if places else ''}".strip())


def place_of(error: BaseException) -> str:
    """Where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
