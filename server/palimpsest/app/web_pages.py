"""Pages of the web that messages mention, by the model clients' way to the network.

HTTP is imported when the first page is fetched.
"""

from __future__ import annotations

import asyncio
import importlib

from palimpsest.domain.web import Fetched, Reach, WebAddress


async def fetch_page(address: WebAddress, reach: Reach) -> Fetched | WebAddress:
    """See `palimpsest_clients.pages.PageClient.fetch`."""
    module = await asyncio.to_thread(importlib.import_module, "palimpsest_clients.pages")
    found: Fetched | WebAddress = await module.PageClient().fetch(address, reach)
    return found
