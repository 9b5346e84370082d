"""A turn is told what its context does not hold: once, where there is room, and the editor hears of it where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.services.filling import fill
from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.context.cut import CutCause, MessagePiece, SummaryPiece
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.recall_report import LeftOutBecause
from palimpsest.domain.context.recalled import FOOT, HEAD
from palimpsest.domain.facts.fact import Evidence, Fact, FactType, Origin
from palimpsest.domain.messages import MessageId
from palimpsest.machine import utc_now
from palimpsest.services.context.recall import Recall, Recalled
from palimpsest.services.context.reports import explain
from palimpsest.services.context.state import ContextState
from palimpsest.services.events import ContextEvent
from palimpsest.services.facts.retrieval import Question
from palimpsest.storage.facts import facts
from palimpsest.storage.sql import execute

SECRET = "The pump of the greenhouse is called Rosalind."
QUESTION = "What is the pump of the greenhouse called?"


async def with_something_to_recall(bench: Opener, window: int = 8_000) -> Bench:
    """A conversation whose first messages are in a summary that leaves their words out."""
    b = await bench([], window=window, reserve=1_000, recalls=True)
    b.provider.replies = [says("I see.")] + [says(f"Answer {n}.") for n in range(6)]
    await b.ask(SECRET, "first")
    for number in range(6):
        await b.ask(f"Something else, number {number}, about tiles, not the pump. " + "It is dry. " * 30, f"r{number}")
    engine, conversations = b.session.contexts, b.session.conversations
    state = await engine.state(b.conversation_id)
    assert (await conversations.summarize(b.conversation_id, (MessageId(0), MessageId(8)))).block is not None
    state = await engine.state(b.conversation_id)
    summary = state.pieces[0]
    assert isinstance(summary, SummaryPiece)
    state.pieces[0] = replace(summary, summary=replace(summary.summary, text="They talked."))
    return b


def injections(b: Bench) -> list[str]:
    """The injections in the newest request, by message."""
    return [text for content in b.provider.seen[-1].messages for text in content.text.split(HEAD)[1:]]


async def ask(b: Bench, text: str) -> None:
    b.provider.replies = [says("Yes.")]
    assert await b.ask(text) == "committed"


async def test_what_an_earlier_turn_was_told_is_not_told_again(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    for number in range(5):
        await ask(b, f"{QUESTION} I ask for the {number}th time.")
    told = injections(b)
    assert sum(text.count("Rosalind") for text in told) == 1
    lines = [line for text in told for line in text.partition(FOOT)[0].splitlines() if line.startswith(("user:", "- "))]
    assert len(lines) == len(set(lines))


async def test_what_was_told_leaves_no_room_for_what_is_less_to_the_point(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    await ask(b, QUESTION)
    n_told = len("".join(injections(b)))
    for number in range(4):
        await ask(b, QUESTION + "?" * (number + 1))
    assert len("".join(injections(b))) == n_told


async def with_page(b: Bench, page: str) -> None:
    """Has the block say something else."""
    state = await b.session.contexts.state(b.conversation_id)
    block = state.pieces[0]
    assert isinstance(block, SummaryPiece)
    state.pieces[0] = replace(block, summary=replace(block.summary, text=page))


@pytest.mark.parametrize(
    "page",
    [
        f"## Said by the user\n- [0] {SECRET}",
        f"## Done\n- [3] {SECRET.removesuffix('.')} · also pump_station",
        f"## Done\n- [3] Edit plan.md: {SECRET}\n  → edited",
        f"They talked. {SECRET} It was dry.",
    ],
)
async def test_what_a_line_of_a_page_says_is_not_told_again(bench: Opener, page: str) -> None:
    b = await with_something_to_recall(bench)
    await with_page(b, page)
    await ask(b, QUESTION)
    assert "Rosalind" not in "".join(injections(b))


@pytest.mark.parametrize(
    "page",
    [f"- [0] {SECRET[:30]}…", f"- [0] I doubt that {SECRET}", "- [0] The pump. · The greenhouse is called Rosalind."],
)
async def test_what_a_page_says_in_part_is_told(bench: Opener, page: str) -> None:
    b = await with_something_to_recall(bench)
    await with_page(b, page)
    await ask(b, QUESTION)
    assert SECRET in "".join(injections(b))


async def test_of_a_message_that_is_told_in_part_the_rest_is_told_with_the_messages_number(bench: Opener) -> None:
    b = await bench([], window=8_000, reserve=1_000, recalls=True)
    b.provider.replies = [says("I see.")] + [says(f"Answer {n}.") for n in range(6)]
    await b.ask(f"Hello there, gardener. {SECRET} Its pipe was made by Ada Quill.")
    for number in range(6):
        await b.ask(f"Something else, number {number}, about tiles. " + "It is dry. " * 30, f"r{number}")
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(8)))
    await with_page(b, f"## Said by the user\n- [0] {SECRET}")
    await ask(b, "Who made the pipe of the pump?")
    told = "".join(injections(b))
    assert "user (from message 0): … Hello there, gardener. … Its pipe was made by Ada Quill. …" in told
    assert "Rosalind" not in told


async def test_a_fact_is_not_told_again_where_a_note_a_live_message_or_an_earlier_turn_tells_it(bench: Opener) -> None:
    b = await bench([], recalls=True)
    names = ("Rosalind", "Ottilie", "Kasimir")
    for number, name in enumerate(names):
        text = f"The pump of the greenhouse number {number} is called {name}."
        await b.store.run(facts.add, Fact(FactType.ENTITY, text, ("pump",)), 1, None, utc_now())
    await ask(b, "Hello there. The pump of the greenhouse number 0 is called Rosalind.")
    assert "Rosalind" not in "".join(injections(b))
    state = await b.session.contexts.state(b.conversation_id)
    answer = state.pieces[-1]
    assert isinstance(answer, MessagePiece)
    late = "The pump of the greenhouse number 3 is called Wilhelmina."
    state.pieces[-1] = replace(answer, note=f"[Note]\n- [7] {late}")
    await b.store.run(facts.add, Fact(FactType.ENTITY, late, ("pump",)), 1, None, utc_now())
    for number in range(2):
        await ask(b, f"{QUESTION} I ask for the {number}th time.")
    told = "".join(injections(b))
    assert [told.count(name) for name in (*names, "Wilhelmina")] == [0, 1, 1, 0]


async def test_the_report_says_what_was_looked_for_what_was_taken_and_why_the_rest_was_left_out(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    await ask(b, QUESTION)
    contexts = b.session.contexts
    state = await contexts.state(b.conversation_id)
    report = (await explain(contexts, b.conversation_id, None)).recall
    assert report is not None
    assert {"pump", "greenhouse", "called"} <= set(report.terms)
    assert report.taken[0].found.message_id == 0
    assert report.taken[0].found.score > 0
    assert 0 < report.taken[0].tokens < report.tokens <= report.room_tokens
    live = {piece.message.id for piece in state.pieces if isinstance(piece, MessagePiece)}
    told = {each.found.message_id for each in report.left_out if each.because is LeftOutBecause.TOLD}
    assert {8, 10, 12} <= told
    assert told <= live
    await ask(b, f"{QUESTION} Again.")
    again = (await explain(contexts, b.conversation_id, None)).recall
    assert again is not None
    assert 0 not in [each.found.message_id for each in again.taken]
    (first,) = (each for each in again.left_out if each.found.message_id == 0)
    assert first.because is LeftOutBecause.TOLD


async def test_what_would_be_recalled_is_looked_up_without_a_trace(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    fact = Fact(FactType.ENTITY, "The pump of the greenhouse has two valves.", ("pump",))
    fact_id = await b.store.run(facts.add, fact, 1, None, utc_now())

    async def order(_: Question, texts: Sequence[str]) -> Sequence[int]:
        raise AssertionError(f"a model is asked about {len(texts)} excerpts")

    report = (await explain(b.session.contexts, b.conversation_id, QUESTION, Recall(b.store, order))).recall
    assert report is not None
    assert {(each.found.message_id, each.found.fact_id) for each in report.taken} >= {(0, None), (None, fact_id)}
    (stored,) = await b.store.read(facts.read, [fact_id])
    assert stored.n_uses == 0
    before = (await explain(b.session.contexts, b.conversation_id, None)).recall
    assert before is not None
    assert "greenhouse" not in before.terms
    await ask(b, QUESTION)
    done = (await explain(b.session.contexts, b.conversation_id, None)).recall
    assert done is not None
    assert done.tokens == report.tokens
    assert {(each.found.message_id, each.found.fact_id, each.tokens) for each in done.taken} == {
        (each.found.message_id, each.found.fact_id, each.tokens) for each in report.taken
    }


async def test_a_report_is_gone_with_the_message_that_it_is_about(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    await ask(b, QUESTION)
    state = await b.session.contexts.state(b.conversation_id)
    assert state.recalled is not None
    await b.session.conversations.roll_back(b.conversation_id, state.recalled[0])
    assert (await explain(b.session.contexts, b.conversation_id, None)).recall is None


async def test_after_a_compaction_it_is_told_again_because_the_context_does_not_hold_it_any_more(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    await ask(b, QUESTION)
    engine = b.session.contexts
    async with engine.writing(b.conversation_id, "a test", lambda _: None) as context:
        state = context.state
        kept = [piece.without_injection() if isinstance(piece, MessagePiece) else piece for piece in state.pieces]
        await engine.adoption.adopt(context, kept, CutCause.USER)
    await ask(b, f"{QUESTION} Again.")
    assert sum(text.count("Rosalind") for text in injections(b)) == 1


async def test_what_is_purged_before_it_was_told_is_not_told(bench: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    b = await bench([says("I see."), says("Yes.")], recalls=True)
    await b.ask(SECRET, "first")
    teller, real, found = b.conversation_id, Recall.choose, list[str]()
    evidence = Evidence(teller, MessageId(0), SECRET, Origin.USER)
    await b.store.run(facts.add, Fact(FactType.ENTITY, SECRET, ("pump",)), 1, evidence, utc_now())
    b.conversation_id = (await b.session.conversations.create("Another", None)).id

    async def choose(recall: Recall, state: ContextState, asked: MessagePiece, most_tokens: int) -> Recalled:
        chosen = await real(recall, state, asked, most_tokens)
        found.append(chosen.text)
        if len(found) == 1:
            await b.session.purging.purge(teller, (MessageId(0), MessageId(2)), is_confirmed=True)
        return chosen

    monkeypatch.setattr(Recall, "choose", choose)
    await ask(b, QUESTION)
    assert "Rosalind" in found[0]
    assert injections(b) == []
    assert await b.store.read(lambda: list(execute("SELECT text FROM injection"))) == []


def heard(b: Bench, type: ContextEventType) -> list[ContextEvent]:
    return [event for event in b.events if isinstance(event, ContextEvent) and event.type is type]


async def test_where_a_compaction_is_due_with_what_is_told_it_comes_first(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    await fill(b, 0.8, left=10, question=QUESTION)
    n_compactions = len(heard(b, ContextEventType.COMPACTION))
    await ask(b, QUESTION)
    assert [event.cause for event in heard(b, ContextEventType.COMPACTION)[n_compactions:]] == ["threshold"]
    state = await b.session.contexts.state(b.conversation_id)
    assert state.estimate.upper < 0.8 * state.budget.budget
    sent = "".join(content.text for content in b.provider.seen[-1].messages)
    assert "Rosalind" in sent


async def test_near_the_threshold_it_takes_the_room_that_is_left_and_makes_no_compaction_due(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    for number in range(12):
        text = f"The pump of greenhouse number {number} is painted in the color {number} and it is not very loud."
        await b.store.run(facts.add, Fact(FactType.ENTITY, text, ("pump",)), 1, None, utc_now())
    state = await b.session.contexts.state(b.conversation_id)
    await fill(b, 0.8, left=10, question=QUESTION)
    asked = state.tokenizer.count(QUESTION)
    state.futile_above = state.raw_tokens + asked + 130
    n_compactions = len(heard(b, ContextEventType.COMPACTION))
    await ask(b, QUESTION)
    assert len(heard(b, ContextEventType.COMPACTION)) == n_compactions
    told = "".join(injections(b))
    assert "pump" in told
    assert 60 < state.tokenizer.count(HEAD + told) < 130
    assert not b.session.contexts.is_due(state, state.budget.budget)


async def test_where_nothing_can_be_freed_it_is_told_within_the_limit(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    state = await b.session.contexts.state(b.conversation_id)
    await fill(b, 0.8, left=10, question=QUESTION)
    state.futile_above = state.raw_tokens * 2
    n_compactions = len(heard(b, ContextEventType.COMPACTION))
    await ask(b, QUESTION)
    assert len(heard(b, ContextEventType.COMPACTION)) == n_compactions
    assert "Rosalind" in "".join(injections(b))


async def test_where_there_is_no_room_at_all_the_editor_hears_of_it(bench: Opener) -> None:
    b = await with_something_to_recall(bench)
    state = await b.session.contexts.state(b.conversation_id)
    await fill(b, 1.0, left=10, question=QUESTION)
    state.futile_above = state.raw_tokens * 2
    await ask(b, QUESTION)
    assert injections(b) == []
    (event,) = heard(b, ContextEventType.NOT_RECALLED)
    assert event.projected_tokens is not None
    assert event.limit_tokens == state.budget.budget < event.projected_tokens
    assert event.remaining_tokens == event.limit_tokens - event.projected_tokens
    report = (await explain(b.session.contexts, b.conversation_id, None)).recall
    assert report is not None
    assert (report.taken, report.tokens) == ((), 0)
    assert LeftOutBecause.NO_ROOM in {each.because for each in report.left_out if each.found.message_id == 0}
