"""A model service on loopback that speaks Messages and Chat Completions and enforces their rules.

It answers from a script, one entry a request: `Reply` (a proper answer), `Fault` (a refusal, or an answer that goes
wrong in the middle) or `Raw` (exact bytes). An empty script answers `Reply()`. What it was asked stands in `requests`.
The rules and the wire formats are those of `palimpsest_clients.fake`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

from palimpsest_clients.fake.anthropic import Anthropic
from palimpsest_clients.fake.chat import Chat
from palimpsest_clients.fake.dialect import Dialect, refuse
from palimpsest_clients.fake.replies import Call, Reply, Usage, rough_count, sse
from palimpsest_clients.fake.service import Asked, Refusal

__all__ = ["KEY", "SUFFIX", "Call", "FakeProvider", "Fault", "Format", "Raw", "Reply", "Request", "sse"]

KEY = "sk-fake-0123456789"
SUFFIX = {"anthropic": "", "chat": "/v1"}
"""What the base address of each format ends with."""

Format = Literal["anthropic", "chat"]
_ANTHROPIC: Final = Anthropic()
_CHAT: Final = Chat()


@dataclass(frozen=True)
class Fault:
    """What goes wrong. A status other than 200 is the whole answer; the others let `after` events of a reply pass."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """None: what the service itself sends with that status. A string is sent as text/html."""
    then: Literal["drop", "stall", "error"] = "drop"
    after: int = 0


@dataclass(frozen=True)
class Raw:
    body: bytes
    content_type: str = "text/event-stream"


@dataclass(frozen=True)
class Request:
    target: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    connection: int
    """Which connection it came on, counted from 1."""


class FakeProvider:
    def __init__(self, *, limit_tokens: int = 200_000, chunk_bytes: int | None = None) -> None:
        self.limit_tokens = limit_tokens
        self.chunk_bytes = chunk_bytes
        """Cuts the bytes of a stream into chunks of this size, through the middle of characters too."""
        self.script: list[Reply | Fault | Raw] = []
        self.requests: list[Request] = []
        self.stalled = asyncio.Event()
        """Set when an answer stalls."""
        self.disconnected = asyncio.Event()
        """Set when a client goes away from a stalled answer."""
        self._connections: set[asyncio.Task[None]] = set()
        self._n_connections = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self._n_connections += 1
        number = self._n_connections
        try:
            while await self._answer(reader, writer, number):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._connections.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        """Whether the connection stays open for another request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        if head[0].startswith("GET"):  # a list of models, of which this service has none
            return await _send(writer, 404, "application/json", b'{"error": {}}', {})
        target = head[0].split(" ")[1]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.requests.append(Request(target, headers, body, number))
        dialect = _ANTHROPIC if target.endswith("/messages") else _CHAT
        step = self.script.pop(0) if self.script else Reply()
        if isinstance(step, Raw):
            return await _send(writer, 200, step.content_type, step.body, {})
        fault = step if isinstance(step, Fault) else None
        n_tokens = rough_count(body)
        try:
            if fault and fault.status != 200:
                raise Refusal(fault.status, dialect.error(fault.status, "scripted failure"))
            self._check(dialect, Asked("POST", target, headers, body, number), n_tokens)
        except Refusal as refusal:
            data, kind = b"".join(refusal.sent.chunks), "application/json"
            if fault and fault.body is not None:
                is_text = isinstance(fault.body, str)
                data = (fault.body if is_text else json.dumps(fault.body)).encode()
                kind = "text/html" if is_text else kind
            return await _send(writer, refusal.sent.status, kind, data, fault.headers if fault else {})
        reply = step if isinstance(step, Reply) else Reply()
        events = dialect.events(body, Usage(n_tokens, 33, n_cache_read=22, n_cache_written=11), reply)
        return await self._stream(reader, writer, dialect, events, fault)

    def _check(self, dialect: Dialect, asked: Asked, n_tokens: int) -> None:
        key = asked.headers.get("x-api-key") or asked.headers.get("authorization", "").removeprefix("Bearer ")
        if key != KEY:
            refuse(dialect, f"Incorrect API key provided: {key}", status=401, code="invalid_api_key")
        if dialect is _ANTHROPIC and asked.headers.get("anthropic-version", "") < "2026-10-21":
            refuse(dialect, "anthropic-version: header is required")
        dialect.check(asked)
        if n_tokens > self.limit_tokens:
            raise Refusal(400, dialect.too_long(n_tokens, self.limit_tokens))

    async def _stream(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        dialect: Dialect,
        events: Iterator[bytes],
        fault: Fault | None,
    ) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for n, event in enumerate(events):
            if fault and n == fault.after:
                if fault.then == "error":
                    await self._write(writer, dialect.stream_error())
                    break
                if fault.then == "stall":
                    self.stalled.set()
                    await reader.read(1)
                    self.disconnected.set()
                return False
            await self._write(writer, event)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        size = self.chunk_bytes or len(data)
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()


async def _send(
    writer: asyncio.StreamWriter, status: int, content_type: str, body: bytes, headers: Mapping[str, str]
) -> bool:
    extra = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    return True
