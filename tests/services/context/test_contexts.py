"""The context engine: requests fit, prefixes hold, compactions make room, switches restore."""

from __future__ import annotations

import itertools
import random
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.context.cut import MessagePiece, SummaryPiece, is_partition
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.model_switch import Expanding, Shrinking
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.summaries.node import OPENING
from palimpsest.domain.context.tokens import Certainty
from palimpsest.domain.errors import InvalidRequest, NotFound, SummarizationNeeded
from palimpsest.domain.messages import MessageId
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.models.provider import Finished, StopReason, StreamEvent, TextDelta, TokenUsage
from palimpsest.services.context import engine as engines
from palimpsest.services.context.engine import MAX_STATES
from palimpsest.services.context.reports import explain, usage_status
from palimpsest.services.events import ContextEvent
from palimpsest.services.maintenance.replay import pairs_are_whole
from palimpsest.services.models.catalog import with_override
from palimpsest.storage.context import summary_tree


async def long_talk(bench: Opener, n_turns: int, window: int = 4_000, seed: int = 7) -> Bench:
    """A conversation of answers of random length; its seed is in the failure's captured output."""
    print(f"seed {seed}")  # noqa: T201
    chance = random.Random(seed)
    replies = [says(f"Answer {n}. " + "The pump is on. " * chance.randint(1, 60)) for n in range(n_turns)]
    b = await bench(replies, window=window, reserve=500)
    for number in range(n_turns):
        text = f"Question {number}: always check value_{number}. " + "It is wet. " * chance.randint(1, 30)
        assert await b.ask(text) == "committed"
    return b


def compactions(b: Bench) -> list[ContextEvent]:
    return [e for e in b.events if isinstance(e, ContextEvent) and e.type is ContextEventType.COMPACTION]


async def test_between_compactions_a_request_begins_with_the_one_before(bench: Opener) -> None:
    b = await long_talk(bench, 60)
    requests: list[PreparedContext] = b.provider.seen
    n_broken = 0
    for before, after in itertools.pairwise(requests):
        assert after.upper_tokens <= after.limit_tokens
        n_broken += after.lines()[: len(before.lines())] != before.lines()
    assert 0 < n_broken <= len(compactions(b))
    assert all(event.cause == "threshold" for event in compactions(b))


async def test_blocks_are_appended_and_older_ones_stay_byte_identical(bench: Opener) -> None:
    b = await long_talk(bench, 40)
    with_blocks = [[m for m in c.messages if m.text.startswith(OPENING)] for c in b.provider.seen]
    grown = [(x, y) for x, y in itertools.pairwise(with_blocks) if len(y) > len(x) > 0]
    assert grown, "no compaction added a block behind another"
    assert all(y[: len(x)] == x for x, y in grown)


async def test_a_compaction_makes_the_context_smaller_or_changes_nothing(bench: Opener) -> None:
    b = await long_talk(bench, 60)
    done = [e for e in b.events if isinstance(e, ContextEvent) and e.type is ContextEventType.SUMMARIZATION_COMPLETE]
    assert done
    assert all((event.tokens_saved or 0) > 0 for event in done)
    summaries = await b.store.read(summary_tree.read, b.conversation_id)
    state = await b.session.contexts.state(b.conversation_id)
    assert all(state.tokenizer.count(s.text) < s.original_tokens for s in summaries)
    assert max(s.level for s in summaries) >= 2, "blocks were never merged"


async def test_another_frame_is_a_compaction_only_for_a_conversation_that_was_sent_under_the_first(
    bench: Opener,
) -> None:
    b = await bench([says("One."), says("Two.")])
    await b.session.contexts.state(b.conversation_id)
    frame = b.frame
    for text in ("First?", "Second?"):
        frame = b.frame = replace(frame, system=frame.system + " Be brief.")
        assert await b.ask(text) == "committed"
        assert b.provider.seen[-1].system == frame.system
        assert [event.cause for event in compactions(b)] == (["frame"] if text == "Second?" else [])


async def test_a_restart_continues_with_the_same_context(bench: Opener) -> None:
    b = await long_talk(bench, 30)
    before = (await b.session.contexts.state(b.conversation_id)).pieces
    b.session.contexts.forget(b.conversation_id)
    state = await b.session.contexts.state(b.conversation_id)
    assert state.pieces == before
    assert is_partition(state.pieces, 60)


async def test_explaining_changes_nothing_and_says_why(bench: Opener) -> None:
    b = await long_talk(bench, 30)
    state = await b.session.contexts.state(b.conversation_id)
    pieces, version = list(state.pieces), state.cut.version
    plan = await explain(b.session.contexts, b.conversation_id, "next question")
    assert plan.problem is None
    assert {s.type for s in plan.segments} >= {"system", "summary", "message"}
    assert all(s.reason for s in plan.segments)
    assert sum(s.tokens for s in plan.segments) == plan.used_tokens
    too_much = await explain(b.session.contexts, b.conversation_id, "word " * 2_300)
    assert isinstance(too_much.problem, SummarizationNeeded)
    assert too_much.problem.excess_tokens == too_much.upper_tokens - too_much.limit_tokens > 0
    assert (state.pieces, state.cut.version) == (pieces, version)


async def test_usage_adds_up(bench: Opener) -> None:
    b = await long_talk(bench, 30)
    report = await usage_status(b.session.contexts, b.conversation_id)
    assert sum(tokens for _, tokens in report.by_kind) == report.usage.used_tokens
    assert report.n_messages == 60
    assert report.certainty is Certainty.EXACT
    assert report.last_summary_at is not None


async def test_summarizing_a_range_widens_it_and_keeps_the_newest(bench: Opener) -> None:
    b = await bench([says(f"Answer {n}. " * 60) for n in range(8)], window=32_000)
    for number in range(8):
        await b.ask(f"Question {number}. " * 30)
    done = await b.session.conversations.summarize(b.conversation_id, (MessageId(2), MessageId(5)))
    assert done.block is not None
    assert (done.block.start, done.block.end) == (2, 5)
    assert done.tokens_after < done.tokens_before
    over = await b.session.conversations.summarize(b.conversation_id, (MessageId(4), MessageId(16)))
    assert over.block is not None
    assert (over.block.start, over.block.end) == (2, 12)
    assert over.block.summary.children == (done.block.summary.id,)
    nothing = await b.session.conversations.summarize(b.conversation_id, (MessageId(13), MessageId(16)))
    assert (nothing.block, nothing.tokens_after) == (None, nothing.tokens_before)
    with pytest.raises(InvalidRequest, match="not a range"):
        await b.session.conversations.summarize(b.conversation_id, (MessageId(5), MessageId(99)))


async def test_a_switch_up_restores_originals_and_a_switch_down_still_fits(bench: Opener) -> None:
    b = await long_talk(bench, 40)
    contexts = b.session.contexts
    small = contexts.models.get("offline")
    large = with_window(small, 200_000)
    contexts.models = with_override(contexts.models, replace(large, name="offline-large"))
    before = await contexts.state(b.conversation_id)
    n_covered = sum(p.end - p.start for p in before.pieces if isinstance(p, SummaryPiece))
    up = await b.session.conversations.switch_model(b.conversation_id, "offline-large")
    small_budget, large_budget = before.budget.budget, contexts.models.budget(large).budget
    assert up.adaptation == Expanding(small_budget, large_budget, n_covered)
    state = await contexts.state(b.conversation_id)
    assert all(isinstance(piece, MessagePiece) for piece in state.pieces)
    down = await b.session.conversations.switch_model(b.conversation_id, "offline")
    assert down.adaptation == Shrinking(large_budget, small_budget, needs_summarization=False)
    b.provider.replies = [says("here")]
    assert await b.ask("still there?") == "committed"
    assert pairs_are_whole(b.provider.seen[-1].messages)
    causes = [event.cause for event in compactions(b)]
    assert causes.count("model") == 2
    assert (await b.session.conversations.read(b.conversation_id, None, None)).record.model == "offline"


async def test_behind_a_switch_up_blocks_that_cannot_be_restored_name_more(bench: Opener) -> None:
    """What was written for a small window would stay as small until it is merged."""
    files = [[f"src/part_{n}/file_{n}_{k}.py" for k in range(6)] for n in range(60)]
    b = await bench(
        [says(f"I changed {', '.join(each)}. Each calls check_{n}() now. " * 12) for n, each in enumerate(files)],
        window=9_000,
    )
    for n, each in enumerate(files):
        await b.ask(f"Please change {' and '.join(each)} so that handle_{n} is called. " * 6)
    contexts = b.session.contexts
    larger = replace(with_window(contexts.models.get("offline"), 18_000), name="offline-larger")
    contexts.models = with_override(contexts.models, larger)

    async def named(model: str) -> float:
        """The share of the files in the messages behind blocks that the blocks name."""
        await b.session.conversations.switch_model(b.conversation_id, model)
        blocks = [p for p in (await contexts.state(b.conversation_id)).pieces if isinstance(p, SummaryPiece)]
        text = "\n".join(each.content.text for each in blocks)
        behind = {i // 2 for each in blocks for i in range(each.start, each.end)}
        names = [name for n in behind for name in files[n]]
        return sum(name in text for name in names) / len(names)

    before = await named("offline")
    assert await named("offline-larger") > 1.2 * before
    assert (await contexts.state(b.conversation_id)).estimate.upper <= contexts.models.budget(larger).budget


async def test_unknown_and_unconfigured_models_are_told_apart(bench: Opener) -> None:
    b = await bench([])
    with pytest.raises(NotFound, match="no model 'frobnicator'"):
        await b.session.conversations.switch_model(b.conversation_id, "frobnicator")
    with pytest.raises(NotFound, match="cannot be used yet"):
        await b.session.conversations.switch_model(b.conversation_id, "claude-opus-4-5")


async def test_what_the_user_ruled_stays_in_every_request_verbatim(bench: Opener) -> None:
    rules = {0: "Never use tabs in this project.", 3: "From now on, always run the linter before you commit."}
    replies = [says(f"Answer {n}. " + "The pump is on. " * 60) for n in range(60)]
    b = await bench(replies, window=4_000, reserve=500)
    for number in range(60):
        text = f"Question {number}. " + "It is wet. " * 20
        assert await b.ask(f"{rules[number]} {text}" if number in rules else text) == "committed"
        said = "\n".join(message.text for message in b.provider.seen[-1].messages)
        assert all(rule in said for at, rule in rules.items() if at <= number), number
    summaries = await b.store.read(summary_tree.read, b.conversation_id)
    assert max(summary.level for summary in summaries) >= 2, "the rules were never merged"


async def test_what_answers_teach_about_counting_is_kept_and_taken_up_at_the_next_compaction(bench: Opener) -> None:
    b = await bench([])
    stream = b.provider.stream

    async def reported(context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        """Says that the request took half as much again as was counted."""
        async for event in stream(context):
            yield event
        counted = (await b.session.contexts.state(b.conversation_id)).raw_tokens
        yield Finished(StopReason.END, TokenUsage(counted * 3 // 2))

    b.provider.stream = reported  # type: ignore[method-assign]
    for number in range(30):
        b.provider.replies = [[TextDelta("word " * 400)]]
        assert await b.ask(f"question {number} " * 100) == "committed"
    state = await b.session.contexts.state(b.conversation_id)
    assert state.cut.estimator.factor == 1.0, "a cut keeps the estimator it was chosen with"
    learned = state.model.estimator
    assert learned.mean(10_000) == pytest.approx(15_000, rel=0.1)
    b.session.contexts.forget(b.conversation_id)
    state = await b.session.contexts.state(b.conversation_id)
    assert state.model.estimator == learned
    done = await b.session.conversations.summarize(b.conversation_id, None)
    assert done.block is not None
    assert (await b.session.contexts.state(b.conversation_id)).cut.estimator == learned


async def test_of_many_conversations_the_last_used_and_the_written_stay_in_memory(bench: Opener) -> None:
    b = await bench([])
    engine, conversations = b.session.contexts, b.session.conversations
    ids = [(await conversations.create(f"{n}", None)).id for n in range(MAX_STATES + 2)]
    async with engine.writing(ids[0], "a test", lambda _: None) as written:
        for each in (*ids[1:], ids[2]):
            await engine.state(each)
        assert await engine.state(ids[0]) is written.state
        assert set(engine._states) == {*ids} - {ids[1], ids[3]}


async def test_of_long_conversations_the_longest_leave_memory_and_short_ones_stay(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "MAX_PIECES", 10)
    b = await bench([says("Yes.") for _ in range(9)])
    engine, conversations = b.session.contexts, b.session.conversations
    by_length, numbers = {}, itertools.count()
    for n_turns in (1, 2, 3, 3):
        b.conversation_id = (await conversations.create("", None)).id
        for _ in range(n_turns):
            assert await b.ask(f"Question {next(numbers)}: is the pump on?") == "committed"
        by_length[b.conversation_id] = 2 * n_turns
        n_pieces = [len(state.pieces) for state in engine._states.values()]
        assert sum(n_pieces) <= 10
    *_, longer, newest = by_length
    assert longer not in engine._states
    assert [by_length[each] for each in engine._states] == [2, 6]
    assert newest in engine._states
    assert len((await engine.state(longer)).pieces) == 6
