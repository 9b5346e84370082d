"""Ctrl-C as an ordinary call in the event loop, for the current action; and the signals that end a program."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

Action = Callable[[int], None]
"""Called in the loop with the number of interrupts since the action became the current one, from 1 on."""

_PATIENCE = 3
_ENDING: Final = ("SIGTERM", "SIGHUP")


def _nothing() -> None:
    pass


@contextlib.contextmanager
def ending(task: asyncio.Task[Any]) -> Iterator[list[int]]:
    """A signal that ends programs cancels the task in this block, which then leaves the terminal as it was. The numbers
    of those that came. One that is ignored, as behind `nohup`, still is."""
    came: list[int] = []

    def end(number: int) -> None:
        came.append(number)
        task.cancel()

    loop = asyncio.get_running_loop()
    numbers = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    heard = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    with contextlib.suppress(NotImplementedError):  # on Windows they end the program at once
        for number in heard:
            loop.add_signal_handler(number, end, number)
    try:
        yield came
    finally:
        with contextlib.suppress(NotImplementedError):
            for number in heard:
                loop.remove_signal_handler(number)


class Interrupts:
    """Handles SIGINT while it is entered. Only for the main thread.

    The third interrupt of one action raises KeyboardInterrupt at once, so a user can leave a stuck loop, for instance
    one in a write that nobody reads.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._action: Action | None = None
        self._count = 0

    def __enter__(self) -> Interrupts:
        self._before = signal.getsignal(signal.SIGINT)
        with contextlib.suppress(NotImplementedError):  # Windows' loop wakes by itself
            # Only for the descriptor to which signals are written. Without it, a signal right before the loop
            # waits, or to another thread, is seen only when something else wakes the loop.
            self._loop.add_signal_handler(signal.SIGINT, _nothing)
        signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(NotImplementedError):
            self._loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, self._before)

    @contextlib.contextmanager
    def calling(self, action: Action) -> Iterator[None]:
        """Interrupts in this block go to `action`."""
        outer = self._action, self._count
        self._action, self._count = action, 0
        try:
            yield
        finally:
            self._action, self._count = outer

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count >= _PATIENCE:
            raise KeyboardInterrupt
        self._loop.call_soon_threadsafe(self._act, self._action, self._count)

    def _act(self, action: Action | None, count: int) -> None:
        # An interrupt right after the end of its action is not for the next one.
        if action is not None and action is self._action:
            action(count)
