"""Standard input as lines, read one at a time and never on the event loop's thread."""

from __future__ import annotations

import asyncio
import os
import threading


class LineReader:
    """Lines of a file descriptor of any kind: a pipe, a file, a terminal.

    A thread reads only while a line is wanted, so an endless source fills no memory. The thread reads the descriptor
    itself and is a daemon, so the interpreter can end during a read.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Semaphore(0)
        self._waiting: asyncio.Future[bytes | None] | None = None
        self._is_reading = False
        threading.Thread(target=self._run, daemon=True, name="stdin").start()

    async def next(self) -> bytes | None:
        """The next line, of any length and without its end; None at the end of the input. Raises OSError."""
        self._waiting = self._loop.create_future()
        # A line that nobody waits for any more is the next one.
        if not self._is_reading:
            self._is_reading = True
            self._wanted.release()
        return await self._waiting

    def _run(self) -> None:
        pending = bytearray()
        is_over = False
        while True:
            self._wanted.acquire()
            line: bytes | None = None
            failure: OSError | None = None
            scanned = 0
            while (end := pending.find(b"\n", scanned)) < 0 and not is_over:
                scanned = len(pending)
                try:
                    chunk = os.read(self._descriptor, 64 << 10)
                except OSError as error:
                    failure, chunk = error, b""
                pending += chunk
                is_over = not chunk
            if end >= 0:
                line = bytes(pending[:end]).removesuffix(b"\r")
                del pending[: end + 1]
            elif pending:
                line = bytes(pending).removesuffix(b"\r")
                pending.clear()
            try:
                self._loop.call_soon_threadsafe(self._deliver, line, failure)
            except RuntimeError:
                return  # The loop has ended, and the program is about to.

    def _deliver(self, line: bytes | None, failure: OSError | None) -> None:
        self._is_reading = False
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():
            return
        if failure is not None:
            waiting.set_exception(failure)
        else:
            waiting.set_result(line)
