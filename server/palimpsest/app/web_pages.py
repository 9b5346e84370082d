"""Pages of the web that messages mention, by the model clients' way to the network.

HTTP is imported when the first page is fetched.
"""

from __future__ import annotations

import asyncio
import importlib

from palimpsest.domain.web import Fetched, WebAddress


async def fetch_page(address: WebAddress, allowed: frozenset[str]) -> Fetched:
    """See `palimpsest_clients.pages.PageClient.fetch`."""
    module = await asyncio.to_thread(importlib.import_module, "palimpsest_clients.pages")
    found: Fetched = await module.PageClient().fetch(address, allowed)
    return found
