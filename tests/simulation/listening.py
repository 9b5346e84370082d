"""What the product logs as broken is a problem."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from unittest import mock

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
    """The place where an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


class _NoLoops(asyncio.DefaultEventLoopPolicy):
    """A real loop that something begins while it is finalized would be left over."""

    def get_event_loop(self) -> asyncio.AbstractEventLoop:
        raise RuntimeError("There is no event loop any more.")


@contextlib.contextmanager
def unheard(logger: logging.Logger) -> Iterator[None]:
    """What is dropped in this block is finalized at its end, and nobody hears of it: coroutines that never ended try to
    clean up."""
    logger.addHandler(silent := logging.NullHandler())
    policy = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(_NoLoops())
    try:
        with mock.patch.object(sys, "unraisablehook", id), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
            while gc.collect():  # a `finally` block that waits for something outlives the first time
                pass
    finally:
        asyncio.set_event_loop_policy(policy)
        logger.removeHandler(silent)
