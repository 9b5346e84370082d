"""A server in this process and an editor, connected in memory: the real framing, services and stores, but no pipe and
no start, which takes longer than most tests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import AsyncIterator, Iterator
from unittest.mock import patch

from tests.lsp.rawlsp import RawClient, environment
from tests.vocabularies import vocabularies
from tests.waiting import WAIT_S

from palimpsest.app import compose
from palimpsest.lsp.runtime.base import BaseServer
from palimpsest.lsp.runtime.transport import log_without_text, serve
from palimpsest.lsp.server import build_server
from palimpsest.services.models.tokenizers import Tokenizers


class ToServer:
    """The editor's end of what the server reads: what RawClient uses of a StreamWriter."""

    def __init__(self) -> None:
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._is_closed = False

    def write(self, data: bytes) -> None:
        if data and not self._is_closed:
            self._chunks.put_nowait(data)

    def write_eof(self) -> None:
        self._chunks.put_nowait(b"")

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self.write_eof()

    def is_closing(self) -> bool:
        return self._is_closed

    async def wait_closed(self) -> None:
        """There is nothing to wait for."""

    async def read(self) -> bytes:
        """The next bytes for the server; none when the editor has closed its end."""
        return await self._chunks.get()


class ToEditor:
    """The server's end of what the editor reads."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._is_finished = False

    def write(self, data: bytes) -> None:
        if not self._is_finished:
            self._reader.feed_data(data)

    async def finish(self, timeout_s: float) -> None:
        self._is_finished = True
        self._reader.feed_eof()


@contextlib.asynccontextmanager
async def served(server: BaseServer) -> AsyncIterator[RawClient]:
    """An editor of `server`, before `initialize`. The connection ends with the block, if it has not ended before."""
    to_server, reader = ToServer(), asyncio.StreamReader(limit=1 << 26)
    serving = asyncio.create_task(serve(server, to_server.read, ToEditor(reader)))
    client = RawClient(reader, to_server, serving=serving)
    with _logged_to(client):
        try:
            yield client
        finally:
            await client.close()
            await asyncio.wait_for(serving, WAIT_S)


@contextlib.contextmanager
def in_environment(**more: str) -> Iterator[dict[str, str]]:
    """The environment that a server would be started with, in force in this process."""
    environ = environment(**more)
    with patch.dict(os.environ, environ), patch.object(compose, "Tokenizers", lambda _: Tokenizers(vocabularies())):
        yield environ


@contextlib.asynccontextmanager
async def connected_here(**more_environment: str) -> AsyncIterator[RawClient]:
    """An editor, before `initialize`, of a server of its own, as `palimpsest serve` makes it. When the last such server
    has ended, none of their tasks and threads may be left."""
    if not _Servers.n_running:
        _Servers.tasks_before = asyncio.all_tasks()
        _Servers.threads_before = set(threading.enumerate())
    asyncio.get_running_loop().set_exception_handler(log_without_text)
    with in_environment(**more_environment) as environ:
        server = build_server(lambda: compose.load_folders(environ), owns_folders=True)
        _Servers.n_running += 1
        try:
            async with served(server) as client:
                yield client
        finally:
            _Servers.n_running -= 1
    if not _Servers.n_running:
        await _nothing_is_left()


class _Servers:
    """Those of `connected_here`."""

    n_running = 0
    tasks_before: set[asyncio.Task[object]]
    threads_before: set[threading.Thread]


async def _nothing_is_left() -> None:
    left = {task for task in asyncio.all_tasks() - _Servers.tasks_before if _is_ours(task)}
    if left:
        _, left = await asyncio.wait(left, timeout=WAIT_S)
    assert not left, left
    threads = {thread for thread in threading.enumerate() if thread.name.startswith("store-")}
    assert not threads - _Servers.threads_before


def _is_ours(task: asyncio.Task[object]) -> bool:
    coroutine = task.get_coro()
    code = getattr(coroutine, "cr_code", None)
    return code is not None and f"{os.sep}palimpsest{os.sep}" in code.co_filename


@contextlib.contextmanager
def _logged_to(client: RawClient) -> Iterator[None]:
    """The text that a server in a process of its own would write on stderr."""

    class Log(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            client.hear_error(self.format(record).encode() + b"\n")

    handler = Log(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
