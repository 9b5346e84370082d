"""Fetches one page of the web that a user named, and nothing that this machine can reach but the public may not.

Each hop of a redirect is checked anew, and one to another site is left to whoever asked. A host's addresses are
resolved once, all of them are checked, and the connection goes to one of those: a name that means something else a
moment later changes nothing. A proxy resolves names itself, so it is used only when the user says so. Nothing of the
user is sent: no cookie, no credentials, no address of another page.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
import zlib
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpcore
import httpx
import truststore

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.web import Fetched, Reach, WebAddress, is_of_one_network, is_public, read_address
from palimpsest_clients import proxies
from palimpsest_clients.page_network import PageNetwork

MAX_BYTES: Final = 4 * 1024 * 1024
"""The most bytes of a page, as they come and unpacked."""
MAX_REDIRECTS: Final = 5
TIMEOUT_S: Final = 20.0
"""How long all of it may take, names and redirects included."""
_CONNECT_S: Final = 5.0
"""How long one address of a host is tried."""
_LOOK_UP_S: Final = 3.0
"""How long a name is looked up that the proxy will look up as well: behind some proxies names of the internet mean
nothing."""
_MAX_ADDRESSES: Final = 4
_HEADERS: Final = (
    ("user-agent", "palimpsest"),
    ("accept", "text/html, text/markdown, text/plain, application/json, */*;q=0.5"),
    ("accept-encoding", "gzip"),
    ("connection", "close"),
)
_GZIP: Final = 16 + zlib.MAX_WBITS

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The IP addresses of a host, in the order in which they are tried. Raises OSError."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """By this machine's own resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def own_address(ip: str) -> str | None:
    """The address that this machine would send from to reach `ip`; None when there is no way there. Nothing is
    sent."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((ip, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class PageClient:
    """Fetches pages. It keeps nothing between two of them."""

    resolve: Resolve = resolve
    timeout_s: float = TIMEOUT_S
    own_address: Callable[[str], str | None] = own_address

    async def fetch(self, address: WebAddress, reach: Reach) -> Fetched | WebAddress:
        """The page, or the address on another site to which it leads on. A redirect leads to no private place but the
        one that is asked. Raises InvalidRequest."""
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._follow(address, reach)
        except TimeoutError:
            raise InvalidRequest(
                f"{address.place} did not send the page within {self.timeout_s:.0f} s. Try again later."
                f"{await _hint(address, reach)}"
            ) from None

    async def _follow(self, first: WebAddress, reach: Reach) -> Fetched | WebAddress:
        at = first
        for _ in range(MAX_REDIRECTS + 1):
            is_private_allowed = at.place == first.place and first.is_among(reach.private)
            proxy = None if is_private_allowed or not reach.through_proxy else await _proxy_of(at)
            found = await self._hop(at, proxy, is_private_allowed=is_private_allowed)
            if isinstance(found, Fetched):
                return found
            if at.scheme == "https" and found.scheme == "http":
                raise InvalidRequest(
                    f"{at.place} leads on from https:// to http://, which is not followed. Mention {found.url} itself."
                )
            if found.site != first.site:
                return found
            at = found
        raise InvalidRequest(f"{first.place} leads on more than {MAX_REDIRECTS} times, so the page was not fetched.")

    async def _hop(self, at: WebAddress, proxy: str | None, *, is_private_allowed: bool) -> Fetched | WebAddress:
        """The page at an address, or where it leads on."""
        addresses = await self._addresses(at, proxy)
        if not is_private_allowed and not all(map(self._is_elsewhere, addresses)):
            raise InvalidRequest(
                f"{at.place} is an address of this machine or its own network, so it is not fetched. To allow it when "
                f'you mention it, put it into your config.toml: `web.allow_private = ["{at.place}"]`.'
            )
        for target in addresses[:_MAX_ADDRESSES] if proxy is None else [at.host]:
            try:
                return await self._ask(at, target, proxy)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                if _is_untrusted(error):
                    raise InvalidRequest(
                        f"{at.place} shows a certificate that this system does not trust, so it is not fetched."
                    ) from None
            except httpcore.ProxyError:
                raise InvalidRequest(f"The proxy of the environment refused to fetch from {at.place}.") from None
            except (*_FAULTS, OSError):
                raise InvalidRequest(f"{at.place} broke off before the page was whole. Try again later.") from None
        through = "" if proxy is None else " through the proxy of the environment"
        hint = "" if is_private_allowed else await _hint(at, Reach(through_proxy=proxy is not None))
        raise InvalidRequest(f"{at.place} could not be reached{through}. Check the address and the network.{hint}")

    async def _addresses(self, at: WebAddress, proxy: str | None) -> Sequence[str]:
        """What the host is called, as far as this machine knows. Raises InvalidRequest for one that is not there."""
        addresses: Sequence[str] = ()
        try:
            async with asyncio.timeout(None if proxy is None else _LOOK_UP_S):
                addresses = await self.resolve(at.host, at.port)
        except (OSError, UnicodeError):  # a TimeoutError is an OSError
            pass
        # A proxy knows names that this machine does not. Those without a dot are of its own network.
        if not addresses and (proxy is None or "." not in at.host):
            raise InvalidRequest(
                f"There is no host {at.host}. Check how it is written, and the network."
                f"{await _hint(at, Reach(through_proxy=proxy is not None))}"
            )
        return addresses

    def _is_elsewhere(self, ip: str) -> bool:
        """Whether the address is public, and neither this machine's nor one of its own network."""
        if not is_public(ip):
            return False
        own = self.own_address(ip)
        return own is None or not is_of_one_network(own, ip)

    async def _ask(self, at: WebAddress, target: str, proxy: str | None) -> Fetched | WebAddress:
        """Asks the host at one of its addresses, or under its name through a proxy."""
        url = httpcore.URL(scheme=at.scheme, host=target, port=at.port, target=at.target)
        limits = {"connect": _CONNECT_S, "read": self.timeout_s, "write": self.timeout_s, "pool": self.timeout_s}
        extensions = {"sni_hostname": at.host, "timeout": limits}
        request = httpcore.Request("GET", url, headers=[("host", at.place), *_HEADERS], extensions=extensions)
        network = PageNetwork(at)
        # A pool of its own: no cookie and no redirect that is followed unseen.
        async with httpcore.AsyncConnectionPool(
            _trusted(), proxy=None if proxy is None else proxies.to_httpcore(proxy), network_backend=network
        ) as pool:
            response = await pool.handle_async_request(request)
            try:
                return await _read(at, response, network)
            finally:
                await response.aclose()


_FAULTS: Final = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)


async def _read(at: WebAddress, response: httpcore.Response, network: PageNetwork) -> Fetched | WebAddress:
    headers = httpx.Headers(response.headers)
    location = headers.get("location")
    if location is not None and 300 <= response.status < 400:
        return read_address(location, at)
    if not 200 <= response.status < 300:
        raise InvalidRequest(f"{at.place} did not give the page: it answered {_status(response.status)}.")
    media_type, _, parameters = headers.get("content-type", "").partition(";")
    named = (each.partition("=") for each in parameters.split(";"))
    charset = next((value.strip(" \"'") for name, _, value in named if name.strip().lower() == "charset"), "")
    packing = headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip", "x-gzip"):
        raise InvalidRequest(f"{at.place} packed the page in a way that it was not asked for, so it cannot be read.")
    body = await _unpacked(at, response.aiter_stream(), network, is_packed=packing != "identity")
    return Fetched(at, media_type.strip().lower(), charset, body)


async def _unpacked(at: WebAddress, chunks: AsyncIterable[bytes], network: PageNetwork, *, is_packed: bool) -> bytes:
    """The body. No more is read or unpacked than may be kept."""
    unpacker = zlib.decompressobj(_GZIP) if is_packed else None
    body, n_read = bytearray(), 0
    async for chunk in chunks:
        n_read += len(chunk)
        network.hear(-len(chunk))
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


async def _proxy_of(at: WebAddress) -> str | None:
    return await asyncio.to_thread(proxies.proxy_of, at)  # Windows looks names up for it


async def _hint(at: WebAddress, reach: Reach) -> str:
    if reach.through_proxy or await _proxy_of(at) is None:
        return ""
    return (
        " The environment names a proxy, and pages are fetched without it, because nobody can check where a proxy "
        "goes. To use it all the same, put `web.proxy = true` into your config.toml."
    )


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
