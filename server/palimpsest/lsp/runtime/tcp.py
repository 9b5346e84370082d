"""Serving over TCP on the loopback: one process, many editors, one server object each.

Any program on the machine can connect to a loopback port, other users' programs included. So a client must show the
token, which is in a file that only its owner can read, and it must show it in time. An editor that leaves, or sends
invalid data, ends only its own connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from palimpsest.domain.errors import cannot_listen
from palimpsest.lsp.runtime.base import BaseServer
from palimpsest.lsp.runtime.phase import Phase
from palimpsest.lsp.runtime.process import Process
from palimpsest.lsp.runtime.transport import CHUNK_BYTES, MAX_UNSENT_BYTES, log_without_text, run_bounded, say, serve

HOST = "127.0.0.1"
HANDSHAKE_S = 10.0
"""The seconds from connecting to a successful `initialize`."""
MIN_TOKEN_LENGTH = 16


class TokenFileError(Exception):
    """The token file cannot be trusted or read; the message is a sentence with the reason."""


def run_tcp(
    make_server: Callable[[], BaseServer],
    *,
    token_file: Path,
    port: int,
    on_stop: Callable[[], Awaitable[None]],
) -> int:
    """Serves editors until a signal comes; returns the exit code. Raises TokenFileError before it listens.

    `port` 0 takes a free one; the address is printed on stderr. `on_stop` closes the resources that connections share,
    once, when the last of them has ended.
    """
    return asyncio.run(_listen(make_server, load_token(token_file), port, on_stop))


async def _listen(
    make_server: Callable[[], BaseServer], token: str, port: int, on_stop: Callable[[], Awaitable[None]]
) -> int:
    asyncio.get_running_loop().set_exception_handler(log_without_text)
    grace_s = BaseServer.grace_s
    stopping = asyncio.Event()
    connections: dict[asyncio.Task[None], BaseServer] = {}
    process = Process(grace_s * 2)  # the connections take one grace time, `on_stop` a part of another
    process.stop_on_signals(lambda _: stopping.set())

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            server = connections[task] = make_server()
            server.token = token
            await _serve_stream(server, reader, writer)
        finally:
            connections.pop(task, None)
            writer.close()

    try:
        listener = await asyncio.start_server(connect, HOST, port)
    except OSError as error:
        say(cannot_listen(HOST, port, error))
        await run_bounded(on_stop(), grace_s)
        return 1
    say(f"listening on {HOST}:{listener.sockets[0].getsockname()[1]}")
    await stopping.wait()
    listener.close()
    for server in connections.values():
        server.request_stop(0)
    if connections:
        await asyncio.wait(set(connections), timeout=grace_s)
    await run_bounded(on_stop(), grace_s)
    return 0


async def _serve_stream(server: BaseServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async def read() -> bytes:
        try:
            return await reader.read(CHUNK_BYTES)
        except OSError:
            return b""

    def hang_up_strangers() -> None:
        if server.protocol.phase in (Phase.NEW, Phase.INITIALIZING):
            server.request_stop(1)

    handshake = asyncio.get_running_loop().call_later(HANDSHAKE_S, hang_up_strangers)
    try:
        await serve(server, read, StreamFrames(writer, server))
    finally:
        handshake.cancel()


class StreamFrames:
    """Writes frames to a socket; asyncio buffers those that the editor has not read yet."""

    def __init__(self, writer: asyncio.StreamWriter, server: BaseServer) -> None:
        self._writer = writer
        self._server = server

    def write(self, data: bytes) -> None:
        """Takes a frame. Ends the connection when the editor does not read."""
        unsent_bytes = self._writer.transport.get_write_buffer_size()
        if 0 < unsent_bytes and unsent_bytes + len(data) > MAX_UNSENT_BYTES:
            self._server.request_stop(1)
        elif not self._writer.is_closing():
            self._writer.write(data)

    async def finish(self, timeout_s: float) -> None:
        """Sends all frames within `timeout_s`, and closes the socket."""
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._writer.wait_closed()
        self._writer.transport.abort()


def load_token(path: Path) -> str:
    """The token in the file; a new file with mode 0600 gets a fresh one.

    Raises TokenFileError when the file is not a regular file, belongs to another user, or is accessible to others.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read_token(path)
    except OSError as error:
        raise TokenFileError(f"The token file {path} cannot be created: {error.strerror}.") from None
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


def _read_token(path: Path) -> str:
    try:
        # No link is followed, and the checks are of the open descriptor, not of the name.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise TokenFileError(f"The token file {path} cannot be read: {error.strerror}.") from None
    try:
        _check_token_file(path, os.fstat(descriptor))
        token = os.read(descriptor, 4096).decode("utf-8", "replace").strip()
    finally:
        os.close(descriptor)
    if len(token) < MIN_TOKEN_LENGTH:
        raise TokenFileError(f"The token in {path} is shorter than {MIN_TOKEN_LENGTH} characters.")
    return token


def _check_token_file(path: Path, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise TokenFileError(f"The token file {path} is not a regular file.")
    if sys.platform == "win32":
        return  # stat reports no owners and modes there; the user's own folder must be enough
    if facts.st_uid != os.geteuid():
        raise TokenFileError(f"The token file {path} belongs to another user.")
    if facts.st_mode & 0o077:
        mode = stat.S_IMODE(facts.st_mode)
        raise TokenFileError(
            f"The token file {path} has mode {mode:04o}: other users can read or change it. Set it to 0600."
        )
