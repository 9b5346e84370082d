"""Turns: what was shown is what is stored, however a turn ends; tools run in order; one turn a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.services.scripted import Bench, Opener, calls, open_bench, says
from tests.waiting import WAIT_S

from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.errors import (
    ConversationBusy,
    ErrorKind,
    InvalidRequest,
    ProviderError,
    RecentMessagesTooLarge,
    StoreError,
)
from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.domain.models.provider import TextDelta, ToolArguments, ToolCallStart
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.turns.journal import EventType, Numbered, shown_text
from palimpsest.domain.turns.states import TurnState
from palimpsest.machine import utc_now
from palimpsest.services import leases
from palimpsest.services.conversation.conversations import TurnFailed
from palimpsest.services.events import ContextEvent
from palimpsest.services.maintenance.replay import pairs_are_whole
from palimpsest.services.models.catalog import with_override
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.services.turns.recovery import Recovery
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage import leases as stored_leases
from palimpsest.storage.context import statistics
from palimpsest.storage.leases import holder_of
from palimpsest.storage.turns import stream_journal
from palimpsest.storage.turns import turns as stored_turns


def tool(name: str, run: Callable[[str], Awaitable[ToolOutput]]) -> Tool:
    return Tool(ToolSchema(name, f"the tool {name}", {"type": "object"}), run)


async def echo(arguments: str) -> ToolOutput:
    return ToolOutput(f"echo {arguments}")


async def start(bench: Bench, text: str) -> RunningTurn:
    running = await bench.session.turns.start(bench.conversation_id, text, user_message(text))
    assert isinstance(running, RunningTurn)
    return running


async def test_a_turn_is_stored_as_it_was_shown(bench: Opener) -> None:
    b = await bench([says("an", "swer")])
    running = await start(b, "question")
    seen: list[Numbered] = []
    running.follow(seen.append, 0)
    assert (await running.wait()).state is TurnState.COMMITTED
    assert shown_text(n.event for n in seen) == "answer"
    assert [n.seq for n in seen] == sorted({n.seq for n in seen})
    assert await b.said() == [("user", "question", "complete"), ("assistant", "answer", "complete")]
    assert await b.store.read(stream_journal.read, running.id) == []


async def test_an_event_is_durable_before_it_is_shown(bench: Opener) -> None:
    gate = asyncio.Event()
    b = await bench([[TextDelta("first "), gate, *says("second")]])
    running = await start(b, "q")
    shown: asyncio.Queue[Numbered] = asyncio.Queue()
    running.follow(shown.put_nowait, 0)
    first = await asyncio.wait_for(shown.get(), WAIT_S)
    assert await b.store.read(stream_journal.read, running.id) == [first]
    page = await b.session.conversations.read(b.conversation_id, None, None)
    assert page.running is not None
    assert (page.running.turn_id, page.running.text, page.running.last_seq) == (running.id, "first ", first.seq)
    gate.set()
    await running.wait()


async def test_a_cancel_keeps_what_was_said_and_frees_the_conversation(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), asyncio.Event()], says("next")])
    running = await start(b, "q")
    shown: asyncio.Queue[Numbered] = asyncio.Queue()
    running.follow(shown.put_nowait, 0)
    await asyncio.wait_for(shown.get(), WAIT_S)
    running.cancel()
    assert (await running.wait()).state is TurnState.CANCELLED
    assert b.provider.n_closed == 1, "the provider's stream was left open"
    assert await b.said() == [("user", "q", "complete"), ("assistant", "half", "cancelled")]
    assert await b.ask("again") == "committed"


@pytest.mark.parametrize("after", range(12))
async def test_a_cancel_at_any_moment_leaves_whole_pairs_and_a_closed_turn(bench: Opener, after: int) -> None:
    b = await bench(
        [calls(("1", "echo", "{}"), ("2", "echo", "{}")), says("done"), says("next")], tools=(tool("echo", echo),)
    )
    running = await start(b, "q")
    for _ in range(after * 3):
        await asyncio.sleep(0)
    running.cancel()
    end = await running.wait()
    page = await b.session.conversations.read(b.conversation_id, None, None)
    assert pairs_are_whole(tuple(m.content for m in page.messages))
    assert page.running is None
    outcome = await b.session.conversations.outcome(running.id)
    assert outcome.turn.state is end.state
    b.provider.replies = [says("next")]
    assert await b.ask("again") == "committed"


async def test_a_provider_error_keeps_the_text_and_names_its_kind(bench: Opener) -> None:
    error = ProviderError(ErrorKind.OVERLOADED, "The model is overloaded.", is_retryable=True)
    b = await bench([[TextDelta("half"), error]])
    running = await start(b, "q")
    assert (await running.wait()).state is TurnState.ERRORED
    assert await b.said() == [("user", "q", "complete"), ("assistant", "half", "errored")]
    with pytest.raises(TurnFailed, match="overloaded") as caught:
        await b.session.conversations.require_success(running.id)
    assert (caught.value.kind, caught.value.is_retryable) == (ErrorKind.OVERLOADED, True)


async def test_a_stream_that_ends_early_is_a_bad_response(bench: Opener) -> None:
    b = await bench([[TextDelta("half")]])
    running = await start(b, "q")
    assert (await running.wait()).error_kind is ErrorKind.BAD_RESPONSE


async def test_a_broken_client_ends_the_turn_without_its_words(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), RuntimeError("secret")]])
    running = await start(b, "q")
    end = await running.wait()
    assert end.error_kind is ErrorKind.INTERNAL
    assert "secret" not in (end.error_message or "")
    assert (await b.said())[1][1:] == ("half", "errored")


async def test_parallel_calls_run_and_their_results_go_back(bench: Opener) -> None:
    b = await bench(
        [calls(("1", "echo", '{"a":1}'), ("2", "echo", '{"b":2}')), says("done")], tools=(tool("echo", echo),)
    )
    assert await b.ask("q") == "committed"
    assert await b.said() == [
        ("user", "q", "complete"),
        ("assistant", "", "complete"),
        ("tool", 'echo {"a":1}', "complete"),
        ("tool", 'echo {"b":2}', "complete"),
        ("assistant", "done", "complete"),
    ]
    first, second = b.provider.seen
    assert second.lines()[: len(first.lines())] == first.lines(), "the prefix broke inside a turn"
    assert [t.name for t in first.tools] == ["echo"]
    assert first.limit_tokens < second.limit_tokens


async def test_a_tools_start_is_durable_before_it_runs(bench: Opener) -> None:
    journal: list[EventType] = []

    async def look(_: str) -> ToolOutput:
        (turn_id,) = b.session.folder.running
        numbered = await b.store.read(stream_journal.read, turn_id)
        journal.extend(n.event.type for n in numbered)
        return ToolOutput("ok")

    b = await bench([calls(("1", "look", "{}")), says("done")], tools=(tool("look", look),))
    await b.ask("q")
    assert journal[-1] is EventType.TOOL_START


async def test_unknown_and_failing_tools_are_results_not_failures(bench: Opener) -> None:
    async def explode(_: str) -> ToolOutput:
        raise RuntimeError("secret")

    b = await bench(
        [calls(("1", "nope", "{}"), ("2", "explode", "not json")), says("done")], tools=(tool("explode", explode),)
    )
    assert await b.ask("q") == "committed"
    results = [text for role, text, _ in await b.said() if role == "tool"]
    assert results[0].startswith("There is no tool 'nope'")
    assert results[1] == "The tool explode failed (RuntimeError)."


async def test_a_huge_result_is_kept_whole_and_sent_as_a_preview_from_the_first_request_on(bench: Opener) -> None:
    huge = "x" * 200_000 + "\nERROR: boom\n" + "y" * 200_000

    async def big(_: str) -> ToolOutput:
        return ToolOutput(huge)

    b = await bench(
        [calls(("1", "big", "{}")), calls(("2", "big", "{}")), says("done")], tools=(tool("big", big),), window=32_000
    )
    assert await b.ask("q") == "committed"
    assert [text for role, text, _ in await b.said() if role == "tool"] == [huge, huge]
    second, third = b.provider.seen[1:]
    assert len(second.messages[-1].results[0].text) < 50_000
    assert "ERROR: boom" in second.messages[-1].results[0].text
    assert third.lines()[: len(second.lines())] == second.lines()


async def test_results_that_do_not_fit_force_a_final_answer(bench: Opener) -> None:
    async def big(_: str) -> ToolOutput:
        return ToolOutput("word " * 3_000)

    many = tuple((f"{n}", "big", "{}") for n in range(14))
    b = await bench([calls(*many), says("done")], tools=(tool("big", big),), window=8_000, reserve=1_000)
    assert await b.ask("q") == "committed"
    results = [text for role, text, _ in await b.said() if role == "tool"]
    assert len(results) == 14
    assert sum("token_budget_exceeded" in text for text in results) == 1
    assert "not run" in results[-1]
    final = b.provider.seen[-1]
    assert (final.tool_choice, len(final.tools)) == ("none", 1)
    outcomes = [e.outcome for e in b.events if isinstance(e, ContextEvent) and e.outcome is not None]
    assert outcomes == ["token_budget_exceeded", "forced_final"]


@pytest.mark.slow
async def test_four_hundred_steps_in_one_turn_at_a_window_of_8000(bench: Opener) -> None:
    async def read(arguments: str) -> ToolOutput:
        n_lines = 2_000 if arguments.endswith('0.py"}') else 40  # every tenth is larger than the window
        return ToolOutput(f"contents of {arguments}\n" + "some line of code\n" * n_lines)

    steps = [calls((f"call-{n}", "read", f'{{"path": "src/file_{n}.py"}}')) for n in range(400)]
    b = await bench([*steps, says("done")], tools=(tool("read", read),), window=8_000, reserve=1_000)
    request = "Please read every file. Never use tabs."
    assert await b.ask(request) == "committed"
    assert len(b.provider.seen) == 401
    for context in b.provider.seen:
        assert context.upper_tokens <= context.limit_tokens <= 6_744
        assert any(message.text == request for message in context.messages)
        assert pairs_are_whole(context.messages)
    assert len(await b.said()) == 802
    n_final = sum(context.tool_choice == "none" for context in b.provider.seen)
    shown = [result for context in b.provider.seen for message in context.messages for result in message.results]
    n_handed_over = len({result.call_id for result in shown if "characters left out here" in result.text})
    told = [
        event for event in b.events if isinstance(event, ContextEvent) and event.type is ContextEventType.COMPACTION
    ]
    n_compactions = len(await b.store.read(statistics.compaction_reports, b.conversation_id))
    print(f"400 steps: {n_final} forced finals, {n_handed_over} results handed over, {n_compactions} compactions")  # noqa: T201
    assert n_final == 0, "a turn that can go on was ended"
    assert n_handed_over == 40, "not every result that is too large was shown as a preview"
    assert n_compactions == len(told) > 0


async def test_a_second_turn_in_the_same_conversation_is_busy_and_others_are_not(bench: Opener) -> None:
    gate = asyncio.Event()
    streaming = asyncio.Event()
    b = await bench([[streaming.set, gate, *says("one")], says("two")])
    running = await start(b, "q")
    with pytest.raises(ConversationBusy, match="a turn"):
        await start(b, "other")
    with pytest.raises(ConversationBusy, match="a turn"):
        await b.session.conversations.summarize(b.conversation_id, None)
    await b.session.conversations.set_layout(b.conversation_id, "librarian")  # from the next turn on
    with pytest.raises(ConversationBusy, match="a turn"):
        await asyncio.wait_for(start(b, "another"), WAIT_S)
    await asyncio.wait_for(streaming.wait(), WAIT_S)
    other = await b.session.conversations.create("two", None)
    second = await b.session.turns.start(other.id, "r2", user_message("q2"))
    assert isinstance(second, RunningTurn)
    assert (await second.wait()).state is TurnState.COMMITTED
    gate.set()
    await running.wait()


async def test_a_repeated_request_answers_with_the_turn_that_exists(bench: Opener) -> None:
    gate = asyncio.Event()
    b = await bench([[gate, *says("one")]])
    running = await start(b, "q")
    assert await b.session.turns.start(b.conversation_id, "q", user_message("q")) is running
    gate.set()
    await running.wait()
    assert await b.session.turns.start(b.conversation_id, "q", user_message("q")) == running.id
    assert len(await b.said()) == 2


@pytest.mark.parametrize("text", ["", "  \n ", "\0"])
async def test_an_empty_message_is_refused_and_nothing_stored(bench: Opener, text: str) -> None:
    b = await bench([])
    with pytest.raises(InvalidRequest, match="Write something"):
        await start(b, text)
    assert await b.said() == []


async def test_a_message_larger_than_the_budget_is_refused_with_numbers_and_nothing_stored(bench: Opener) -> None:
    b = await bench([says("fine")], window=8_000, reserve=1_000)
    with pytest.raises(RecentMessagesTooLarge) as caught:
        await start(b, "word " * 8_000)
    assert caught.value.required_tokens > caught.value.budget_tokens == 6_650
    assert await b.said() == []
    assert await b.ask("short") == "committed"


async def test_a_folder_that_closes_interrupts_every_turn_and_keeps_its_text(bench: Opener) -> None:
    b = await bench([[TextDelta("half"), asyncio.Event()]])
    running = await start(b, "q")
    shown: asyncio.Queue[Numbered] = asyncio.Queue()
    running.follow(shown.put_nowait, 0)
    await asyncio.wait_for(shown.get(), WAIT_S)
    await b.session.folder.interrupt_turns()
    assert await b.said() == [("user", "q", "complete"), ("assistant", "half", "interrupted")]
    assert [each.turn.id for each in await Recovery(b.session.turns).unresolved()] == [running.id]


@pytest.mark.parametrize("first", ["cancel", "interrupt"])
async def test_who_stops_a_turn_first_says_whether_it_is_offered(bench: Opener, first: str) -> None:
    b = await bench([[TextDelta("half"), asyncio.Event()]])
    running = await start(b, "q")
    shown: asyncio.Queue[Numbered] = asyncio.Queue()
    running.follow(shown.put_nowait, 0)
    await asyncio.wait_for(shown.get(), WAIT_S)
    stops = [running.cancel, running.interrupt]
    for stop in stops if first == "cancel" else reversed(stops):
        stop()
    assert (await running.wait()).state.value == f"{first}ed".replace("cancel", "cancell")
    assert len(await Recovery(b.session.turns).unresolved()) == (first == "interrupt")


async def test_a_caller_that_goes_away_while_a_turn_is_admitted_leaves_it_closed(bench: Opener) -> None:
    b = await bench([[asyncio.Event()], says("next")])
    starting = asyncio.create_task(b.session.turns.start(b.conversation_id, "r", user_message("q")))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    found = await b.session.turns.start(b.conversation_id, "r", user_message("q"))
    if isinstance(found, RunningTurn):
        assert (await found.wait()).state is TurnState.CANCELLED
    b.provider.replies = [says("next")]
    assert await b.ask("again") == "committed"


async def test_garbage_in_a_stream_is_cleaned_before_it_is_shown(bench: Opener) -> None:
    b = await bench([says("a\0b\ud800c")])
    running = await start(b, "q")
    seen: list[Numbered] = []
    running.follow(seen.append, 0)
    await running.wait()
    assert shown_text(n.event for n in seen) == (await b.said())[1][1] == "ab\ufffdc"


async def test_the_context_follows_what_another_server_stored(bench: Opener, tmp_path: Path) -> None:
    b = await bench([says("one"), says("three")])
    await b.ask("q1")
    other = await open_bench(tmp_path / "0", [says("two")])
    other.conversation_id = ConversationId(b.conversation_id)
    assert await other.ask("q2") == "committed"
    await other.session.folder.close()
    assert await b.ask("q3") == "committed"
    assert [m.text for m in b.provider.seen[-1].messages] == ["q1", "one", "q2", "two", "q3"]


async def test_calls_whose_arguments_never_ended_are_not_run(bench: Opener) -> None:
    b = await bench([[ToolCallStart("1", "echo"), ToolArguments("1", '{"a":')]], tools=(tool("echo", echo),))
    assert await b.ask("q") == "errored"
    assert await b.said() == [("user", "q", "complete")]


async def test_a_turn_that_is_stopped_before_it_begins_is_closed_and_frees_the_conversation(bench: Opener) -> None:
    b = await bench([says("never sent")])
    turn = await b.session.turns.start(b.conversation_id, "r", user_message("question"))
    assert isinstance(turn, RunningTurn)
    turn.cancel()  # its task has not had a step yet
    assert (await asyncio.wait_for(turn.wait(), WAIT_S)).state is TurnState.CANCELLED
    assert await b.store.read(holder_of, b.conversation_id) is None
    assert await b.said() == [("user", "question", "complete")]
    assert b.provider.seen == []


async def test_a_turn_that_could_not_be_closed_is_as_soon_as_the_store_can_be_written(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_AGAIN_S", 0.01)
    b = await bench([[TextDelta("half"), RuntimeError("a bug")]])

    def full(*_: Any) -> Any:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(stored_turns, "commit_step", full)
    with pytest.raises(StoreError):
        await b.ask("question")
    freed = asyncio.Event()
    b.session.folder.listeners.add(lambda _: freed.set())
    await asyncio.wait_for(freed.wait(), WAIT_S)
    assert await b.store.read(holder_of, b.conversation_id) is None
    assert await b.said() == [("user", "question", "complete"), ("assistant", "half", "interrupted")]


async def test_a_first_message_that_is_refused_leaves_no_conversation(bench: Opener) -> None:
    b = await bench([says("yes")], window=8_000)
    new = b.session.conversations.blank()
    with pytest.raises(RecentMessagesTooLarge):
        await b.session.turns.begin(new, "r", user_message("many words " * 8_000))
    assert not await b.session.conversations.holds(new.id)
    turn = await b.session.turns.begin(new, "r", user_message("few words"))
    assert isinstance(turn, RunningTurn)
    await asyncio.wait_for(turn.wait(), WAIT_S)
    page = await b.session.conversations.read(new.id, None, 10)
    assert [m.content.text for m in page.messages] == ["few words", "yes"]
    assert page.record.title == "few words"


async def test_a_switch_during_a_turn_waits_for_its_end_and_switches_keep_their_order(bench: Opener) -> None:
    began, gate = asyncio.Event(), asyncio.Event()
    b = await bench([[began.set, gate, *says("An answer.")], says("Another.")])
    engine = b.session.contexts
    for name in ("offline-2", "offline-3"):
        engine.models = with_override(engine.models, replace(engine.models.get("offline"), name=name))
    asking = asyncio.create_task(b.ask("A question."))
    await began.wait()
    switch = b.session.conversations.switch_model
    given_up = asyncio.create_task(switch(b.conversation_id, "offline-3"))
    switches = [
        asyncio.create_task(switch(b.conversation_id, name)) for name in ("offline-2", "offline-3", "offline-2")
    ]
    with pytest.raises(ConversationBusy, match="a turn"):
        await b.session.conversations.undo(b.conversation_id)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert not any(each.done() for each in switches)
    gate.set()
    assert await asking == "committed"
    done = await asyncio.wait_for(asyncio.gather(*switches), WAIT_S)
    assert [each.model.name for each in done] == ["offline-2", "offline-3", "offline-2"]
    page = await b.session.conversations.read(b.conversation_id, None, None)
    assert page.record.model == "offline-2"
    assert await b.ask("And now?") == "committed"
    assert b.session.folder.listeners._listeners == [b.events.append], "nobody listens any more"


async def test_a_switch_does_not_wait_for_anything_but_a_turn(bench: Opener) -> None:
    b = await bench([])
    store = b.store
    lease = await store.run(stored_leases.acquire, store.writer(utc_now()), b.conversation_id, "a summary")
    with pytest.raises(ConversationBusy, match="a summary"):
        await b.session.conversations.switch_model(b.conversation_id, "offline")
    await store.run(stored_leases.release, lease)
