"""Carries out what the store has written down as left to do (`storage/pending_work`), while others go on."""

from __future__ import annotations

import asyncio
from typing import Final

from palimpsest.storage import pending_work
from palimpsest.storage.store import Store

_REST: Final = 0.5
"""Between two pieces, as a share of what the last one took."""
_LONGEST_REST_S: Final = 0.05


async def do_pending_work(store: Store) -> None:
    """In pieces, each as long as a transaction may be. Between two of them it rests, because another server that waits
    to write looks only now and then whether it may. Raises StoreError; what is left then is done another time."""
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        if await store.run(pending_work.do_some) is None:
            return
        await asyncio.sleep(min(_REST * (clock() - began), _LONGEST_REST_S))
