"""Scenarios of whole conversations, each by its name, on the real engine and a real store."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pytest
from tests.services.filling import question_for, words
from tests.services.scripted import Action, Bench, Opener, calls, says
from tests.services.summary_writers import let_write
from tests.waiting import WAIT_S

from palimpsest.domain.context.cut import CutCause, MessagePiece, Piece, SummaryPiece
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.summaries.node import OPENING
from palimpsest.domain.context.tokens import count_content
from palimpsest.domain.conversation.chain import first_broken
from palimpsest.domain.errors import InvalidRequest, RecentMessagesTooLarge
from palimpsest.domain.messages import Content, Role, ToolCallPart, tool_result, user_message
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.context.reports import explain, usage_status
from palimpsest.services.context.state import ContextState
from palimpsest.services.events import ContextEvent
from palimpsest.services.maintenance.replay import pairs_are_whole
from palimpsest.services.models.catalog import with_override
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage.context import summary_tree

WINDOWS = [8_000, 16_000]
RESERVE = 1_000
TIMEOUT_S = WAIT_S


@dataclass
class Workspace:
    """Files in memory, and the tools that an agent works on them with."""

    files: dict[str, str]
    outputs: list[str] = field(default_factory=list)
    """What the tools gave back, in order."""

    async def read(self, arguments: str) -> ToolOutput:
        return self._give(self.files[json.loads(arguments)["path"]])

    async def edit(self, arguments: str) -> ToolOutput:
        asked = json.loads(arguments)
        before = self.files[asked["path"]]
        self.files[asked["path"]] = before.replace(asked["old"], asked["new"])
        return self._give(f"{asked['path']}: {before.count(asked['old'])} places changed")

    def _give(self, text: str) -> ToolOutput:
        self.outputs.append(text)
        return ToolOutput(text)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (tool("read_file", self.read), tool("edit_file", self.edit))


def tool(name: str, run: Callable[[str], Awaitable[ToolOutput]]) -> Tool:
    return Tool(ToolSchema(name, f"the tool {name}", {"type": "object"}), run)


def edit(call_id: str, path: str, old: str, new: str) -> list[Action]:
    return calls((call_id, "edit_file", json.dumps({"path": path, "old": old, "new": new})))


def read(call_id: str, path: str) -> list[Action]:
    return calls((call_id, "read_file", json.dumps({"path": path})))


def talk(number: int, n_tokens: int) -> str:
    """Sentences of about that many tokens; no two numbers have one in common."""
    return " ".join(f"Pump {number}-{n} runs at {n * 37 % 1_000} rpm." for n in range(n_tokens // 13))


TOOLS_FIRST = {"strategies": ("tool_calls", "threshold", "goal_batch")}
"""Old tool calls are summarized before anybody's words are."""


def aim_high(b: Bench) -> None:
    """Summaries take much of their originals, so that the older ones have to be merged after a few compactions."""
    engine = b.session.contexts
    engine.settings = replace(engine.settings, target_ratio=0.4)


def happened(b: Bench, type: ContextEventType) -> list[ContextEvent]:
    return [event for event in b.events if isinstance(event, ContextEvent) and event.type is type]


def strategies(b: Bench) -> set[str | None]:
    """Those that a completed compaction followed."""
    return {event.strategy for event in happened(b, ContextEventType.SUMMARIZATION_COMPLETE)}


def threshold_compactions(b: Bench) -> int:
    return sum(event.cause == CutCause.THRESHOLD for event in happened(b, ContextEventType.COMPACTION))


def text_of(context: PreparedContext) -> str:
    return "\n".join(text_in(message) for message in context.messages)


def text_in(message: Content) -> str:
    return message.text + "".join(result.text for result in message.results)


def assert_sound(contexts: Sequence[PreparedContext]) -> None:
    for context in contexts:
        assert context.upper_tokens <= context.limit_tokens
        assert pairs_are_whole(context.messages)


async def assert_verifies(b: Bench) -> None:
    page = await b.session.conversations.read(b.conversation_id, 0, 1000)
    assert first_broken(page.messages) is None


# ------------------------------------------------------------------------------------------- 1. Long Coding Session


@pytest.mark.slow
async def test_long_coding_session(bench: Opener) -> None:
    """More than 100 turns, each with an edit: every request fits, and nothing of the session is lost."""
    n_turns, n_files = 104, 8
    chance = random.Random(1)
    work = Workspace({f"src/part_{n}.py": "".join(f"x{n}_{i} = 0\n" for i in range(40)) for n in range(n_files)})
    b = await bench([], window=WINDOWS[0], reserve=RESERVE, tools=work.tools)
    said: list[tuple[str, str]] = []
    for n in range(n_turns):
        path, name = f"src/part_{n % n_files}.py", f"x{n % n_files}_{n % 40}"
        old = n - 40 if n >= 40 else 0
        b.provider.replies = [read(f"r{n}", path)] if n % 6 == 0 else []
        b.provider.replies.append(edit(f"e{n}", path, f"{name} = {old}\n", f"{name} = {n}\n"))
        answer = f"Turn {n} is done. " + "I set the value as you said. " * chance.randint(1, 12)
        b.provider.replies.append(says(answer))
        question = f"Turn {n}: set {name} in {path} to {n}. " + "It was otherwise. " * chance.randint(1, 12)
        work.outputs.clear()
        n_seen = len(b.provider.seen)
        assert await b.ask(question) == "committed"
        assert all(question in [m.text for m in context.messages] for context in b.provider.seen[n_seen:])
        said.append(("user", question))
        for output in work.outputs:
            said += [("assistant", ""), ("tool", output)]
        said.append(("assistant", answer))
    assert_sound(b.provider.seen)
    assert threshold_compactions(b) > 1
    assert [(role, text) for role, text, _ in await b.said()] == said
    await assert_verifies(b)
    last_edits = range(n_turns - 40, n_turns)
    assert all(f"x{n % n_files}_{n % 40} = {n}\n" in work.files[f"src/part_{n % n_files}.py"] for n in last_edits)


# ------------------------------------------------------------------------------------------ 2. Large File Operations


@pytest.mark.parametrize("window", WINDOWS)
async def test_large_file_operations(bench: Opener, window: int) -> None:
    """Files of over 5,000 lines, read and modified: requests show previews, each decided once; the store has all."""
    path = "src/generated.py"
    lines = [f"def handler_{n}(event): return route({n}, event)" for n in range(6_000)]
    lines[3_000] = "raise RuntimeError('error: handler 3000 is missing')"
    work = Workspace({path: "\n".join(lines)})
    before = work.files[path]
    rewritten = "\n".join(f"def route_{n}(): ..." for n in range(5_500))
    b = await bench([], window=window, reserve=RESERVE, tools=work.tools)
    b.provider.replies = [
        read("r1", path),
        edit("e1", path, "handler_17(", "handler_seventeen("),
        says("I renamed it."),
        edit("e2", path, lines[3_000], rewritten),
        read("r2", path),
        says("I wrote the missing part."),
    ]
    assert await b.ask("Rename handler_17.") == "committed"
    assert await b.ask("Now write what is missing.") == "committed"
    assert_sound(b.provider.seen)
    assert "def handler_seventeen(event)" in work.files[path]
    assert rewritten in work.files[path]

    page = await b.session.conversations.read(b.conversation_id, 0, 1000)
    whole = [text_in(message.content) for message in page.messages if message.content.role is Role.TOOL]
    assert whole == work.outputs == [before, work.outputs[1], work.outputs[2], work.files[path]]
    written = [call.arguments for message in page.messages for call in message.content.calls if call.call_id == "e2"]
    assert [json.loads(arguments)["new"] for arguments in written] == [rewritten]

    first = next(message for message in b.provider.seen[1].messages if message.results)
    assert "the whole is kept as message 2" in first.results[0].text
    assert "error: handler 3000 is missing" in first.results[0].text
    shown = {
        (result.call_id, result.text)
        for context in b.provider.seen
        for message in context.messages
        for result in message.results
    }
    assert sorted(call_id for call_id, _ in shown) == ["e1", "e2", "r1", "r2"], "a preview was decided twice"
    pieces = (await b.session.contexts.state(b.conversation_id)).pieces
    b.session.contexts.forget(b.conversation_id)
    assert (await b.session.contexts.state(b.conversation_id)).pieces == pieces, "a restart shows other previews"


# --------------------------------------------------------------------------------------------- 3. Repeated Tool Calls


@pytest.mark.parametrize("window", WINDOWS)
async def test_repeated_tool_calls(bench: Opener, window: int) -> None:
    """One tool, called again and again in a debugging loop: pairs stay whole, the old ones are summarized as tool work,
    and nobody's words are."""
    n_runs = 30 * window // 8_000

    async def run_tests(arguments: str) -> ToolOutput:
        number = json.loads(arguments)["attempt"]
        failed = f"FAILED tests/test_queue.py::test_drain - AssertionError: attempt {number} left {number} jobs\n"
        return ToolOutput("collected 212 items\n" + "tests/test_queue.py .....\n" * 25 + failed)

    runs = [calls((f"c{n}", "run_tests", json.dumps({"attempt": n}))) for n in range(n_runs)]
    b = await bench([], window=window, reserve=RESERVE, tools=(tool("run_tests", run_tests),), context=TOOLS_FIRST)
    words = ["The queue does not drain. Find out why.", "Go on, please, and look at the workers.", "And now?"]
    for number, question in enumerate(words):
        b.provider.replies = [*runs[number * n_runs // 3 : (number + 1) * n_runs // 3], says(f"Found {number}.")]
        assert await b.ask(question) == "committed"
    assert_sound(b.provider.seen)
    assert "tool_calls" in strategies(b)
    state = await b.session.contexts.state(b.conversation_id)
    blocks = [piece for piece in state.pieces if isinstance(piece, SummaryPiece)]
    assert blocks
    page = await b.session.conversations.read(b.conversation_id, 0, 1000)
    covered = [m.content for each in blocks for m in page.messages[each.start : each.end]]
    assert pairs_are_whole(tuple(covered))
    assert Role.USER not in {content.role for content in covered}
    assert [m.text for m in b.provider.seen[-1].messages if m.role is Role.USER and OPENING not in m.text] == words
    assert sum(len(message.content.results) for message in page.messages) == n_runs


# --------------------------------------------------------------------------------------------- 4. Strategy Composition


async def test_strategy_composition(bench: Opener) -> None:
    """Tool work first, then talk, for long: one session in which each strategy has its turn."""

    window = WINDOWS[0]

    async def look(_: str) -> ToolOutput:
        return ToolOutput("valve 3 is open\n" * (window // 300))

    b = await bench([], window=window, reserve=RESERVE, tools=(tool("look", look),), context=TOOLS_FIRST)
    b.provider.replies = [*(calls((f"c{n}", "look", "{}")) for n in range(45)), says("All are open.")]
    assert await b.ask("Look at the valves until they are shut.") == "committed"
    aim_high(b)
    for number in range(34):
        b.provider.replies = [says(f"Answer {number}. " + talk(number, window // 9))]
        assert await b.ask(f"Question {number}. " + talk(number, window // 80)) == "committed"
    assert_sound(b.provider.seen)
    assert strategies(b) >= {"tool_calls", "threshold"}
    summaries = await b.store.read(summary_tree.read, b.conversation_id)
    assert max(summary.level for summary in summaries) >= 2, "goal_batch never merged older blocks"
    names = set(b.session.contexts.settings.strategies)
    assert {event.strategy for event in happened(b, ContextEventType.SUMMARIZATION_START)} <= names


# ---------------------------------------------------------------------------------------- 5. Token Threshold Edge Cases


async def state_of(b: Bench) -> ContextState:
    return await b.session.contexts.state(b.conversation_id)


async def with_history(bench: Opener, window: int, *, threshold: float, n_turns: int = 8) -> Bench:
    """A conversation of some turns that take 8 % of the budget each, and were not compacted."""
    b = await bench([], window=window, reserve=RESERVE)
    engine = b.session.contexts
    engine.settings = replace(engine.settings, threshold=threshold)
    state = await state_of(b)
    for number in range(n_turns):
        b.provider.replies = [says(f"{number}." + words(state, state.budget.budget // 25))]
        assert await b.ask(f"{number}." + words(state, state.budget.budget // 25)) == "committed"
    assert threshold_compactions(b) == 0
    return b


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("beyond", "n_compactions"), [(-1, 0), (0, 0), (1, 1)])
async def test_token_threshold_edge_cases_at_the_threshold(
    bench: Opener, window: int, beyond: int, n_compactions: int
) -> None:
    """A request of exactly 80 % of the budget is sent as it is; one token more, and a new cut is chosen first."""
    b = await with_history(bench, window, threshold=0.80)
    edge = (await state_of(b)).budget.budget * 80 // 100
    b.provider.replies = [says("Yes.")]
    assert await b.ask(await question_for(b, edge + beyond)) == "committed"
    assert threshold_compactions(b) == n_compactions
    assert (b.provider.seen[-1].estimated_tokens == edge + beyond) == (n_compactions == 0)
    assert_sound(b.provider.seen)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("beyond", "n_compactions"), [(-1, 0), (0, 0), (1, 1)])
async def test_token_threshold_edge_cases_at_the_budget(
    bench: Opener, window: int, beyond: int, n_compactions: int
) -> None:
    """With a threshold of 100 % a request may fill the whole budget, and not one token more."""
    b = await with_history(bench, window, threshold=1.0)
    budget = (await state_of(b)).budget.budget
    b.provider.replies = [says("Yes.")]
    assert await b.ask(await question_for(b, budget + beyond)) == "committed"
    assert threshold_compactions(b) == n_compactions
    assert (b.provider.seen[-1].upper_tokens == budget + beyond) == (n_compactions == 0)
    assert_sound(b.provider.seen)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("beyond", [-1, 0, 1])
async def test_token_threshold_edge_cases_of_a_single_message(bench: Opener, window: int, beyond: int) -> None:
    """A first message that fills the budget to the last token is answered; one token more is refused, unstored."""
    b = await bench([says("Yes.")], window=window, reserve=RESERVE)
    budget = (await state_of(b)).budget.budget
    question = await question_for(b, budget + beyond)
    if beyond > 0:
        with pytest.raises(RecentMessagesTooLarge) as caught:
            await b.ask(question)
        assert (caught.value.required_tokens, caught.value.budget_tokens) == (budget + 1, budget)
        assert await b.said() == []
        question = await question_for(b, budget)
    assert await b.ask(question) == "committed"
    assert b.provider.seen[0].messages[0].text == question
    assert_sound(b.provider.seen)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("beyond", [-1, 0, 1])
async def test_token_threshold_edge_cases_at_the_wall(bench: Opener, window: int, beyond: int) -> None:
    """Tool results may fill a turn's later requests up to the wall; the first token over it refuses the result."""
    texts: dict[str, str] = {}

    async def give(arguments: str) -> ToolOutput:
        return ToolOutput(texts[json.loads(arguments)["name"]])

    b = await bench([], window=window, reserve=RESERVE, tools=(tool("give", give),))
    state = await state_of(b)
    named = [(str(n), "give", json.dumps({"name": str(n)})) for n in range(9)]
    parts = tuple(ToolCallPart(*each) for each in named)
    results = [words(state, state.budget.budget // 9)] * (len(named) - 1)
    said = [user_message("Fill it."), Content(Role.ASSISTANT, parts)]
    said += [tool_result(part, text) for part, text in zip(parts, [*results, ""], strict=True)]
    used = state.raw_tokens + sum(count_content(content, state.tokenizer.count) for content in said)
    results.append(words(state, state.budget.wall - used + beyond))
    texts.update({name: text for (name, _, _), text in zip(named, results, strict=True)})
    b.provider.replies = [calls(*named), says("Full.")]
    assert await b.ask("Fill it.") == "committed"
    final = b.provider.seen[-1]
    refused = [event for event in happened(b, ContextEventType.GUARD) if event.outcome == "token_budget_exceeded"]
    if beyond > 0:
        assert [event.remaining_tokens for event in refused] == [-1]
        assert final.tool_choice == "none"
    else:
        assert refused == []
        assert (final.upper_tokens, final.limit_tokens) == (state.budget.wall + beyond, state.budget.wall)
    assert_sound(b.provider.seen)


# --------------------------------------------------------------------------------------------- 6. Summarization Quality

EARLY = [
    ("Never touch db/migrations/0042_orders.sql.", ["Never touch db/migrations/0042_orders.sql."]),
    (
        "The deadlock is in services/billing/ledger_lock.py: acquire_two_phase hangs with 17 workers.",
        ["services/billing/ledger_lock.py", "acquire_two_phase", "17 workers"],
    ),
    ("Always run `make check-all` before you commit.", ["Always run `make check-all` before you commit."]),
    ("We decided on port 54329 for the test database, because 5432 is taken.", ["54329", "because 5432 is taken"]),
]
"""What the user says first, and what of it must stay referable. The first and the third are standing rules."""
RULES = {EARLY[number][0]: number for number in (0, 2)}
"""Since which turn they hold."""
VAGUE = "I worked on what the user had asked for, and it went well; more is to be done."


async def bring_back(b: Bench, message_id: int) -> None:
    """What a person does to see a message again: makes room, expands level by level, and where that does not fit
    switches to a model with a larger window, as the refusal advises."""
    await b.session.conversations.summarize(b.conversation_id, None)
    try:
        while isinstance(piece := await piece_of(b, message_id), SummaryPiece):
            await b.session.conversations.expand(b.conversation_id, piece.summary.id)
    except InvalidRequest:
        engine = b.session.contexts
        large = replace(with_window(engine.models.get("offline"), 200_000), name="offline-large")
        engine.models = with_override(engine.models, large)
        await b.session.conversations.switch_model(b.conversation_id, large.name)
    assert isinstance(await piece_of(b, message_id), MessagePiece)


async def piece_of(b: Bench, message_id: int) -> Piece:
    return next(piece for piece in (await state_of(b)).pieces if piece.start <= message_id < piece.end)


@pytest.mark.parametrize(
    ("window", "is_written_by_model"), [(8_000, False), (16_000, True)], ids=["quotes", "vague model"]
)
async def test_summarization_quality(bench: Opener, window: int, is_written_by_model: bool) -> None:
    """Old content can still be referred to, even where the model that summarizes has nothing to say: rules stand in
    each request verbatim, and every exact word comes back when it is wanted."""
    b = await bench([], window=window, reserve=RESERVE)
    aim_high(b)
    if is_written_by_model:
        let_write(b, [says(VAGUE)] * 200, "hybrid")
    for number in range(44):
        early = EARLY[number][0] if number < len(EARLY) else f"Question {number}."
        b.provider.replies = [says(f"Answer {number}. " + talk(number, window // 9))]
        assert await b.ask(f"{early} " + talk(number, window // 80)) == "committed"
        request = text_of(b.provider.seen[-1])
        assert all(rule in request for rule, since in RULES.items() if since <= number), number
    assert_sound(b.provider.seen)
    summaries = await b.store.read(summary_tree.read, b.conversation_id)
    assert ("claude-haiku-4-5" in {summary.author for summary in summaries}) is is_written_by_model
    assert is_written_by_model or max(summary.level for summary in summaries) >= 2
    assert not any(isinstance(piece, MessagePiece) and piece.start < 8 for piece in (await state_of(b)).pieces)
    for number, (sentence, exact) in enumerate(EARLY):
        if not all(word in text_of(b.provider.seen[-1]) for word in exact):
            await bring_back(b, 2 * number)
            b.provider.replies = [says("I see it again.")]
            assert await b.ask("What was it, exactly?") == "committed"
            assert all(word in text_of(b.provider.seen[-1]) for word in [sentence, *exact])
    assert_sound(b.provider.seen)


# ------------------------------------------------------------------------------------------------ 7. TUI Responsiveness


Answer = TypeVar("Answer")


async def promptly(answer: Awaitable[Answer]) -> Answer:
    return await asyncio.wait_for(answer, TIMEOUT_S)


async def test_tui_responsiveness(bench: Opener) -> None:
    """While a summarizer is slow, every other request is answered, about this conversation and others, and events tell
    how far it is."""
    is_slow, may_go_on = asyncio.Event(), asyncio.Event()

    async def look(_: str) -> ToolOutput:
        return ToolOutput("valve 3 is open\n" * 60)

    b = await bench([], window=16_000, reserve=RESERVE, tools=(tool("look", look),))
    engine = b.session.contexts
    engine.settings = replace(engine.settings, strategies=("tool_calls",), tool_age=2)
    for question in ("Look at the valves.", "Look again."):
        b.provider.replies = [*(calls((f"{question}{n}", "look", "{}")) for n in range(10)), says("Open.")]
        assert await b.ask(question) == "committed"
    assert threshold_compactions(b) == 0
    let_write(b, [says(VAGUE), [is_slow.set, may_go_on, *says(VAGUE)]], "llm")
    n_before = len((await promptly(b.session.conversations.read(b.conversation_id, 0, 1000))).messages)

    b.provider.replies = [says("Yes."), says("Meanwhile.")]
    running = await b.session.turns.start(b.conversation_id, "r", user_message(await question_for(b, 12_000)))
    assert isinstance(running, RunningTurn)
    await promptly(is_slow.wait())
    usage = await promptly(usage_status(b.session.contexts, b.conversation_id))
    assert usage.usage.percentage > 80
    assert (await promptly(explain(b.session.contexts, b.conversation_id, None))).would_summarize
    page = await promptly(b.session.conversations.read(b.conversation_id, 0, 1000))
    assert len(page.messages) == n_before + 1
    other = await promptly(b.session.conversations.create("other", "offline"))
    elsewhere = await promptly(b.session.turns.start(other.id, "r2", user_message("Are you there?")))
    assert isinstance(elsewhere, RunningTurn)
    assert (await promptly(elsewhere.wait())).state == "committed"
    listed = await promptly(b.session.conversations.list())
    assert {record.id: turn for record, turn in listed} == {b.conversation_id: running.id, other.id: None}

    (start,) = happened(b, ContextEventType.SUMMARIZATION_START)
    assert start.current_tokens == usage.usage.used_tokens
    began, progress = happened(b, ContextEventType.SUMMARIZATION_PROGRESS)
    assert began.items_processed == 0
    assert 0 < (progress.items_processed or 0) < (progress.total_items or 0)
    assert not happened(b, ContextEventType.SUMMARIZATION_COMPLETE)

    may_go_on.set()
    assert (await promptly(running.wait())).state == "committed"
    (complete,) = happened(b, ContextEventType.SUMMARIZATION_COMPLETE)
    assert complete.new_token_count is not None
    assert complete.new_token_count < usage.usage.used_tokens
    assert_sound(b.provider.seen)


async def test_tui_responsiveness_a_slow_summary_can_be_cancelled(bench: Opener) -> None:
    """Nobody has to wait for a summary: the turn is cancelled, its message is kept, and the context is as it was."""
    is_slow = asyncio.Event()
    b = await with_history(bench, 8_000, threshold=0.80)
    let_write(b, [[is_slow.set, asyncio.Event()]], "llm")
    state = await state_of(b)
    question = await question_for(b, state.budget.budget - 500)
    running = await b.session.turns.start(b.conversation_id, "r", user_message(question))
    assert isinstance(running, RunningTurn)
    await promptly(is_slow.wait())
    running.cancel()
    assert (await promptly(running.wait())).state == "cancelled"
    assert threshold_compactions(b) == 0
    assert (await b.said())[-1][:2] == ("user", question)
    let_write(b, [says(VAGUE)] * 9, "llm")
    b.provider.replies = [says("Now.")]
    assert await promptly(b.ask("And now?")) == "committed"
    assert threshold_compactions(b) == 1
    assert_sound(b.provider.seen)
