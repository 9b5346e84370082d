"""A thread for calls: they run on it one after the other, in the order they were asked for.

A thread pool would do, and take twice as long to hand a call over and its result back; every delta of an answer waits
for that.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from palimpsest.domain.errors import CLOSED, StoreError

T = TypeVar("T")

_Call = Callable[[], object]


class CallThread:
    """Runs from its making to `end`. A daemon: what it has not begun when the process ends is not run."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._lock = threading.Lock()
        """Held while a call is put behind those that wait, so that none comes behind the last."""
        self._is_ending = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def run(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Asks for a call, of the running loop. It is carried out even when the future is cancelled, or the loop has
        ended: then nobody hears of it. Raises StoreError after `end`, instead of waiting for ever."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def call() -> None:
            # No variable of this frame may hold the error: its traceback holds the frame, and what else it holds, such
            # as a cursor, would live until the cycle is collected.
            try:
                result = function()
            except BaseException as error:
                _tell(loop, _fail, future, error)
            else:
                _tell(loop, _succeed, future, result)

        with self._lock:
            if self._is_ending:
                raise StoreError(CLOSED)
            self._calls.put(call)
        return future

    def end(self, last: _Call) -> None:
        """Waits until everything asked for is done, and `last` behind it. Call it from another thread, once."""
        with self._lock:
            self._is_ending = True
            self._calls.put(last)
            self._calls.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call  # it holds its result, which may be large, and the next one may come much later


def _tell(loop: asyncio.AbstractEventLoop, how: Callable[..., None], future: asyncio.Future[T], what: object) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(how, future, what)


def _succeed(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
