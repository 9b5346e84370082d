"""A host of web pages on the loopback, which answers what a test says, byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Answer = bytes | Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class WebHost:
    answers: dict[str, Answer] = field(default_factory=dict)
    """By path; any other one is not found."""
    port: int = 0
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """The path and the headers of each request, in small letters."""
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    is_closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a connection is over."""
    _open: dict[asyncio.Task[None], asyncio.StreamWriter] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None
        self._open[serving] = writer
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            path = head[0].split(" ")[1]
            headers = dict(line.split(": ", 1) for line in head[1:] if line)
            self.asked.append((path, {name.lower(): value for name, value in headers.items()}))
            self.is_asked.set()
            answer = self.answers.get(path, response(b"", status="404 Not Found"))
            if isinstance(answer, bytes):
                writer.write(answer)
                await writer.drain()
            else:
                await answer(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        del self._open[serving]
        self.is_closed.set()

    async def close(self) -> None:
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open)


@asynccontextmanager
async def web_host(**answers: Answer) -> AsyncIterator[WebHost]:
    """`answers`: by the path without its slash."""
    host = WebHost({f"/{path}": answer for path, answer in answers.items()})
    server = await asyncio.start_server(host._serve, "127.0.0.1", 0)
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()
        await host.close()


def response(body: bytes, kind: str = "text/plain", *, status: str = "200 OK", more: str = "") -> bytes:
    """The bytes of a whole answer; `more`: further headers, each with its line end."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode("latin-1") + body


def leads_to(url: str, status: str = "302 Found") -> bytes:
    return response(b"", status=status, more=f"Location: {url}\r\nSet-Cookie: id=zqxcookie\r\n")
