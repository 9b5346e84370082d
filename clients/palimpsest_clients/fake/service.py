"""A model service on loopback: HTTP, a script, and the requests so far. The fakes built on it decide the answers.

An entry of a script is a `Sent`: exact bytes in exact chunks, and how they end. A fake checks each request by the rules
of its service before it sends a status of 200.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal, NoReturn, Self

HOST: Final = "127.0.0.1"


@dataclass(frozen=True)
class Sent:
    """An answer as it goes over the wire."""

    chunks: tuple[bytes, ...]
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    then: Literal["end", "drop", "stall"] = "end"
    pause_s: float = 0.0
    """The pause before each chunk."""


@dataclass(frozen=True)
class Asked:
    method: str
    target: str
    headers: Mapping[str, str]
    body: Any
    """The decoded JSON; None for a request without a body."""
    connection: int
    """The number of the connection, counted from 1."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


class Refusal(Exception):
    """A request breaks a rule of the service."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(str(body))
        self.sent = as_json(body, status)


def as_json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Sent:
    return Sent((json.dumps(body, ensure_ascii=False).encode(),), status=status, headers=headers or {})


def cut(data: bytes, *places: int) -> tuple[bytes, ...]:
    """The data in chunks that end at the places."""
    bounds = (0, *places, len(data))
    return tuple(data[start:end] for start, end in pairwise(bounds) if start < end)


class FakeService:
    def __init__(self, port: int = 0) -> None:
        self.port = port
        """The port to listen on; 0: a free one."""
        self.script: list[Sent] = []
        self.asked: list[Asked] = []
        self.stalled = asyncio.Event()
        """Set when an answer stalls."""
        self.disconnected = asyncio.Event()
        """Set when a client leaves a stalled answer."""
        self._connections: set[asyncio.Task[None]] = set()
        self._n_connections = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, self.port)
        self.url = f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def bodies(self) -> list[Any]:
        return [asked.body for asked in self.asked]

    def check(self, asked: Asked) -> None:
        """Raises Refusal for a request that the service would refuse."""
        raise NotImplementedError

    def answer(self, asked: Asked) -> Sent:
        """The answer when nothing is scripted."""
        raise NotImplementedError

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self._n_connections += 1
        number = self._n_connections
        try:
            while await self._send(reader, writer, await self._next(reader, number)):
                pass
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._connections.discard(task)

    async def _next(self, reader: asyncio.StreamReader, number: int) -> Sent:
        try:
            asked = await _read(reader, number)
        except ValueError:
            return as_json({"error": "The request is not HTTP/1.1 with a body of JSON."}, 400, {"connection": "close"})
        self.asked.append(asked)
        return self._decide(asked)

    def _decide(self, asked: Asked) -> Sent:
        scripted = self.script.pop(0) if self.script else None
        if scripted and scripted.status != 200:
            return scripted
        try:
            self.check(asked)
            return scripted or self.answer(asked)
        except Refusal as refusal:
            return refusal.sent

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: Sent) -> bool:
        """Send the answer; return whether the connection stays open for another request."""
        extra = "".join(f"{name}: {value}\r\n" for name, value in sent.headers.items())
        head = f"HTTP/1.1 {sent.status} X\r\ncontent-type: {sent.content_type}\r\ntransfer-encoding: chunked\r\n{extra}"
        writer.write(f"{head}\r\n".encode())
        for chunk in sent.chunks:
            if sent.pause_s:
                await writer.drain()
                await asyncio.sleep(sent.pause_s)
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        await writer.drain()
        if sent.then == "stall":
            self.stalled.set()
            await reader.read(1)
            self.disconnected.set()
        if sent.then != "end":
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return sent.headers.get("connection") != "close"


async def _read(reader: asyncio.StreamReader, number: int) -> Asked:
    """Raises ValueError for bytes that are no request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, target, headers, json.loads(body) if body else None, number)


def refuse(status: int, body: Any) -> NoReturn:
    raise Refusal(status, body)
