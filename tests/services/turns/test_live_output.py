"""What a tool writes while it runs is durable before it is shown, is bounded, and is no part of its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from tests.services.mcp.scripted_server import until
from tests.services.scripted import Bench, Opener, calls, says
from tests.services.scripted_editor import SCOPE
from tests.waiting import WAIT_S

from palimpsest.domain.messages import user_message
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.turns.journal import EventType, Numbered
from palimpsest.services.tools.toolbox import Tool, ToolOutput, TurnScope
from palimpsest.services.turns import live_output
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage.sql import execute

Run = Callable[[TurnScope], Awaitable[ToolOutput]]


async def turn_with(bench: Opener, run: Run, n_calls: int = 1) -> tuple[Bench, RunningTurn, list[Numbered]]:
    """A running turn whose model calls the tool, and what is shown of it."""

    def make(scope: TurnScope) -> Sequence[Tool]:
        async def call(_: str) -> ToolOutput:
            return await run(scope)

        return [Tool(ToolSchema("work", "Works.", {"type": "object"}), call)]

    asked = [(str(number), "work", "{}") for number in range(n_calls)]
    b = await bench([calls(*asked), says("done")], tools=tuple(make(SCOPE)))
    b.session.turns.services.toolbox.makers = (make,)
    running = await b.session.turns.start(b.conversation_id, "r", user_message("q"))
    assert isinstance(running, RunningTurn)
    shown: list[Numbered] = []
    running.follow(shown.append, 0)
    return b, running, shown


def written(shown: Sequence[Numbered], call_id: str = "0") -> str:
    return "".join(
        each.event.text for each in shown if each.event.type is EventType.TOOL_OUTPUT and each.event.call_id == call_id
    )


async def test_output_is_durable_and_shown_while_the_tool_runs_and_its_result_is_its_own(bench: Opener) -> None:
    goes_on = asyncio.Event()

    async def run(scope: TurnScope) -> ToolOutput:
        for piece in ("one\n", "two", "\n"):
            scope.say(piece)
        await goes_on.wait()
        scope.say("three")
        return ToolOutput("result")

    b, running, shown = await turn_with(bench, run)
    await until(lambda: written(shown) == "one\ntwo\n")
    stored = "SELECT content FROM stream_journal WHERE event_type = 'tool_output' ORDER BY seq"
    rows = await b.session.folder.store.read(lambda: [text for (text,) in execute(stored)])
    assert "".join(rows) == "one\ntwo\n"
    goes_on.set()
    await asyncio.wait_for(running.wait(), WAIT_S)
    assert written(shown) == "one\ntwo\nthree"
    types = [each.event.type for each in shown]
    last = max(n for n, each in enumerate(types) if each is EventType.TOOL_OUTPUT)
    assert types.index(EventType.TOOL_START) < last < types.index(EventType.TOOL_RESULT)
    assert [text for role, text, _ in await b.said() if role == "tool"] == ["result"]


async def test_a_call_that_is_cut_short_tells_the_newest_of_what_it_had_written(bench: Opener) -> None:
    async def run(scope: TurnScope) -> ToolOutput:
        scope.say("old " * 3_000 + "\n3 tests failed\n")
        await asyncio.Event().wait()
        raise AssertionError("never")

    b, running, shown = await turn_with(bench, run)
    await until(lambda: "3 tests failed" in written(shown))
    running.cancel()
    await asyncio.wait_for(running.wait(), WAIT_S)
    (text,) = [text for role, text, _ in await b.said() if role == "tool"]
    assert text.startswith("The tool call was cancelled; it is unknown whether it took effect. It had written:\n[…] ")
    assert text.endswith("old \n3 tests failed")
    assert 8_000 < len(text) < 8_200


async def test_what_is_shown_of_a_call_is_bounded_and_the_next_call_has_room_again(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_output, "MAX_CHARACTERS", 10)

    async def run(scope: TurnScope) -> ToolOutput:
        for _ in range(100):
            scope.say("abc")
            await asyncio.sleep(0)
        return ToolOutput("result")

    _, running, shown = await turn_with(bench, run, 2)
    await asyncio.wait_for(running.wait(), WAIT_S)
    for call_id in "01":
        text, _, note = written(shown, call_id).partition("\n")
        assert text == "abcabcabca"
        assert note == "[What it writes from here on is not shown while it runs.]\n"


async def test_what_is_said_when_no_call_runs_is_not_shown(bench: Opener) -> None:
    scopes: list[TurnScope] = []

    async def run(scope: TurnScope) -> ToolOutput:
        scopes.append(scope)
        return ToolOutput("result")

    _, running, shown = await turn_with(bench, run)
    await asyncio.wait_for(running.wait(), WAIT_S)
    scopes[0].say("too late")
    assert written(shown) == ""
