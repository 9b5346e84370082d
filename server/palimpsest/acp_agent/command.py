"""The agent process: it serves one client over stdin and stdout, and ends with the connection."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import sys
from collections.abc import Callable
from typing import Final

from acp import AgentSideConnection
from acp.stdio import stdio_streams

from palimpsest.acp_agent.agent import ConversationAgent
from palimpsest.domain.errors import PalimpsestError
from palimpsest.services.folder.folders import Folders

_MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024
"""The longest line of the protocol, far longer than the attachments of a message."""
_GRACE_S: Final = 10.0
"""The time for pending output after the client has left."""


def run(load_folders: Callable[[], Folders], protect_stdio: Callable[[], tuple[int, int]]) -> int:
    """Serve the client. Returns the exit code: 0 when the client has left or a signal came. `protect_stdio` returns the
    descriptors of the protocol and keeps all other output away from them. Raises PalimpsestError without a client."""
    return asyncio.run(_serve(load_folders, protect_stdio))


async def _serve(load_folders: Callable[[], Folders], protect_stdio: Callable[[], tuple[int, int]]) -> int:
    agent = ConversationAgent(load_folders)
    try:
        reader, writer = await _streams(*protect_stdio(), agent.leave)
    except (OSError, ValueError):
        raise PalimpsestError("There is no stdin or no stdout. A client has to start this command.") from None
    connection = AgentSideConnection(agent, writer, reader, listening=False)
    listening = asyncio.create_task(connection.listen())
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, listening.cancel)
    await asyncio.gather(listening, return_exceptions=True)  # errors are logged already
    agent.leave()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_S):
            await connection.close()
    await agent.close()
    return 0


async def _streams(
    source: int, sink: int, on_lost: Callable[[], None]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """`on_lost` is called when the client no longer reads."""
    if sys.platform == "win32":  # the event loop cannot wait for its pipes, so the package reads them in a thread
        sys.stdin, sys.stdout = os.fdopen(source), os.fdopen(sink, "w")
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] = await stdio_streams(_MAX_MESSAGE_BYTES)
        return streams
    with selectors.DefaultSelector() as selector:
        selector.register(source, selectors.EVENT_READ)  # raises OSError for /dev/null, of which the loop only logs it
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_MAX_MESSAGE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(lambda: _Sink(on_lost), os.fdopen(sink, "wb", 0))
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


class _Sink(asyncio.StreamReaderProtocol):
    """The protocol of the writer: that of readers can also tell a writer to wait."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        super().__init__(asyncio.StreamReader())
        self._on_lost = on_lost

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._on_lost()
