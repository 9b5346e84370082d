"""Search finds messages by word forms and by parts of identifiers, for any text that a person types, and never finds
purged words or, by default, words that were rolled back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from peewee import SqliteDatabase
from playhouse.migrations import Runner
from tests.properties import examples

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ConversationId,
    MessageId,
    OpaquePart,
    Role,
    TextPart,
    ToolCallPart,
    tool_result,
    user_message,
)
from palimpsest.services.conversation.search import Hit, Wanted, find
from palimpsest.storage import sql
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log, search
from palimpsest.storage.store import Store, open_store
from palimpsest.storage.upgrades import MIGRATIONS

C, OTHER, NOW = ConversationId("c"), ConversationId("other"), "2026-01-01T00:00:00.000Z"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path / "store")
    await opened.run(conversations.create, C, "", "offline", NOW)
    await opened.run(conversations.create, OTHER, "elsewhere", "offline", NOW)
    yield opened
    await opened.close()


async def say(store: Store, *contents: Content | str, where: ConversationId = C) -> None:
    messages = [user_message(each) if isinstance(each, str) else each for each in contents]
    await store.run(message_log.append, where, messages, NOW)


async def found(store: Store, text: str, **more: object) -> list[int]:
    return [hit.message_id for hit in await find(store, Wanted(text, **more))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The pumps were running all night.", "pump"),
        ("The pump is set.", "pumps running set"),
        ("Call readSensorValue first.", "sensor"),
        ("Call readSensorValue first.", "readsensorvalue"),
        ("Call readSensorValue first.", "read_sensor_value"),
        ("Call read_sensor_value first.", "readSensorValue"),
        ("Call read_sensor_value first.", "sensors"),
        ("It is an HTTPServerError.", "server error"),
        ("Look into src/greenhouse/valve_control.py:12", "valve"),
        ("Look into src/greenhouse/valve_control.py:12", "greenhouse/valve_control.py"),
        ("Look into valve_control.py", "lib/valve_control.py"),
        ("Das Gewächshaus ist offen.", "gewachshaus"),
        ("What is it?", "what is it"),
    ],
)
async def test_word_forms_and_parts_of_identifiers_are_found(store: Store, text: str, query: str) -> None:
    await say(store, "Something else entirely.", text)
    assert await found(store, query) == [1]


async def test_every_part_a_person_can_read_is_found_and_no_other(store: Store) -> None:
    call = ToolCallPart("1", "open_valve", '{"where": "bed seven"}')
    await say(
        store,
        Content(Role.ASSISTANT, (TextPart("Opening."), call, OpaquePart("p", "m", '{"signature": "tulip"}'))),
        tool_result(call, "moisture 18 percent"),
        Content(Role.USER, (AttachmentPart("plan.txt:3", "daffodils"),)),
    )
    queries = {"valve": [0], "seven": [0], "moisture": [1], "plan": [2], "daffodil": [2], "tulip": [], "signature": []}
    assert {query: await found(store, query) for query in queries} == queries


async def test_messages_with_every_word_come_before_those_with_some(store: Store) -> None:
    await say(store, "pump pump pump", "valve", "A long sentence in which the pump and a valve are named once.", "tap")
    assert (await found(store, "where is the pump valve?"))[0] == 2
    assert sorted(await found(store, "pump valve")) == [0, 1, 2]
    assert await found(store, "pump valve", limit=1) == [2]


async def test_a_hit_says_where_it_is_and_shows_the_passage(store: Store) -> None:
    filler = "nothing of interest here, only weather " * 200
    await say(store, f"{filler}\nthen maxPumpPressure was raised {filler}", where=OTHER)
    (hit,) = await find(store, Wanted("pump"))
    assert (hit.conversation_id, hit.title, hit.role, hit.created_at) == (OTHER, "elsewhere", Role.USER, NOW)
    assert "then maxPumpPressure was raised" in hit.snippet
    assert len(hit.snippet) <= 300
    assert "\n" not in hit.snippet


async def test_a_snippet_is_short_however_long_a_word_is(store: Store) -> None:
    await say(store, f"{'x' * 5000} pump {'y' * 5000}")
    (hit,) = await find(store, Wanted("pump"))
    assert "pump" in hit.snippet
    assert len(hit.snippet) <= 300


@examples(50)
@given(st.text(alphabet=st.sampled_from("aB1_ éß漢\u2063\n.-\U0001f389"), max_size=60))
def test_indexing_tells_humps_apart_and_loses_no_text(text: str) -> None:
    words, parts = search.columns(user_message(text))
    assert words == text
    assert set(parts.replace(" ", "")) <= set(text)


@pytest.mark.hypothesis  # the property is inside
async def test_no_query_is_a_syntax_error(store: Store) -> None:
    await say(store, "pump AND valve OR tap NOT near", "words:parts^2 {a b}:c")

    def check_all() -> None:
        hostile = st.sampled_from(
            ['"', "'", "*", "(", ")", "AND", "OR", "NOT", "NEAR(", "words:", "-", "^", "+", "\0", " "]
        )

        @examples(200)
        @given(st.one_of(st.text(max_size=40), st.lists(hostile | st.sampled_from(["pump", "aB"])).map("".join)))
        def check(text: str) -> None:
            query = search.to_query(text)
            assert (query is None) == (not any(c.isalnum() for c in text))
            for expression in () if query is None else query.expressions:
                rows = list(search.matches(expression, [("c", 0, 9)], 10))
                assert len(search.snippets(expression, dict.fromkeys(range(len(rows)), text))) == len(rows)

        check()

    await store.read(check_all)
    assert await found(store, "pump AND") == [0]
    assert await found(store, 'words:"parts^2*') == [1]
    assert await found(store, '"" * ( NEAR') == [0]
    assert await found(store, "\"'*(") == []
    assert await found(store, "pump " * 100_000) == [0]


async def test_a_conversation_is_searched_with_what_it_was_forked_from(store: Store) -> None:
    await say(store, "pump one", "pump two", "pump three")
    await say(store, "pump four", where=OTHER)
    parent = await store.read(conversations.get, C)
    await store.run(conversations.fork, ConversationId("fork"), parent, MessageId(2), "", NOW)
    await say(store, "pump five", where=ConversationId("fork"))
    hits = await find(store, Wanted("pump", ConversationId("fork")))
    assert sorted(hit.message_id for hit in hits) == [0, 1, 2]
    assert {hit.conversation_id for hit in hits} == {"fork"}
    assert "five" in next(hit.snippet for hit in hits if hit.message_id == 2)
    assert sorted(await found(store, "pump", conversation_id=C)) == [0, 1, 2]
    everything = await find(store, Wanted("pump"))
    assert sorted((h.conversation_id, h.message_id) for h in everything) == [
        ("c", 0),
        ("c", 1),
        ("c", 2),
        ("fork", 2),
        ("other", 0),
    ]


async def test_what_was_rolled_back_is_found_only_when_asked_for(store: Store) -> None:
    await say(store, "pump one", "pump two")
    await store.run(hidden_ranges.add, C, MessageId(1), MessageId(2), NOW)
    assert await found(store, "pump") == [0]
    both = {h.message_id: h.is_hidden for h in await find(store, Wanted("pump", includes_hidden=True))}
    assert both == {0: False, 1: True}


async def test_what_a_fork_still_shows_is_found_there(store: Store) -> None:
    await say(store, "pump one", "pump two")
    parent = await store.read(conversations.get, C)
    await store.run(conversations.fork, ConversationId("fork"), parent, MessageId(2), "", NOW)
    await store.run(hidden_ranges.add, C, MessageId(1), MessageId(2), NOW)
    hits = await find(store, Wanted("two"))
    assert [(h.conversation_id, h.message_id, h.is_hidden) for h in hits[:1]] == [("fork", 1, False)]
    assert await found(store, "two", conversation_id=C) == []


async def test_what_cannot_be_searched_is_refused(store: Store) -> None:
    with pytest.raises(InvalidRequest, match="1 to 100"):
        await find(store, Wanted("pump", limit=0))
    with pytest.raises(NotFound):
        await find(store, Wanted("pump", ConversationId("nowhere")))
    nothing: list[Hit] = await find(store, Wanted("…"))
    assert nothing == []


async def test_messages_stored_past_append_can_be_made_findable_and_are_so_once(store: Store) -> None:
    await say(store, "pump one")

    def copy() -> None:
        sql.execute(
            "INSERT INTO message SELECT 77, 'other', 0, created_at, turn, step, digest_version, content_digest, digest,"
            " content, NULL, NULL FROM message"
        )
        sql.execute("UPDATE conversation SET next_message_id = 1 WHERE id = 'other'")
        search.remove(77, user_message("pump one"))
        search.add_missing(OTHER, 0, 1)
        search.add_missing(OTHER, 0, 1)
        search.add_missing(C, 0, 1)

    await store.run(copy)
    assert sorted(h.conversation_id for h in await find(store, Wanted("pump"))) == ["c", "other"]
    await store.run(search.remove, 77, user_message("pump one"))
    assert [h.conversation_id for h in await find(store, Wanted("pump"))] == ["c"]


async def test_a_store_from_before_becomes_searchable(tmp_path: Path) -> None:
    older = SqliteDatabase(str(tmp_path / "store.db"))
    sql.bind_thread(older)
    Runner(older, str(MIGRATIONS)).up(target="0003_history")
    content = '{"parts":[{"text":"the pumpHouse","type":"text"}],"role":"user","status":"complete"}'
    sql.execute("INSERT INTO conversation VALUES ('c', 't', 0, 'm', 1, 'd', 0, ?, ?, NULL, 0, 0, '')", NOW, NOW)
    sql.execute("INSERT INTO message VALUES (1, 'c', 0, ?, NULL, NULL, 1, 'd', 'd', ?)", NOW, content)
    older.close()
    store = await open_store(tmp_path)
    try:
        assert await found(store, "house") == [0]
    finally:
        await store.close()
