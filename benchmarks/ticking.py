"""A server whose event loop is watched: how late a tick comes that is due every 5 ms, and what ran when one was latest.

    python -m benchmarks.ticking FILE serve --stdio

As `palimpsest`, with the arguments behind FILE. Ticks count between `begin_ticks` and `end_ticks`, which another
process calls.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Final

TICK_S: Final = 0.005
_LATE_S: Final = 0.02
"""From here on it is noted what ran."""
_LOOK_S: Final = 0.25
"""Between two looks for the file."""


class _Watch:
    """The ticks of one loop, and a thread that looks at the loop's thread while a tick is late."""

    def __init__(self, loop: asyncio.AbstractEventLoop, file: Path) -> None:
        self._loop, self._file, self._thread = loop, file, threading.get_ident()
        self._due = time.perf_counter() + TICK_S
        self._late: list[float] = []
        self._is_counting = False
        self._longest = 0.0
        self._ran = ""
        """In the longest pause."""
        loop.call_later(TICK_S, self._tick)
        loop.call_later(_LOOK_S, self._look)
        threading.Thread(target=self._sample, name="ticks", daemon=True).start()

    def _tick(self) -> None:
        now = time.perf_counter()
        if self._is_counting:
            self._late.append(max(0.0, now - self._due))
        self._due = now + TICK_S
        self._loop.call_later(TICK_S, self._tick)

    def _look(self) -> None:
        is_wanted = _sign(self._file).exists()
        if is_wanted and not self._is_counting:
            self._late, self._longest, self._ran = [], 0.0, ""
        elif self._is_counting and not is_wanted:
            found = {"late_ms": [1000 * each for each in self._late], "ran": self._ran}
            scratch = self._file.with_name(f"{self._file.name}.{os.getpid()}")
            scratch.write_text(json.dumps(found), encoding="utf-8")
            scratch.replace(self._file)
        self._is_counting = is_wanted
        self._loop.call_later(_LOOK_S, self._look)

    def _sample(self) -> None:
        while True:
            time.sleep(TICK_S)
            late = time.perf_counter() - self._due
            if self._is_counting and late > max(_LATE_S, self._longest):
                self._longest = late
                self._ran = _where(sys._current_frames().get(self._thread))


def _where(frame: FrameType | None) -> str:
    """The innermost function of ours and, behind it, what it called; empty for a loop that only waits."""
    stack = traceback.extract_stack(frame) if frame is not None else []
    ours = [each for each in stack if "palimpsest" in each.filename and "/cli/" not in each.filename]
    if not ours or stack[-1].name == "select":
        return ""
    place = f"{Path(ours[-1].filename).stem}.{ours[-1].name}"
    return place if stack[-1] is ours[-1] else f"{place} in {stack[-1].name}"


def begin_ticks(file: Path) -> None:
    """Called beside the server: its ticks count from about now on."""
    _sign(file).touch()


def end_ticks(file: Path) -> tuple[list[float], str]:
    """The milliseconds by which each tick was late, and what ran when one was latest; empty where nothing of ours
    did."""
    _sign(file).unlink()
    while not file.exists():
        time.sleep(_LOOK_S)
    found = json.loads(file.read_bytes())
    return found["late_ms"], found["ran"]


def _sign(file: Path) -> Path:
    return file.with_name(f"{file.name}.begin")


class _Policy(asyncio.DefaultEventLoopPolicy):
    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        loop = super().new_event_loop()
        loop.call_soon(lambda: _Watch(loop, self._file))
        return loop


def main() -> int:
    from palimpsest.cli.main import main as palimpsest

    asyncio.set_event_loop_policy(_Policy(Path(sys.argv[1])))
    return palimpsest(sys.argv[2:])


if __name__ == "__main__":
    raise SystemExit(main())
