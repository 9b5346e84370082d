"""Fetches one page of the web that a user named, and nothing that this machine can reach but the public may not.

Each hop of a redirect is checked anew. A host's addresses are resolved once, all of them are checked, and the
connection goes to one of those: a name that means something else a moment later changes nothing. The proxies of the
environment are not used, because they resolve names themselves. Nothing of the user is sent: no cookie, no
credentials, no address of another page.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpx
import truststore

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.web import Fetched, WebAddress, is_public, read_address

MAX_BYTES: Final = 4 * 1024 * 1024
"""The most bytes of a page, as they come and unpacked."""
MAX_REDIRECTS: Final = 5
TIMEOUT_S: Final = 20.0
"""How long all of it may take, names and redirects included."""
_CONNECT_S: Final = 5.0
"""How long one address of a host is tried."""
_MAX_ADDRESSES: Final = 4
_HEADERS: Final = {
    "user-agent": "palimpsest",
    "accept": "text/html, text/markdown, text/plain, application/json, */*;q=0.5",
    "accept-encoding": "gzip",
    "connection": "close",
}
_GZIP: Final = 16 + zlib.MAX_WBITS

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The IP addresses of a host, in the order in which they are tried. Raises OSError."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """By this machine's own resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class PageClient:
    """Fetches pages. It keeps nothing between two of them."""

    resolve: Resolve = resolve
    timeout_s: float = TIMEOUT_S

    async def fetch(self, address: WebAddress, allowed: frozenset[str]) -> Fetched:
        """The page. `allowed`: hosts, with or without a port, that may be private; a redirect from another place leads
        to none of them. Raises InvalidRequest."""
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._follow(address, allowed)
        except TimeoutError:
            raise InvalidRequest(
                f"{address.place} did not send the page within {self.timeout_s:.0f} s. Try again later."
            ) from None

    async def _follow(self, first: WebAddress, allowed: frozenset[str]) -> Fetched:
        at = first
        for _ in range(MAX_REDIRECTS + 1):
            found = await self._hop(at, is_private_allowed=at.place == first.place and first.is_among(allowed))
            if isinstance(found, Fetched):
                return found
            if at.scheme == "https" and found.scheme == "http":
                raise InvalidRequest(
                    f"{at.place} leads on from https:// to http://, which is not followed. Mention {found.url} itself."
                )
            at = found
        raise InvalidRequest(f"{first.place} leads on more than {MAX_REDIRECTS} times, so the page was not fetched.")

    async def _hop(self, at: WebAddress, *, is_private_allowed: bool) -> Fetched | WebAddress:
        """The page at an address, or where it leads on."""
        try:
            addresses = await self.resolve(at.host, at.port)
        except (OSError, UnicodeError):
            addresses = ()
        if not addresses:
            raise InvalidRequest(f"There is no host {at.host}. Check how it is written, and the network.")
        if not is_private_allowed and not all(map(is_public, addresses)):
            raise InvalidRequest(
                f"{at.place} is an address of this machine or its own network, so it is not fetched. To allow it when "
                f'you mention it, put it into your config.toml: `web.allow_private = ["{at.place}"]`.'
            )
        for ip in addresses[:_MAX_ADDRESSES]:
            try:
                return await self._ask(at, ip)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if _is_untrusted(error):
                    raise InvalidRequest(
                        f"{at.place} shows a certificate that this system does not trust, so it is not fetched."
                    ) from None
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError):
                raise InvalidRequest(f"{at.place} broke off before the page was whole. Try again later.") from None
        raise InvalidRequest(f"{at.place} could not be reached. Check the address and the network.")

    async def _ask(self, at: WebAddress, ip: str) -> Fetched | WebAddress:
        """Asks the host at one of its addresses."""
        url = httpx.URL(scheme=at.scheme, host=ip, port=at.port, raw_path=at.target.encode("ascii"))
        extensions = {
            "sni_hostname": at.host,
            "timeout": httpx.Timeout(self.timeout_s, connect=_CONNECT_S).as_dict(),
        }
        request = httpx.Request("GET", url, headers={"host": at.place, **_HEADERS}, extensions=extensions)
        # A transport of its own: no proxy, no cookie and no redirect that is followed unseen.
        async with httpx.AsyncHTTPTransport(verify=_trusted()) as transport:
            response = await transport.handle_async_request(request)
            try:
                return await _read(at, response)
            finally:
                await response.aclose()


async def _read(at: WebAddress, response: httpx.Response) -> Fetched | WebAddress:
    location = response.headers.get("location")
    if location is not None and 300 <= response.status_code < 400:
        return read_address(location, at)
    if not response.is_success:
        raise InvalidRequest(f"{at.place} did not give the page: it answered {_status(response.status_code)}.")
    media_type, _, parameters = response.headers.get("content-type", "").partition(";")
    named = (each.partition("=") for each in parameters.split(";"))
    charset = next((value.strip(" \"'") for name, _, value in named if name.strip().lower() == "charset"), "")
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip"):
        raise InvalidRequest(f"{at.place} packed the page in a way that it was not asked for, so it cannot be read.")
    assert isinstance(response.stream, httpx.AsyncByteStream)
    body = await _unpacked(at, response.stream, is_packed=packing != "identity")
    return Fetched(at, media_type.strip().lower(), charset, body)


async def _unpacked(at: WebAddress, chunks: AsyncIterator[bytes] | httpx.AsyncByteStream, *, is_packed: bool) -> bytes:
    """The body. No more is read or unpacked than may be kept."""
    unpacker = zlib.decompressobj(_GZIP) if is_packed else None
    body, n_read = bytearray(), 0
    async for chunk in chunks:
        n_read += len(chunk)
        if unpacker is None:
            body += chunk
        else:
            try:
                body += unpacker.decompress(chunk, MAX_BYTES + 1 - len(body))
            except zlib.error:
                raise InvalidRequest(f"{at.place} sent a page that cannot be unpacked.") from None
        if max(n_read, len(body)) > MAX_BYTES:
            raise InvalidRequest(
                f"The page of {at.place} has more than {MAX_BYTES:,} bytes, so it was not fetched. Save what matters "
                "into a file of the folder, and mention that."
            )
    if unpacker is not None and n_read and not unpacker.eof:
        raise InvalidRequest(f"{at.place} broke off before the page was whole. Try again later.")
    return bytes(body)


@functools.cache
def _trusted() -> ssl.SSLContext:
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _status(code: int) -> str:
    try:
        return f"{code} ({HTTPStatus(code).phrase})"
    except ValueError:
        return str(code)


def _is_untrusted(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
