"""Addresses of pages of the web, which of them may be asked, and what was fetched from one."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from palimpsest.domain.errors import InvalidRequest

_MAX_CHARACTERS: Final = 2_000
_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?")
_UNSAFE: Final = re.compile(r"[\\\s\x00-\x20\x7f]")
_KEPT: Final = "/%:@!$&'()*+,;=~-._?[]"
"""Characters of a path or query that stay as they are written."""
_NETWORKS: Final = tuple(
    ipaddress.ip_network(each)
    for each in (
        "192.0.0.0/24",  # of protocols, with the metadata of one cloud; Python counts parts of it as public
        "168.63.129.16/32",  # Azure's host as its machines see it, which is a public address
        "fec0::/10",  # the private addresses of once
        "64:ff9b:1::/48",  # NAT64 of a local network
    )
)
_OTHER_SITE: Final = re.compile("[\u00df\u1e9e\u03c2\u200c\u200d]")
"""Letters for which the older rules of names, which Python knows, lead to another host than a browser does."""
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class WebAddress:
    """The address of a page, in one spelling: ASCII, the host in small letters, without a fragment."""

    scheme: str
    host: str
    """A name, or an IP address; IPv6 without brackets."""
    port: int
    target: str
    """The path with the query."""

    @property
    def place(self) -> str:
        """The host with its port, as a URL writes it: without the port that the scheme has anyway."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def site(self) -> str:
        """The place that a user agrees to: `www.` in front of a host makes no other one."""
        return self.place.removeprefix("www.")

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.place}{self.target}"

    def is_among(self, places: Collection[str]) -> bool:
        """Whether the host is named, with its port or without one. Large and small letters are the same, and a `www.`
        in front."""
        host = (f"[{self.host}]" if ":" in self.host else self.host).removeprefix("www.")
        return not {host, f"{host}:{self.port}"}.isdisjoint(each.lower().removeprefix("www.") for each in places)


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer of a host, whole."""

    address: WebAddress
    """The last one, behind the redirects."""
    media_type: str
    """In small letters, without parameters; empty when the host does not say."""
    charset: str
    """As the host says it; empty when it does not."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the way to pages goes."""

    private: frozenset[str] = frozenset()
    """Hosts, with or without a port, that may be private."""
    through_proxy: bool = False
    """Whether the proxy that the environment names is used."""


Fetch = Callable[[WebAddress, Reach], Awaitable[Fetched | WebAddress]]
"""Fetches a page; see `palimpsest_clients.pages.PageClient.fetch`. Raises InvalidRequest."""


async def fetch_nothing(address: WebAddress, reach: Reach) -> Fetched | WebAddress:
    """A `Fetch` where no page is fetched."""
    raise InvalidRequest("Pages of the web are not fetched here. Paste the text.")


def is_web(text: str) -> bool:
    """Whether the text is meant as the address of a page."""
    return re.match(r"https?://", text, re.IGNORECASE) is not None


def read_address(text: str, base: WebAddress | None = None) -> WebAddress:
    """The address that a user, or with `base` a redirect, names. Raises InvalidRequest."""
    if len(text) > _MAX_CHARACTERS:
        raise InvalidRequest(f"An address may have at most {_MAX_CHARACTERS:,} characters, and this one has more.")
    try:
        if _UNSAFE.search(text):
            raise ValueError
        parts = urlsplit(text if base is None else urljoin(base.url, text))
        scheme, port = parts.scheme.lower(), parts.port
        host = _host(parts.hostname or "") if scheme in _PORTS else ""
        if port == 0:
            raise ValueError
    except ValueError:
        raise InvalidRequest(f"{text[:200]!r} is no address of a page. Check how it is written.") from None
    if scheme not in _PORTS:
        raise InvalidRequest(f"{text[:200]!r} does not begin with http:// or https://, so it is not fetched.")
    if "@" in parts.netloc:
        raise InvalidRequest("An address with a name or a password before its host is not fetched. Take these out.")
    target = quote(parts.path or "/", _KEPT) + (f"?{quote(parts.query, _KEPT)}" if parts.query else "")
    return WebAddress(scheme, host, _PORTS[scheme] if port is None else port, target)


def _host(written: str) -> str:
    """The host in its one spelling. Raises ValueError."""
    if ":" in written and "%" not in written:
        return str(ipaddress.IPv6Address(written))
    if _OTHER_SITE.search(written):
        raise ValueError(written)
    host = written.encode("idna").decode("ascii").lower()
    if not _NAME.fullmatch(host):
        raise ValueError(host)
    return host.removesuffix(".")


def is_public(text: str) -> bool:
    """Whether an IP address belongs to a host of the public internet, and to nothing of this machine, its network or
    its cloud. An IPv4 address inside an IPv6 one counts too."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _NAT64:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
        if (found := [each for each in inner if each is not None]) and not all(is_public(str(each)) for each in found):
            return False
        if address.ipv4_mapped is not None or address in _NAT64:
            return True
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not any(address.version == each.version and address in each for each in _NETWORKS)
    )


def is_of_one_network(own: str, other: str) -> bool:
    """Whether an address is this machine's `own` one, or as IPv6 address one of the same network: there every machine
    has a public address."""
    one, two = ipaddress.ip_address(own), ipaddress.ip_address(other)
    if one.version != two.version:
        return False
    return one == two or (one.version == 6 and int(one) >> 64 == int(two) >> 64)
