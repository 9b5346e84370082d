"""One connection from its first byte to its last, over any transport.

`serve` reads chunks, cuts them into messages and handles one at a time, letting the loop run in between. The next chunk
is read when the last message was handled, so a flood of messages waits in the pipe and not in our memory. Every way to
the end - the end of the input, broken frames, `exit`, a signal, a lost editor - only requests a stop. Then `serve`
winds down in one order: handlers clean up, `on_stop` closes the stores, and remaining frames are written.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from palimpsest.lsp.runtime.base import BaseServer
from palimpsest.lsp.runtime.phase import Phase
from palimpsest.printing import complain
from palimpsest.wire.codec.framing import FrameDecoder, FramingError

log = logging.getLogger(__name__)

CHUNK_BYTES = 64 << 10
MAX_UNSENT_BYTES = 64 << 20
"""The number of bytes that an editor may leave unread before its connection is ended."""

MAX_REQUEST_BYTES = 64 << 20
"""The longest message of an editor. It is parsed as a whole, while nothing else runs."""
MAX_STRANGER_BYTES = 1 << 20
"""The total bytes that are accepted from an editor that still has to show its token."""

Read = Callable[[], Awaitable[bytes]]
"""Returns the next bytes from the editor, empty at the end of the input. Never raises."""


class Writer(Protocol):
    """The destination of frames."""

    def write(self, data: bytes) -> None:
        """Takes a frame and returns at once. Requests a stop when the editor is gone or never reads."""

    async def finish(self, timeout_s: float) -> None:
        """Writes the remaining frames within `timeout_s`, and closes."""


async def serve(server: BaseServer, read: Read, writer: Writer) -> int:
    """Serves the connection until it ends; returns the exit code. `server` must be new."""
    server.protocol.set_writer(writer)
    reading = asyncio.create_task(_take_messages(server, read))
    try:
        return await server.wait_stopped()
    finally:
        reading.cancel()
        await server.protocol.wind_down(server.grace_s * 0.4)
        await run_bounded(server.on_stop(), server.grace_s * 0.4)
        server.protocol.disconnect()
        await writer.finish(server.grace_s * 0.1)
        if server._thread_pool is not None:
            server._thread_pool.shutdown(wait=False, cancel_futures=True)


async def _take_messages(server: BaseServer, read: Read) -> None:
    decoder = FrameDecoder()
    broken: FramingError | None = None
    n_from_stranger = 0
    while broken is None and (chunk := await read()):
        is_stranger = server.token is not None and server.protocol.phase in (Phase.NEW, Phase.INITIALIZING)
        decoder.max_body_bytes = MAX_STRANGER_BYTES if is_stranger else MAX_REQUEST_BYTES
        n_from_stranger += len(chunk) if is_stranger else 0
        if n_from_stranger > MAX_STRANGER_BYTES:
            say("A program without the token sent too much. The connection is closed.")
            break
        try:
            bodies = decoder.feed(chunk)
        except FramingError as error:
            bodies, broken = error.bodies, error
        for body in bodies:
            server.protocol.receive(body)
            await asyncio.sleep(0)
            if server.exit_code is not None:
                return
    if broken is not None:
        say(f"{broken} The connection is closed.")
    elif decoder.is_inside_frame:
        say("The input ended inside a message.")
    server.request_stop(0 if server.protocol.phase is Phase.SHUT_DOWN and broken is None else 1)


def say(line: str) -> None:
    """Prints a line on stderr: stdout may carry the protocol."""
    with contextlib.suppress(OSError, ValueError):
        complain(line)
        sys.stderr.flush()


async def run_bounded(work: Awaitable[None], timeout_s: float) -> None:
    """Awaits `work` for at most `timeout_s`. Logs a failure, and a timeout."""
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({task}, timeout=timeout_s)
    if not done:
        task.cancel()
        log.error("Closing took longer than %s s and was given up.", timeout_s)
    elif not task.cancelled() and (error := task.exception()) is not None:
        log.error("Closing failed: %s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))


def log_without_text(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A handler for `loop.set_exception_handler`. asyncio's own logs texts and arguments, which may be a user's
    words."""
    error = context.get("exception")
    frames = "".join(traceback.format_tb(error.__traceback__)) if error is not None else ""
    log.error("A task or callback failed: %s\n%s", type(error).__name__, frames.rstrip())
