"""What is said of a context adds up and comes in pairs, whatever happens to the conversation meanwhile.

Each start has exactly one end under its id, behind it; what a request is made of adds up to it; what strategies saved
is what the context took before less what it takes after.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.services.scripted import Bench, Opener, calls, says

from palimpsest.domain.context.cut import CutCause, SummaryPiece
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.strategies import EVERY_NAME
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import MessageId, user_message
from palimpsest.domain.models.limits import Model
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.context.reports import explain, stats, usage_status
from palimpsest.services.context.summaries.summarizers import ExtractiveSummarizer, Summarizer, SummaryTask, Written
from palimpsest.services.events import ContextEvent
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage.context import statistics

START = ContextEventType.SUMMARIZATION_START
PROGRESS = ContextEventType.SUMMARIZATION_PROGRESS
COMPLETE = ContextEventType.SUMMARIZATION_COMPLETE
ERROR = ContextEventType.SUMMARIZATION_ERROR
OF_OPERATIONS = (START, PROGRESS, COMPLETE, ERROR, ContextEventType.SUMMARIZATION_FALLBACK)


def context_events(b: Bench) -> list[ContextEvent]:
    return [event for event in b.events if isinstance(event, ContextEvent)]


def assert_paired(events: Sequence[ContextEvent]) -> None:
    """Each start has one end with its id, and whatever else has the id lies between them."""
    begun: dict[str, ContextEvent] = {}
    open_ids: set[str] = set()
    n_done: dict[str, int] = {}
    for event in events:
        if event.type not in OF_OPERATIONS:
            assert event.operation_id is None
            continue
        assert event.strategy in EVERY_NAME
        assert event.operation_id is not None
        if event.type is START:
            assert event.operation_id not in begun
            begun[event.operation_id] = event
            open_ids.add(event.operation_id)
            continue
        assert event.operation_id in open_ids, f"{event.type} without a start, or behind the end"
        start = begun[event.operation_id]
        assert event.strategy == start.strategy
        if event.type is PROGRESS:
            assert event.items_processed is not None
            assert event.total_items == start.total_items
            assert n_done.get(event.operation_id, -1) < event.items_processed <= (event.total_items or 0)
            n_done[event.operation_id] = event.items_processed
        if event.type in (COMPLETE, ERROR):
            open_ids.remove(event.operation_id)
        if event.type is COMPLETE:
            assert (event.current_tokens, event.tokens_saved) == (
                start.current_tokens,
                (start.current_tokens or 0) - (event.new_token_count or 0),
            )
            assert start.total_items is None or n_done[event.operation_id] == start.total_items
    assert not open_ids, "a start without an end"


async def assert_adds_up(b: Bench) -> None:
    report = await usage_status(b.session.contexts, b.conversation_id)
    assert sum(tokens for _, tokens in report.by_kind) == report.usage.used_tokens
    for text in (None, "And what now?", "word " * 20_000):
        plan = await explain(b.session.contexts, b.conversation_id, text)
        assert sum(segment.tokens for segment in plan.segments) == plan.used_tokens
        assert text is not None or plan.problem is not None or plan.used_tokens == report.usage.used_tokens
    for request in b.provider.seen:
        assert sum(segment.tokens for segment in request.segments) == request.estimated_tokens
    found = await stats(b.session.contexts, b.conversation_id)
    reports = await b.store.read(statistics.compaction_reports, b.conversation_id)
    for cause, each in reports:
        if each.saved or cause in (CutCause.THRESHOLD, CutCause.LAYOUT):
            assert sum(each.saved.values()) == each.tokens_before - each.tokens_after
    for strategy in found.strategies:
        done = [e for e in context_events(b) if e.type is COMPLETE and e.strategy == strategy.name]
        assert (strategy.n_fired, strategy.tokens_saved) == (len(done), sum(e.tokens_saved or 0 for e in done))


@dataclass
class Unreliable:
    """Quotes, fails as a defect would, or never comes back."""

    chance: random.Random
    waits: asyncio.Event

    async def write(self, task: SummaryTask) -> Written:
        what = self.chance.choice(["quote", "quote", "note", "defect", "hang"])
        if what == "defect":
            raise RuntimeError("a defect")
        if what == "hang":
            self.waits.set()
            await asyncio.Event().wait()
        written = await ExtractiveSummarizer().write(task)
        return replace(written, note="It was written without a model instead.") if what == "note" else written

    async def choose(self, _: Model, __: EditorId | None) -> Summarizer:
        return self


async def read(_: str) -> ToolOutput:
    return ToolOutput("some line of code in a file\n" * 60)


READ = Tool(ToolSchema("read", "read", {"type": "object"}), read)


async def turn(b: Bench, chance: random.Random, unreliable: Unreliable) -> None:
    """A turn, with tools or without; one that waits for a summary that never comes is cancelled."""
    number = len(b.events)
    talk = " ".join(f"Pump {number}-{n} is on, valve {n} is shut." for n in range(chance.randint(1, 25)))
    steps = [calls((f"{number}-{n}", "read", "{}")) for n in range(chance.choice([0, 0, 1, 2]))]
    b.provider.replies = [*steps, says(talk)]
    unreliable.waits.clear()
    try:
        asked = user_message(f"Question {number}: is value_{number} wet? " + "It is dry here. " * chance.randint(0, 40))
        running = await b.session.turns.start(b.conversation_id, f"r{number}", asked)
    except PalimpsestError:
        return
    assert isinstance(running, RunningTurn)
    hangs = asyncio.create_task(unreliable.waits.wait())
    await asyncio.wait({hangs, asyncio.ensure_future(running.wait())}, return_when=asyncio.FIRST_COMPLETED)
    if hangs.done():
        running.cancel()
    hangs.cancel()
    await running.wait()


async def change(b: Bench, chance: random.Random, unreliable: Unreliable) -> None:
    """What a user asks of the summaries; one that never comes is cancelled."""
    engine = b.session.contexts
    state = await engine.state(b.conversation_id)
    blocks = [piece.summary.id for piece in state.pieces if isinstance(piece, SummaryPiece)]
    conversations = b.session.conversations
    unreliable.waits.clear()
    work: Coroutine[Any, Any, object]
    match chance.choice(["summarize", "summarize", "range", "regenerate", "expand", "undo"]):
        case "summarize":
            work = conversations.summarize(b.conversation_id, None)
        case "range" if state.n_messages > 1:
            start = chance.randrange(state.n_messages - 1)
            work = conversations.summarize(b.conversation_id, (MessageId(start), MessageId(state.n_messages)))
        case "regenerate" if blocks:
            work = conversations.regenerate(b.conversation_id, chance.choice(blocks))
        case "expand" if blocks:
            work = conversations.expand(b.conversation_id, chance.choice(blocks))
        case _:
            work = conversations.undo(b.conversation_id)
    asked = asyncio.ensure_future(work)
    hangs = asyncio.create_task(unreliable.waits.wait())
    await asyncio.wait({hangs, asked}, return_when=asyncio.FIRST_COMPLETED)
    if hangs.done():
        asked.cancel()
    hangs.cancel()
    await asyncio.gather(asked, return_exceptions=True)


@pytest.mark.parametrize("seed", range(6))
async def test_every_start_has_one_end_and_all_parts_add_up(bench: Opener, seed: int) -> None:
    chance = random.Random(seed)
    choices: list[dict[str, Any]] = [{}, {"layout": "librarian"}, {"infinity": False}]
    settings = choices[seed % 3]
    b = await bench([], window=4_000, reserve=500, tools=(READ,), context={"tool_age": 3, **settings})
    unreliable = Unreliable(chance, asyncio.Event())
    b.session.contexts.choose_summarizer = unreliable.choose
    for _ in range(30):
        await (turn if chance.random() < 0.7 else change)(b, chance, unreliable)
    assert_paired(context_events(b))
    await assert_adds_up(b)
    told = {event.type for event in context_events(b)}
    assert {START, COMPLETE} <= told


async def test_a_conversation_without_tools_hears_nothing_of_tool_calls(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    for number in range(20):
        b.provider.replies = [says(" ".join(f"Pump {number}-{n} is on." for n in range(40)))]
        assert await b.ask(f"Question {number}: is value_{number} wet?") == "committed"
    told = {event.strategy for event in context_events(b) if event.type in OF_OPERATIONS}
    assert "threshold" in told
    assert "tool_calls" not in told
    assert {each.name for each in (await stats(b.session.contexts, b.conversation_id)).strategies} <= told


def test_every_strategy_and_every_cause_stands_in_the_protocol() -> None:
    described = (Path(__file__).parents[3] / "PROTOCOL.md").read_text(encoding="utf-8")
    for name in EVERY_NAME:
        assert f"`{name}`" in described
    for cause in set(CutCause) - {CutCause.FIRST}:  # with which nothing is cut
        assert f"`{cause.value}`" in described
