"""Carries out, while others go on, what the store has noted as left to do (`storage/conversation/pending_work`)."""

from __future__ import annotations

import asyncio
from typing import Final

from palimpsest.domain.errors import StoreError
from palimpsest.storage.conversation import pending_work
from palimpsest.storage.store import Store

_REST: Final = 0.5
"""Between two pieces, as a share of what the last one took."""
_LONGEST_REST_S: Final = 0.05
_PAUSES_S: Final = (1.0, 10.0, 60.0)
"""After which it is tried again in the background."""


async def do_pending_work(store: Store) -> None:
    """In pieces, each as long as a transaction may be. Between two of them it rests, because another server that waits
    to write looks only now and then whether it may. Raises StoreError; what is left then is done another time."""
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        if await store.run(pending_work.do_some) is None:
            return
        await asyncio.sleep(min(_REST * (clock() - began), _LONGEST_REST_S))


async def keep_at_pending_work(store: Store) -> None:
    """As `do_pending_work`, in the background: a disk that was full for a moment does not leave what was imported
    without being found until the folder is opened anew."""
    for pause_s in _PAUSES_S:
        try:
            return await do_pending_work(store)
        except StoreError:
            await asyncio.sleep(pause_s)
    await do_pending_work(store)
