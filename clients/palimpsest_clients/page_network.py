"""The network as a page of a stranger comes over it: in small slices, and bounded in what comes beside the page."""

# ruff: noqa: ASYNC109 (the interface is httpcore's)

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any, Final

import httpcore

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.web import WebAddress

MAX_OVERHEAD: Final = 512 * 1024
"""The most bytes that come beside the page: heads, and the lengths of its pieces. Each takes far longer to read than
the bytes of a page."""
_SLICE: Final = 4 * 1024
"""The bytes that are read at once: other work goes on in between, however much there is to do with each of them."""


class PageNetwork(httpcore.AsyncNetworkBackend):
    """The network, read in small slices and bounded in what comes beside the page."""

    def __init__(self, at: WebAddress) -> None:
        self._at = at
        self._below = httpcore.AnyIOBackend()
        self.n_beside = 0
        """Bytes that came and were none of the page."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(self, await self._below.connect_tcp(host, port, timeout, local_address, socket_options))

    def hear(self, n_bytes: int) -> None:
        """Raises InvalidRequest."""
        self.n_beside += n_bytes
        if self.n_beside > MAX_OVERHEAD:
            raise InvalidRequest(f"{self._at.place} sends more around the page than the page, so it was not fetched.")


class _Stream(httpcore.AsyncNetworkStream):
    def __init__(self, network: PageNetwork, below: httpcore.AsyncNetworkStream) -> None:
        self._network, self._below = network, below

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        await asyncio.sleep(0)
        found = await self._below.read(min(max_bytes, _SLICE), timeout)
        self._network.hear(len(found))
        return found

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._below.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._below.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(self._network, await self._below.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._below.get_extra_info(info)
