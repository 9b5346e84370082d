"""The index for retrieval follows from the messages and the hidden ranges, by whatever path they came into the store;
no purged word stays in it, and no question can break its syntax."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from peewee import SqliteDatabase
from playhouse.migrations import Runner
from tests.properties import examples

from palimpsest.domain.facts.fact import Fact, FactId, FactType
from palimpsest.domain.facts.retrieval.words import to_terms
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    MessageId,
    Role,
    TextPart,
    ToolCallPart,
    canonical_json,
    tool_result,
    user_message,
)
from palimpsest.storage import sql
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log, passage_search, pending_work
from palimpsest.storage.facts import search as fact_search
from palimpsest.storage.lifecycle import purge as purging
from palimpsest.storage.maintenance import repairs
from palimpsest.storage.store import Store, open_store
from palimpsest.storage.upgrades import MIGRATIONS

C, NOW = ConversationId("c"), "2026-01-01T10:00:00.000Z"
LONG = "The greenhouse has many beds and each of them wants water. " * 40


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path / "store")
    await opened.run(conversations.create, C, "", "offline", NOW)
    yield opened
    await opened.close()


def assistant(text: str) -> Content:
    return Content(Role.ASSISTANT, (TextPart(text),))


async def say(store: Store, *contents: Content | str, at: str = NOW) -> None:
    for content in contents:
        message = user_message(content) if isinstance(content, str) else content
        await store.run(message_log.append, C, [message], at)


def state() -> tuple[list[Any], list[Any], list[Any]]:
    """The whole content of the index: the rows of messages, each row's sizes, and each word with its places."""
    sql.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, passage_search, instance)")
    try:
        return (
            list(sql.execute("SELECT * FROM indexed_message ORDER BY message")),
            list(sql.execute("SELECT id, hex(sz) FROM passage_search_docsize ORDER BY id")),
            sorted(sql.execute('SELECT term, doc, col, "offset" FROM terms')),
        )
    finally:
        sql.execute("DROP TABLE terms")


def words_of(state: tuple[list[Any], list[Any], list[Any]]) -> set[str]:
    return {term for term, _, _, _ in state[2]}


async def check_as_rebuilt(store: Store) -> None:
    before = await store.run(state)
    await store.run(repairs.rebuild_search)
    assert await store.run(state) == before


CALL = ToolCallPart("1", "read_file", '{"path": "src/tulip.py"}')


async def test_messages_added_one_by_one_stand_as_if_added_together(store: Store) -> None:
    await say(store, "Use tabs.", assistant("Fine."), LONG, assistant(LONG), "Then tidy up.")
    await say(
        store, Content(Role.ASSISTANT, (CALL,)), tool_result(CALL, "daffodil " * 900), assistant("Done."), "Thanks."
    )
    await say(store, "Another day.", at="2026-01-02T10:00:00.000Z")
    await check_as_rebuilt(store)
    rows = (await store.run(state))[0]
    assert [row[7] for row in rows] == [0] * 9 + [9]
    assert rows[1][9].startswith("Use tabs. The greenhouse")
    assert rows[9][9] == ""


async def test_a_roll_back_takes_words_out_of_the_neighbours(store: Store) -> None:
    await say(store, "Plant it.", assistant("Tulips then."), "No, hyacinths.", assistant("Good."))
    await store.run(hidden_ranges.add, C, MessageId(1), MessageId(3), NOW)
    rows = (await store.run(state))[0]
    assert [row[9] for row in rows] == ["Good.", "", "", "Plant it."]
    await check_as_rebuilt(store)
    await say(store, "And now?")
    await check_as_rebuilt(store)


async def test_nothing_of_a_purged_message_stays_in_the_index(store: Store) -> None:
    await say(store, "Plant it.", assistant("Fine."), "The secret is xylophone.", assistant("I see."), "Go on.")
    assert "xylophon" in words_of(await store.run(state))

    def purge() -> None:
        purging.purge(store.writer(NOW), C, (MessageId(2), MessageId(4)))
        while pending_work.do_some() is not None:
            pass

    await store.run(purge)
    after = await store.run(state)
    assert not {"xylophon", "secret", "see"} & words_of(after)
    assert "xylophone" not in json.dumps(after)
    await check_as_rebuilt(store)


async def test_a_store_from_before_gets_the_index_that_a_fresh_one_has(store: Store, tmp_path: Path) -> None:
    texts = ["Plant it.", LONG, "Yes, do that with readSensorValue.", "Ada: hello", "From now on, never use tabs."]
    await say(store, *texts)
    expected = await store.run(state)
    old = tmp_path / "old"
    old.mkdir()
    older = SqliteDatabase(str(old / "store.db"))
    sql.bind_thread(older)
    Runner(older, str(MIGRATIONS)).up(target="0010_following")
    sql.execute("INSERT INTO conversation VALUES ('c', 't', 0, 'm', 5, 'd', 0, ?, ?, NULL, 0, 0, '')", NOW, NOW)
    for message_id, text in enumerate(texts):
        content = canonical_json(user_message(text).to_json())
        sql.execute(
            "INSERT INTO message VALUES (?, 'c', ?, ?, NULL, NULL, 1, 'd', 'd', ?, NULL)",
            *(message_id + 1, message_id, NOW, content),
        )
    older.close()
    upgraded = await open_store(old)
    try:
        while await upgraded.run(pending_work.do_some) is not None:
            pass
        assert await upgraded.run(state) == expected
    finally:
        await upgraded.close()


@pytest.mark.hypothesis  # the property is inside
async def test_no_question_is_a_syntax_error(store: Store) -> None:
    await say(store, "pump AND valve OR tap NOT near")

    def check_all() -> None:
        hostile = st.sampled_from(['"', "'", "*", "(", ")", "AND", "OR", "NOT", "NEAR(", "words:", "-", "^", "\0", " "])

        @examples(200)
        @given(st.one_of(st.text(max_size=40), st.lists(hostile | st.sampled_from(["pump", "aB"])).map("".join)))
        def check(text: str) -> None:
            found = list(passage_search.matches(to_terms(text), [("c", 0, 9)], 10))
            assert len(found) <= 1
            fact_search.match(text, 10)

        check()
        assert len(list(passage_search.matches(to_terms('"" * ( pump NEAR'), [("c", 0, 9)], 10))) == 1
        assert list(passage_search.matches(to_terms("\"'*("), [("c", 0, 9)], 10)) == []

    await store.read(check_all)


async def test_a_removed_fact_leaves_nothing(store: Store) -> None:
    await say(store, "Plant it.")
    before = await store.run(state)
    fact = Fact(FactType.DECISION, "The valve opens at noon.", ("valveControl", "src/valve.py", "SRC/valve.py"))
    await store.run(fact_search.add, FactId(1), fact)
    assert await store.read(fact_search.match, "control", 5) == [1]
    assert await store.read(fact_search.match, "valve", 5) == [1]
    kept = Fact(fact.fact_type, fact.content, ("src/valve.py", "valveControl"))
    await store.run(fact_search.remove, FactId(1), kept)
    assert await store.run(state) == before
    assert await store.read(fact_search.match, "valve", 5) == []
