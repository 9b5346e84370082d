"""Serving over stdin and stdout, in a process that ends with its connection.

Each pipe has a thread that only reads or writes. Reading in the loop's executor would compete with handlers, and
writing on the loop would block it when an editor does not read: no cancellation, timer or signal would run. Only writes
that cannot block are made on the loop: waking a thread takes longer than writing a short frame, and every delta of an
answer is one. The threads are daemons, because a read from a pipe cannot be interrupted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import select
import threading
from collections.abc import Callable

from palimpsest.lsp.runtime.base import BaseServer
from palimpsest.lsp.runtime.greeting import Greeting
from palimpsest.lsp.runtime.process import Process
from palimpsest.lsp.runtime.transport import CHUNK_BYTES, MAX_UNSENT_BYTES, log_without_text, serve


def run_stdio(server: BaseServer, source: int, sink: int, greeting: Greeting | None = None) -> int:
    """Serves the editor at the other end of two descriptors that block; returns the exit code. Call it once, in the
    main thread. `greeting`: what has read the first message; None: nobody has.

    The code is 0 for `exit` after `shutdown`, and for a signal; 1 when the editor left in any other way, or sent bytes
    that are no frames.
    """
    return asyncio.run(_serve_stdio(server, source, sink, greeting))


async def _serve_stdio(server: BaseServer, source: int, sink: int, greeting: Greeting | None) -> int:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_without_text)
    server.process = Process(server.grace_s, source=source)
    server.process.stop_on_signals(server.request_stop)

    def lose_editor() -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(server.request_stop, 1)

    def read_first() -> bytes:
        if greeting is None:
            return _read(source)
        chunk, server.protocol.greeted = greeting.wait()
        return chunk

    return await serve(server, PipeReader(source, read_first).read, PipeWriter(sink, lose_editor))


def _read(source: int) -> bytes:
    """The next bytes; empty when the input has ended or cannot be read."""
    try:
        return os.read(source, CHUNK_BYTES)
    except OSError:
        return b""


class PipeReader:
    """Chunks from a file descriptor, read in a thread, one at a time and only on request."""

    def __init__(self, source: int, read_first: Callable[[], bytes] | None = None) -> None:
        """`read_first` returns the first chunk, in the thread; None: it comes from the descriptor like all others."""
        self._source = source
        self._read_first = read_first
        self._wanted: queue.SimpleQueue[asyncio.Future[bytes]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    async def read(self) -> bytes:
        """The next bytes; empty when the input has ended or cannot be read."""
        wanted: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._wanted.put(wanted)
        return await wanted

    def _run(self) -> None:
        while True:
            wanted = self._wanted.get()
            read_first, self._read_first = self._read_first, None
            chunk = _read(self._source) if read_first is None else read_first()
            with contextlib.suppress(RuntimeError):  # the loop was closed during the read
                wanted.get_loop().call_soon_threadsafe(_resolve, wanted, chunk)


def _resolve(wanted: asyncio.Future[bytes], chunk: bytes) -> None:
    if not wanted.done():
        wanted.set_result(chunk)


_AT_ONCE_BYTES = getattr(select, "PIPE_BUF", 0)
"""The number of bytes that can be written without waiting to a pipe that the system reports as writable."""


class PipeWriter:
    """Writes frames to a file descriptor in order: at once when nothing has to wait, else in a thread."""

    def __init__(self, sink: int, on_lost: Callable[[], None], max_unsent_bytes: int = MAX_UNSENT_BYTES) -> None:
        self._sink = sink
        self._on_lost = on_lost
        """Called once, in any thread, when the editor is gone or has stopped reading."""
        self._max_unsent_bytes = max_unsent_bytes
        self._frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._unsent_bytes = 0
        """The bytes of all frames in the thread, including the one being written."""
        self._is_lost = False
        self._readiness = select.poll() if _AT_ONCE_BYTES else None
        if self._readiness is not None:
            self._readiness.register(sink, select.POLLOUT)
        self._thread = threading.Thread(target=self._run, name="stdout", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Takes a frame; drops it when the editor is gone."""
        data = self._written_at_once(data)
        if not data:
            return
        with self._lock:
            # A single frame may exceed the bound: the limit is for frames that wait behind it.
            is_too_much = 0 < self._unsent_bytes and self._unsent_bytes + len(data) > self._max_unsent_bytes
            self._unsent_bytes += len(data)
        if is_too_much:
            self._lose()
        elif not self._is_lost:
            self._frames.put(data)

    def _written_at_once(self, data: bytes) -> bytes:
        """The unwritten rest of the frame. Errors of the descriptor are left to the thread."""
        with self._lock:
            is_idle = not self._unsent_bytes and not self._is_lost
        if not is_idle or len(data) > _AT_ONCE_BYTES or self._readiness is None:
            return data
        if self._readiness.poll(0) != [(self._sink, select.POLLOUT)]:
            return data
        try:
            return data[os.write(self._sink, data) :]
        except OSError:
            return data

    async def finish(self, timeout_s: float) -> None:
        """Waits at most `timeout_s` until all frames are written."""
        self._frames.put(None)
        await asyncio.to_thread(self._thread.join, timeout_s)

    def _run(self) -> None:
        while (data := self._frames.get()) is not None:
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:
                self._lose()
                return
            with self._lock:
                self._unsent_bytes -= len(data)

    def _lose(self) -> None:
        with self._lock:
            was_lost, self._is_lost = self._is_lost, True
        if not was_lost:
            self._on_lost()
