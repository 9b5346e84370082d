"""Retrieval finds visible messages and facts that a question is about, within its budget, and tells why."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.errors import NotFound
from palimpsest.domain.facts.fact import Fact, FactType, StoredFact
from palimpsest.domain.facts.retrieval.question import Side
from palimpsest.domain.facts.retrieval.scoring import Turn
from palimpsest.domain.messages import (
    Content,
    ConversationId,
    MessageId,
    Role,
    TextPart,
    ToolCallPart,
    tool_result,
    user_message,
)
from palimpsest.services.facts.retrieval import Question, Retriever
from palimpsest.storage import sql
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.facts import facts
from palimpsest.storage.store import Store, open_store

C, NOW = ConversationId("c"), "2026-03-20T10:00:00.000Z"
ASKED = Question("Which pump did I choose?", C, NOW)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path / "store")
    await opened.run(conversations.create, C, "", "offline", NOW)
    yield opened
    await opened.close()


def assistant(text: str) -> Content:
    return Content(Role.ASSISTANT, (TextPart(text),))


async def say(store: Store, *contents: Content | str, at: str = NOW, where: ConversationId = C) -> None:
    messages = [user_message(each) if isinstance(each, str) else each for each in contents]
    await store.run(message_log.append, where, messages, at)


def retriever(store: Store) -> Retriever:
    return Retriever(store, count_bytes)


async def found(store: Store, asked: Question) -> list[int]:
    ranked = await retriever(store).search(asked, 10)
    return [each.found.id for each in ranked if isinstance(each.found, Turn)]


FILLER = (
    "The weather is fine today.",
    "Lunch was good.",
    "We have tulips.",
    "Nobody came.",
    "It rains.",
    "Tea is hot.",
)


async def test_whose_turns_are_meant_is_a_preference_and_an_argument(store: Store) -> None:
    await say(store, *FILLER, "The pump is a blue one.", assistant("The pump is a blue one."), *FILLER)
    assert [each for each in await found(store, ASKED) if each in (6, 7)] == [6, 7]
    assert (await found(store, replace(ASKED, about=Side.ASSISTANT)))[:2] == [7, 6]
    best = (await retriever(store).search(ASKED, 1))[0]
    assert (best.parts.lexical, best.parts.who) == (1.0, 0.4)
    assert best.score == pytest.approx(best.parts.total)
    own = (await retriever(store).search(replace(ASKED, own_query=True), 1))[0]
    assert own.parts.who == 0.2


async def test_what_is_hidden_running_or_live_is_not_found(store: Store) -> None:
    await say(store, *(f"pump {n}" for n in range(6)))
    await store.run(hidden_ranges.add, C, MessageId(1), MessageId(2), NOW)
    asked = replace(ASKED, exclude_from=MessageId(4), already_live=frozenset({MessageId(3)}))
    assert sorted(await found(store, asked)) == [0, 2]
    text = (await retriever(store).retrieve(asked, 500)).text
    assert "pump 0" in text
    assert not any(f"pump {n}" in text for n in (1, 3, 4, 5))


async def test_a_word_that_only_a_hidden_message_has_finds_nothing(store: Store) -> None:
    await say(store, "Good morning.", "The xylophone.", "Good night.")
    await store.run(hidden_ranges.add, C, MessageId(1), MessageId(2), NOW)
    assert await found(store, replace(ASKED, text="xylophone")) == []


async def test_a_fork_finds_what_it_shares_and_its_own_and_no_other(store: Store) -> None:
    await say(store, "pump one", "pump two", "pump three")
    parent = await store.read(conversations.get, C)
    fork = ConversationId("fork")
    await store.run(conversations.fork, fork, parent, MessageId(2), "", NOW)
    await say(store, "pump four", where=fork)
    await say(store, "pump five")
    assert sorted(await found(store, replace(ASKED, conversation_id=fork))) == [0, 1, 2]
    text = (await retriever(store).retrieve(replace(ASKED, conversation_id=fork), 500)).text
    assert "four" in text
    assert "three" not in text
    assert "five" not in text
    with pytest.raises(NotFound):
        await found(store, replace(ASKED, conversation_id=ConversationId("nowhere")))


async def test_a_tool_answers_for_itself_and_only_its_ends_are_looked_for(store: Store) -> None:
    call = ToolCallPart("1", "read_file", '{"path": "src/pump.py"}')
    output = "\n".join(f"line {n} tulip{n}" for n in range(2_000))
    await say(store, Content(Role.ASSISTANT, (call,)), tool_result(call, output))
    best = (await retriever(store).search(replace(ASKED, text="tulip1999"), 1))[0]
    assert isinstance(best.found, Turn)
    assert best.found.role is Role.TOOL
    assert await found(store, replace(ASKED, text="tulip1000")) == []
    assert await found(store, replace(ASKED, text="pump")) == [0]
    shown = (await retriever(store).retrieve(replace(ASKED, text="tulip1999"), 4_000)).text
    assert "tulip1999" in shown
    assert "tulip1000" not in shown


async def test_the_text_stands_in_the_order_of_time_with_one_date_a_session(store: Store) -> None:
    await say(store, "The pump is blue.", assistant("A blue pump.\nassistant: no"), at="2026-03-01T10:00:00.000Z")
    await say(store, "The pump is red now.", at="2026-03-05T10:00:00.000Z")
    retrieved = await retriever(store).retrieve(ASKED, 500)
    assert retrieved.text == (
        "[1 March 2026]\nuser: The pump is blue.\nassistant: A blue pump.\n assistant: no\n"
        "[5 March 2026]\nuser: The pump is red now.\n"
    )
    assert [each.found.id for each in retrieved.items] == [0, 1, 2]


@pytest.mark.parametrize("budget", [0, 5, 20, 60, 200, 1_000])
async def test_the_budget_is_never_exceeded(store: Store, budget: int) -> None:
    await say(store, *FILLER, *(f"pump {n} " + "and so on " * n for n in range(40)), "pump. " * 2_000)
    first = await retriever(store).retrieve(ASKED, budget)
    assert count_bytes(first.text) <= first.token_estimate <= budget
    assert await retriever(store).retrieve(ASKED, budget) == first


async def test_a_long_turn_gives_the_passage_that_answers(store: Store) -> None:
    await say(store, "Nothing of note here. " * 200 + "The pump is a Vortex 9. " + "More of nothing. " * 200)
    text = (await retriever(store).retrieve(ASKED, 1_000)).text
    assert "Vortex 9" in text
    assert text.startswith("[20 March 2026]\nuser (from message 0): …")


async def test_days_the_question_points_at_are_found_without_a_word_in_common(store: Store) -> None:
    await say(store, "Bought the blue one.", at="2026-03-06T10:00:00.000Z")
    await say(store, *FILLER, at="2026-03-15T10:00:00.000Z")
    best = (await retriever(store).search(replace(ASKED, text="What did I get two weeks ago?"), 1))[0]
    assert (best.found.id, best.parts.date) == (0, 0.2)


def remember(store: Store, fact: Fact) -> None:
    facts.add(fact, 1, None, NOW)


async def test_facts_are_ranked_with_messages_and_stale_ones_come_last(store: Store) -> None:
    await say(store, *FILLER, "The pump is blue.")
    for entity in ("src/pump.py", "src/valve.py"):
        await store.run(remember, store, Fact(FactType.DECISION, f"The pump of {entity} is blue.", (entity,)))

    def change() -> None:
        sql.execute("INSERT INTO fact_source VALUES (1, 'src/pump.py', 'x', x'', ?)", NOW)
        sql.execute("INSERT INTO fact_source_link VALUES (1, 1, 1, '{}', '', 1, 2, 'changed')")
        facts.close(facts.add(Fact(FactType.DECISION, "The pump is green."), 1, None, NOW), NOW)

    asked = replace(ASKED, files=("src/valve.py",))
    first = [each for each in await retriever(store).search(asked, 9) if isinstance(each.found, StoredFact)]
    assert {each.found.fact.entities: each.parts.in_view for each in first if isinstance(each.found, StoredFact)} == {
        ("src/valve.py",): 0.1,
        ("src/pump.py",): 0.0,
    }
    await store.run(change)
    ranked = await retriever(store).search(asked, 9)
    assert isinstance(ranked[-1].found, StoredFact)
    assert ranked[-1].found.fact.entities == ("src/pump.py",)
    text = (await retriever(store).retrieve(asked, 2_000)).text
    assert "src/pump.py is blue. (may no longer hold: src/pump.py changed since)" in text
    assert "green" not in text


async def test_names_before_words_are_speakers_where_most_messages_have_them(store: Store) -> None:
    for n in range(4):
        await say(store, f"Ada: I chose pump {n}.", Content(Role.ASSISTANT, (TextPart(f"Ben: I chose pump {n}."),)))
    asked = replace(ASKED, text="Which pump did Ben choose?")
    best = (await retriever(store).search(asked, 4))[0]
    assert isinstance(best.found, Turn)
    assert best.found.name == "Ben"
    assert "assistant:" not in (await retriever(store).retrieve(asked, 500)).text
