"""One connection from its first byte to its last, whatever carries it.

`serve` reads chunks, cuts them into messages, hands over one at a time and lets the loop run in between: the next chunk
is asked for when the last message was taken, so a flood of messages waits in the pipe and not in our memory. Out of
this one loop lead all ways to the end: the end of the input, broken frames, `exit`, a signal, a lost editor. Each of
them only asks the server to stop, and `serve` then winds down in one order: handlers clean up, `on_stop` closes the
stores, what is still to be written is written.
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
"""More than this unread by an editor: it is given up. It has stopped reading, and memory is not endless."""

MAX_REQUEST_BYTES = 64 << 20
"""The longest message of an editor. It is read as a whole, while nothing else runs."""
MAX_STRANGER_BYTES = 1 << 20
"""What is taken in, all messages together, of an editor that has to show a token and has not."""

Read = Callable[[], Awaitable[bytes]]
"""The next bytes from the editor, at least one; none at all when it will send no more. Raises nothing."""


class Writer(Protocol):
    """Where frames go."""

    def write(self, data: bytes) -> None:
        """Take a frame and return at once. An editor that is gone, or never reads, is asked to be stopped."""

    async def finish(self, timeout_s: float) -> None:
        """Get rid of what was taken, within `timeout_s`, and close."""


async def serve(server: BaseServer, read: Read, writer: Writer) -> int:
    """Serve the connection until it ends; the exit code. `server` has not served before."""
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
            say("A program that has not shown the token sends too much. The connection is closed.")
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
    """One line for whoever started the server, on stderr: stdout may be the protocol's."""
    with contextlib.suppress(OSError, ValueError):
        complain(line)
        sys.stderr.flush()


async def run_bounded(work: Awaitable[None], timeout_s: float) -> None:
    """Await `work` for at most `timeout_s`. Its failure is logged, and so is that it took too long."""
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({task}, timeout=timeout_s)
    if not done:
        task.cancel()
        log.error("Closing took longer than %s s and was given up.", timeout_s)
    elif not task.cancelled() and (error := task.exception()) is not None:
        log.error("Closing failed: %s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))


def log_without_text(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """For `loop.set_exception_handler`: asyncio's own logs texts and arguments, which may be somebody's words."""
    error = context.get("exception")
    frames = "".join(traceback.format_tb(error.__traceback__)) if error is not None else ""
    log.error("A task or callback failed: %s\n%s", type(error).__name__, frames.rstrip())
