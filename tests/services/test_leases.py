"""A conversation does not stay busy because its lease could not be given back when it should have been."""

from __future__ import annotations

import asyncio

import pytest
from tests.services.scripted import Opener, says
from tests.waiting import WAIT_S

from palimpsest.domain.errors import ConversationBusy
from palimpsest.domain.messages import MessageId
from palimpsest.services import leases
from palimpsest.services.events import ConversationChanged
from palimpsest.storage.sql import execute

STUCK = (
    "CREATE TRIGGER stuck BEFORE UPDATE ON lease WHEN new.server IS NULL "
    "BEGIN SELECT RAISE(ABORT, 'no space is left'); END"
)
FREE = "DROP TRIGGER stuck"


async def test_what_was_done_is_done_and_the_conversation_is_free_when_the_store_can_be_written(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_AGAIN_S", 0.01)
    b = await bench([says("answer")])
    await b.ask("question")
    store = b.store
    await store.run(execute, STUCK)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(1))
    page = await b.session.conversations.read(b.conversation_id, None, 10)
    assert page.hidden
    with pytest.raises(ConversationBusy):
        await b.session.conversations.roll_back(b.conversation_id, None)
    told = asyncio.Event()
    b.session.folder.listeners.add(
        lambda event: told.set() if event == ConversationChanged(b.conversation_id) else None
    )
    await store.run(execute, FREE)
    await asyncio.wait_for(told.wait(), WAIT_S)
    await b.session.conversations.roll_back(b.conversation_id, None)
    assert len((await b.session.conversations.read(b.conversation_id, None, 10)).hidden) > len(page.hidden)


async def test_a_turn_does_not_wait_for_the_next_try(bench: Opener) -> None:
    b = await bench([says("one"), says("two")])
    await b.ask("question")
    store = b.store
    await store.run(execute, STUCK)
    await b.session.conversations.roll_back(b.conversation_id, None)
    await store.run(execute, FREE)
    assert await b.ask("again") == "committed"


async def test_who_closes_a_folder_can_wait_until_nobody_writes(bench: Opener) -> None:
    b = await bench([])
    engine = b.session.contexts
    assert not engine.leases.is_held
    async with engine.writing(b.conversation_id, "a test", lambda _: None):
        waiting = asyncio.create_task(engine.leases.wait_until_free())
        await asyncio.sleep(0)
        assert engine.leases.is_held
        assert not waiting.done()
    await asyncio.wait_for(waiting, 30)


async def test_nothing_begins_in_a_background_that_was_closed(bench: Opener) -> None:
    b = await bench([])
    background, begun = b.session.folder.background, list[int]()

    async def work() -> None:
        begun.append(1)

    await background.close()
    background.start(None, work())
    await asyncio.sleep(0)
    assert begun == []
