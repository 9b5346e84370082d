"""What is shown comes from the folder, the conversation and the facts, and never from the asking itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.services.scripted import Opener, says

from palimpsest.domain.errors import NotFound
from palimpsest.domain.facts.fact import Fact, FactType
from palimpsest.domain.facts.retrieval.words import Terms
from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.domain.offline.places import Found
from palimpsest.services.offline.answering import Search
from palimpsest.services.offline.folder_index import FolderIndex
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.facts import facts
from palimpsest.storage.sql import execute
from palimpsest.storage.store import Store, open_store

C, NOW = ConversationId("c"), "2026-03-20T10:00:00.000Z"
ASK = "Which port does the staging server use?"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path / "store")
    await opened.run(conversations.create, C, "", "offline", NOW)
    yield opened
    await opened.close()


@pytest.fixture
def search(store: Store, tmp_path: Path) -> Search:
    root = tmp_path / "folder"
    root.mkdir()
    (root / "ops.md").write_text("# Ops\n\nThe staging server uses port 9000.\n")
    (root / ".env").write_text("PORT=9000\n")
    return Search(store, FolderIndex(root), has_facts=True)


async def say(store: Store, *texts: str) -> None:
    await store.run(message_log.append, C, [user_message(text) for text in texts], NOW)


async def labels(search: Search, question: str = ASK) -> list[str]:
    return [place.label for place in (await search.find(C, question)).places]


async def test_files_messages_and_facts_are_searched(store: Store, search: Search) -> None:
    await say(store, "From now on the staging server uses port 9001.", "The cat sleeps on the mat.")
    fact = Fact(FactType.DECISION, "The staging server uses port 9002 since May.")
    await store.run(facts.add, fact, 0, None, NOW)
    found = await search.find(C, ASK)
    assert found.places[0].label == "ops.md:3"
    assert {place.label for place in found.places[1:]} == {"message 0", "fact 1"}
    assert {place.lines for place in found.places if place.path is None} == {
        ("From now on the staging server uses port 9001.",),
        ("The staging server uses port 9002 since May.",),
    }
    without = replace(search, has_facts=False)
    assert await labels(without) == ["ops.md:3", "message 0"]


async def test_the_question_and_what_was_only_asked_are_not_shown(store: Store, search: Search) -> None:
    await say(store, ASK, "tell me which port the staging server uses", "staging port?", ASK)
    assert await labels(search) == ["ops.md:3"]


async def test_answers_of_earlier_searches_are_not_shown(bench: Opener, search: Search) -> None:
    text = "The turbine blade coating is two millimetres."
    b = await bench([says(text)])
    await b.ask("How thick is the turbine blade coating?")
    of_bench = replace(search, store=b.store)
    question = "thickness of the turbine blade coating"
    assert (await of_bench.find(b.conversation_id, question)).places == ()
    await b.store.run(lambda: list(execute("UPDATE turn SET model = 'model-x'")))
    (place,) = (await of_bench.find(b.conversation_id, question)).places
    assert (place.label, place.note, place.lines) == ("message 1", ", from the assistant", (text,))


async def test_what_was_rolled_back_is_not_shown(store: Store, search: Search) -> None:
    await say(store, "Hello there.", "From now on the staging server uses port 9001.")
    await store.run(hidden_ranges.add, C, MessageId(1), MessageId(2), NOW)
    assert await labels(search) == ["ops.md:3"]


async def test_of_a_long_message_the_part_that_mentions_it_is_shown(store: Store, search: Search) -> None:
    filler = "The weather was fine and nobody came. " * 200
    await say(store, f"{filler}The turbine has nine blades. {filler}")
    (place,) = (await search.find(C, "How many blades does the turbine have?")).places
    assert (place.label, place.note) == ("message 0", ", from you")
    assert "turbine has nine blades" in place.lines[0]
    assert len(place.lines[0]) <= 300


async def test_where_nothing_mentions_it_nothing_is_shown(store: Store, search: Search) -> None:
    assert await search.find(C, "How much is a zeppelin?") == Found((), 1)
    assert await labels(search, "what is in .env?") == []
    with pytest.raises(NotFound):
        await search.find(ConversationId("nowhere"), ASK)


async def test_a_search_that_is_cancelled_is_given_up(store: Store) -> None:
    begun, given_up = threading.Event(), threading.Event()

    class Slow(FolderIndex):
        def search(self, terms: Terms, is_given_up: threading.Event) -> Found:
            begun.set()
            if is_given_up.wait(timeout=30):
                given_up.set()
            return Found((), 0)

    finding = asyncio.create_task(Search(store, Slow(store.directory), has_facts=True).find(C, ASK))
    await asyncio.to_thread(begun.wait, 30)
    finding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finding
    assert await asyncio.to_thread(given_up.wait, 30)
