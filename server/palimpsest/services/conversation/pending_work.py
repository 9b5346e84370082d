"""Carries out the pending work that the store has recorded (`storage/conversation/pending_work`)."""

from __future__ import annotations

import asyncio
from typing import Final

from palimpsest.domain.errors import StoreError
from palimpsest.storage.conversation import pending_work
from palimpsest.storage.store import Store

_REST: Final = 0.5
"""The pause between two pieces, as a share of the duration of the last one."""
_LONGEST_REST_S: Final = 0.05
_PAUSES_S: Final = (1.0, 10.0, 60.0)
"""The time until the next try in the background."""


async def do_pending_work(store: Store) -> None:
    """Do the work in pieces, each as long as a transaction may take. It pauses between two pieces, because another
    server that waits to write looks only now and then. Raises StoreError; the rest is done another time."""
    clock = asyncio.get_running_loop().time
    while True:
        began = clock()
        if await store.run(pending_work.do_some) is None:
            return
        await asyncio.sleep(min(_REST * (clock() - began), _LONGEST_REST_S))


async def keep_at_pending_work(store: Store) -> None:
    """Like `do_pending_work`, in the background and with another try after a failure: otherwise, after a full disk, an
    imported conversation would not be searchable until the folder is opened again."""
    for pause_s in _PAUSES_S:
        try:
            return await do_pending_work(store)
        except StoreError:
            await asyncio.sleep(pause_s)
    await do_pending_work(store)
