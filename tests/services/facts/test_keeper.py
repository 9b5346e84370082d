"""What keeps a folder's facts true ends with the folder, whatever is happening in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.services.facts.test_librarian import librarian_of
from tests.services.scripted import Opener
from tests.waiting import WAIT_S

from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.facts.keeper import FactKeeping


async def test_it_closes_in_the_moment_in_which_a_conversation_changes(bench: Opener, tmp_path: Path) -> None:
    b = await bench([])
    listeners = Listeners()
    keeping = FactKeeping(tmp_path, b.store, listeners)
    keeping.take(librarian_of(b, tmp_path))
    keeping.start()
    await asyncio.sleep(0)  # it waits for changes now
    async with asyncio.timeout(WAIT_S):
        listeners.tell(ConversationChanged(b.conversation_id))
        await keeping.close()
