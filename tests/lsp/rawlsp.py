"""A raw LSP client for tests: it sends the very bytes it is told to, and keeps every message in the order it came.

It shares no code with the server, so it cannot share a mistake with it. Every wait has a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.waiting import WAIT_S

REPOSITORY = Path(__file__).resolve().parents[2]

ABSENT: Any = object()
"""For a message without params, which is not the same as params that are null."""

Message = dict[str, Any]

HEARS_CHANGES: Message = {"experimental": {"palimpsest": {"notifications": True}}}
"""Capabilities of an editor that asks for the notifications of our protocol."""


def encode(message: Any) -> bytes:
    """A message as one frame."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def environment(**more: str) -> dict[str, str]:
    """The environment for a server of this repository, wherever it is started."""
    paths = [str(REPOSITORY / "server"), str(REPOSITORY / "clients")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"} | more


class Writer(Protocol):
    """The part of an asyncio.StreamWriter that the client uses."""

    def write(self, data: bytes) -> None: ...

    def write_eof(self) -> None: ...

    def close(self) -> None: ...

    def is_closing(self) -> bool: ...

    async def wait_closed(self) -> None: ...


class RawClient:
    """One connection to a server: in a process of its own, over TCP, or in this process."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: Writer,
        process: asyncio.subprocess.Process | None = None,
        serving: asyncio.Task[int] | None = None,
    ) -> None:
        """`serving`: the server, if it is in this process."""
        self.writer = writer
        self.process = process
        self._serving = serving
        self.inbox: list[Message] = []
        self._arrived = asyncio.Event()
        """Every message that came, oldest first."""
        self.handlers: dict[str, Callable[[Any], Any]] = {}
        """What we answer the server's requests with; a method that is not here is answered with -32601."""
        self.raw_replies: dict[str, Callable[[Any], Message]] = {}
        """As `handlers`, but the whole reply is given, right or wrong."""
        self.silent_for: Callable[[Message], None] | None = None
        """Hears the server's requests instead, and nothing is replied to them."""
        self.stderr = bytearray()
        self._reader = reader
        self._ids = itertools.count(1)
        self._pending: dict[Any, asyncio.Future[Message]] = {}
        self._notifications: dict[str, asyncio.Queue[Any]] = {}
        self.reading = asyncio.create_task(self._read())
        self._error_lines: asyncio.Queue[str] = asyncio.Queue()
        self._reading_errors = asyncio.create_task(self._read_errors())

    # ------------------------------------------------------------------------------------------------------- sending

    def send_bytes(self, data: bytes) -> None:
        self.writer.write(data)

    def send(self, message: Any) -> None:
        self.send_bytes(encode(message))

    def notify(self, method: str, params: Any = ABSENT) -> None:
        self.send({"jsonrpc": "2.0", "method": method} | ({} if params is ABSENT else {"params": params}))

    def start_request(self, method: str, params: Any = ABSENT, message_id: Any = None) -> Request:
        """Send a request without waiting for its answer."""
        message_id = next(self._ids) if message_id is None else message_id
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._pending[message_id] = future
        head = {"jsonrpc": "2.0", "id": message_id, "method": method}
        self.send(head | ({} if params is ABSENT else {"params": params}))
        return Request(message_id, future)

    async def request(self, method: str, params: Any = ABSENT, timeout_s: float = WAIT_S) -> Message:
        """The whole answer: a dict with `result` or `error`."""
        return await self.start_request(method, params).answer(timeout_s)

    async def result(self, method: str, params: Any = ABSENT) -> Any:
        """The result; a failure of the test when the request was answered with an error."""
        answer = await self.request(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    # ------------------------------------------------------------------------------------------------------ receiving

    async def notification(self, method: str, timeout_s: float = WAIT_S) -> Any:
        """The params of the next notification of this method that nobody has waited for yet."""
        return await asyncio.wait_for(self._queue(method).get(), timeout_s)

    async def error_line(self, timeout_s: float = WAIT_S) -> str:
        """The next line the process writes on stderr that nobody has waited for yet."""
        return await asyncio.wait_for(self._error_lines.get(), timeout_s)

    def received(self, method: str) -> list[Any]:
        """The params of every message of this method so far."""
        return [message.get("params") for message in self.inbox if message.get("method") == method]

    def answers(self, message_id: Any) -> list[Message]:
        """Every answer that carries this id."""
        return [message for message in self.inbox if "method" not in message and message.get("id") == message_id]

    def _queue(self, method: str) -> asyncio.Queue[Any]:
        return self._notifications.setdefault(method, asyncio.Queue())

    async def _read(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                header = await self._reader.readuntil(b"\r\n\r\n")
                lengths = [line for line in header.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                assert len(lengths) == 1, header
                self._receive(json.loads(await self._reader.readexactly(int(lengths[0].split(b":")[1]))))
        for future in self._pending.values():
            if not future.done():
                future.set_exception(EOFError("the server closed the connection"))
                future.exception()  # somebody else may never ask, and that is no error of the test

    async def _read_errors(self) -> None:
        while self.process is not None and self.process.stderr and (line := await self.process.stderr.readline()):
            self.hear_error(line)

    def hear_error(self, line: bytes) -> None:
        """Take a line that the server wrote on stderr, or logged."""
        self.stderr += line
        self._error_lines.put_nowait(line.decode("utf-8", "replace").rstrip("\r\n"))

    async def more(self) -> None:
        """Waits for the next message of any kind."""
        self._arrived.clear()
        await self._arrived.wait()

    def _receive(self, message: Message) -> None:
        self.inbox.append(message)
        self._arrived.set()
        if "method" not in message:
            answer_id = message.get("id")
            future = self._pending.get(answer_id) if isinstance(answer_id, (int, str)) else None
            if future is not None and not future.done():
                future.set_result(message)
        elif "id" not in message:
            self._queue(message["method"]).put_nowait(message.get("params"))
        else:
            self.reply(message)

    def reply(self, message: Message) -> None:
        """Answer a request of the server, as `handlers` and the like say."""
        head = {"jsonrpc": "2.0", "id": message["id"]}
        method, params = message["method"], message.get("params")
        if self.silent_for is not None:
            self.silent_for(message)
        elif method in self.raw_replies:
            self.send(head | self.raw_replies[method](params))
        elif method in self.handlers:
            self.send(head | {"result": self.handlers[method](params)})
        else:
            self.send(head | {"error": {"code": -32601, "message": "no such method"}})

    # -------------------------------------------------------------------------------------------------------- lifecycle

    async def initialize(self, capabilities: Message | None = None, **more: Any) -> Message:
        """`initialize` and `initialized`; the whole answer of the first. A client that announces nothing of its own
        asks for our notifications; so does one that announces `HEARS_CHANGES`."""
        announced = HEARS_CHANGES if capabilities is None else capabilities
        params = {"processId": None, "rootUri": None, "capabilities": announced} | more
        answer = await self.request("initialize", params)
        if "result" in answer:
            self.notify("initialized", {})
        return answer

    async def exit_code(self, timeout_s: float = WAIT_S) -> int:
        """What the server ended with; everything it wrote has then been read."""
        if self.process is not None:
            code = await asyncio.wait_for(self.process.wait(), timeout_s)
        else:
            assert self._serving is not None
            code = await asyncio.wait_for(asyncio.shield(self._serving), timeout_s)
        await asyncio.wait_for(asyncio.gather(self.reading, self._reading_errors), WAIT_S)
        return code

    async def close(self) -> None:
        """Close the connection and end the process, if it is still there."""
        self.writer.close()
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()
        await asyncio.wait_for(asyncio.gather(self.reading, self._reading_errors), WAIT_S)


class Request:
    """A request of ours that is under way."""

    def __init__(self, message_id: Any, future: asyncio.Future[Message]) -> None:
        self.id = message_id
        self._future = future

    @property
    def is_answered(self) -> bool:
        return self._future.done()

    async def answer(self, timeout_s: float = WAIT_S) -> Message:
        return await asyncio.wait_for(asyncio.shield(self._future), timeout_s)


@contextlib.asynccontextmanager
async def started(command: Sequence[str], **more_environment: str) -> AsyncIterator[RawClient]:
    """A server process of our own; ended with the block, in whatever way."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 26,
        env=environment(**more_environment),
        cwd=REPOSITORY,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    client = RawClient(process.stdout, process.stdin, process)
    try:
        yield client
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[RawClient]:
    """A connection to a server on this machine."""
    client = RawClient(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 26))
    try:
        yield client
    finally:
        await client.close()
