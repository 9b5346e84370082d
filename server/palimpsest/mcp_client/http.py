"""A server at an address, over streamable HTTP.

The package follows a redirect only within the origin of the address and otherwise names where it leads, so headers go
to nobody else. What it does not bound are answers that are no event stream: here no answer is longer than a message
may be, and none comes compressed, because a small one could become a large one.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
import truststore
from mcp.client.streamable_http import streamable_http_client

from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.mcp_client.ending import Ending
from palimpsest.mcp_client.guard import Flood, Guard
from palimpsest.mcp_client.lines import MAX_LINE_BYTES

_TIMEOUT: Final = httpx2.Timeout(30.0, read=None)
"""Seconds. An answer may take as long as its caller waits, and a stream of news may be silent for ever."""
_EVENTS: Final = "text/event-stream"


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        n_bytes = 0
        async for chunk in self._stream:
            n_bytes += len(chunk)
            if n_bytes > MAX_LINE_BYTES:
                raise httpx2.StreamError(f"The answer has more than {MAX_LINE_BYTES:,} bytes. Ask for less.")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    """An event stream is bounded event by event; anything else as a whole."""
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise httpx2.DecodingError("The server compressed its answer, although it was asked not to.")
    if not response.headers.get("content-type", "").strip().lower().startswith(_EVENTS):
        response.stream = _BoundedStream(response.stream)


class _Guarded:
    """A stream of the package, with what the guard admits."""

    def __init__(self, stream: Any, guard: Guard, ending: Ending) -> None:
        self._stream, self._guard, self._ending = stream, guard, ending

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Any:
        while True:
            item = await self._stream.receive()
            if isinstance(item, Exception) or self._admits(item.message):
                return item

    def _admits(self, message: Any) -> bool:
        try:
            return self._guard.admits(message)
        except Flood as flood:
            self._ending.end(str(flood))
            self._stream.close()
            return False

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


@contextlib.asynccontextmanager
async def http(config: ServerConfig, guard: Guard, ending: Ending) -> AsyncIterator[Any]:
    """The streams of the package for an address. `config` is filled in."""
    assert config.url is not None
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client = httpx2.AsyncClient(
        headers={**config.headers, "accept-encoding": "identity"},
        timeout=_TIMEOUT,
        verify=context,
        event_hooks={"response": [_bound]},
    )
    async with (
        client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES) as (came, go),
    ):
        yield _Guarded(came, guard, ending), go
