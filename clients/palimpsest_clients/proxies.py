"""The proxies that the environment names, for pages of the web. httpx reads them itself for models' services."""

from __future__ import annotations

import urllib.request

import httpcore
import httpx

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.web import WebAddress


def proxy_of(address: WebAddress) -> str | None:
    """The address of the proxy for a page; None for a page that is fetched without one."""
    found = urllib.request.getproxies()
    proxy = found.get(address.scheme) or found.get("all")
    if not proxy or urllib.request.proxy_bypass(address.host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def to_httpcore(proxy: str) -> httpcore.Proxy:
    """Raises InvalidRequest."""
    try:
        read = httpx.Proxy(proxy)
    except (ValueError, httpx.InvalidURL):
        read = None
    if read is None or read.url.scheme not in ("http", "https"):
        raise InvalidRequest(
            "Pages cannot be fetched through the proxy that the environment names. Use a proxy address that begins "
            "with http:// or https://."
        )
    url = httpcore.URL(scheme=read.url.raw_scheme, host=read.url.raw_host, port=read.url.port, target=b"/")
    return httpcore.Proxy(url, auth=read.raw_auth)
