"""The facts of a folder are closed with the folder, whatever is happening in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.services.facts.librarians import librarian_of
from tests.services.scripted import Opener
from tests.waiting import WAIT_S

from palimpsest.services.events import ConversationChanged, Listeners
from palimpsest.services.facts.folder_facts import FolderFacts


async def test_it_closes_in_the_moment_in_which_a_conversation_changes(bench: Opener, tmp_path: Path) -> None:
    b = await bench([])
    listeners = Listeners()
    folder_facts = FolderFacts(tmp_path, b.store, listeners)
    folder_facts.take(librarian_of(b, tmp_path))
    folder_facts.start()
    await asyncio.sleep(0)  # it waits for changes now
    async with asyncio.timeout(WAIT_S):
        listeners.tell(ConversationChanged(b.conversation_id))
        await folder_facts.close()
    assert folder_facts.is_idle
