"""What compaction has done and what it cost adds up: the stored numbers are those the events told."""

from __future__ import annotations

from tests.services.scripted import Bench, Opener, calls, says

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.messages import MessageId
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.context.reports import ContextStats, stats, usage_status
from palimpsest.services.events import ContextEvent
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.storage.context import statistics, summary_tree


async def read(_: str) -> ToolOutput:
    return ToolOutput("some line of code\n" * 60)


READ = Tool(ToolSchema("read", "read", {"type": "object"}), read)


def events(b: Bench, type: ContextEventType) -> list[ContextEvent]:
    return [e for e in b.events if isinstance(e, ContextEvent) and e.type is type]


async def session(bench: Opener) -> Bench:
    """Tool work, then talk, then a summary on request."""
    settings = {"strategies": ("tool_calls", "threshold", "goal_batch"), "tool_age": 3, "target_ratio": 0.4}
    b = await bench([], window=4_000, reserve=500, tools=(READ,), context=settings)
    for number in range(8):
        named = [calls((f"{number}-{n}", "read", "{}")) for n in range(2)]
        b.provider.replies = [*named, says("Read.")]
        assert await b.ask(f"Read file {number}.") == "committed"
    for number in range(24):
        b.provider.replies = [says(" ".join(f"Pump {number}-{n} is on, valve {n} is shut." for n in range(30)))]
        assert await b.ask(f"Question {number}: is value_{number} wet?") == "committed"
    state = await b.session.contexts.state(b.conversation_id)
    first = next(piece.start for piece in reversed(state.pieces[:-6]))
    await b.session.conversations.summarize(b.conversation_id, (first, MessageId(state.n_messages)))
    return b


async def stats_of(b: Bench) -> ContextStats:
    return await stats(b.session.contexts, b.conversation_id)


async def test_what_each_strategy_saved_is_the_sum_of_what_its_events_told(bench: Opener) -> None:
    b = await session(bench)
    found = await stats_of(b)
    assert {each.name for each in found.strategies} == {"tool_calls", "threshold", "goal_batch", "manual"}
    assert [each.name for each in found.strategies] == sorted(each.name for each in found.strategies)
    done = events(b, ContextEventType.SUMMARIZATION_COMPLETE)
    for each in found.strategies:
        told = [event.tokens_saved or 0 for event in done if event.strategy == each.name]
        assert (each.n_fired, each.tokens_saved) == (len(told), sum(told))
        assert each.tokens_saved > 0
    assert all((event.tokens_saved or 0) > 0 for event in done), "a strategy that did nothing is said to have fired"


async def test_compactions_are_counted_by_their_cause_and_take_what_their_summaries_saved(bench: Opener) -> None:
    b = await session(bench)
    found = await stats_of(b)
    causes = [event.cause for event in events(b, ContextEventType.COMPACTION)]
    assert dict(found.compactions) == {
        CutCause.THRESHOLD: causes.count("threshold"),
        CutCause.USER: causes.count("user"),
    }
    reports = [report for _, report in await b.store.read(statistics.compaction_reports, b.conversation_id)]
    assert [report.tokens_after for report in reports] == [
        event.new_token_count for event in events(b, ContextEventType.COMPACTION)
    ]
    for report in reports:
        assert report.tokens_before - report.tokens_after == sum(report.saved.values())
    assert found.duration_ms == sum(report.duration_ms for report in reports)


async def test_the_time_line_has_each_request_and_each_compaction_behind_what_led_to_it(bench: Opener) -> None:
    b = await session(bench)
    found = (await stats_of(b)).moments
    assert [each.at for each in found] == sorted(each.at for each in found)
    compactions = [each for each in found if each.cause is not None]
    reports = await b.store.read(statistics.compaction_reports, b.conversation_id)
    assert [(each.cause, each.tokens_before, each.tokens) for each in compactions] == [
        (cause, report.tokens_before, report.tokens_after) for cause, report in reports
    ]
    requests = [each for each in found if each.cause is None]
    assert len(requests) == len(b.provider.seen) > len(compactions) > 0
    assert all(each.tokens > 0 and each.tokens_before is None for each in requests)
    assert await b.store.read(statistics.moments, b.conversation_id, 5) == list(found[-5:])


async def test_every_summary_is_in_the_costs_of_its_kind(bench: Opener) -> None:
    b = await session(bench)
    found = await stats_of(b)
    written = await b.store.read(summary_tree.read, b.conversation_id)
    assert sum(each.n_summaries for each in found.summaries) == len(written)
    assert {each.kind for each in found.summaries} == {each.kind for each in written} == {"extractive"}
    assert [(each.input_tokens, each.output_tokens) for each in found.summaries] == [(0, 0)]


async def test_a_conversation_that_was_never_compacted_has_only_its_requests_to_tell(bench: Opener) -> None:
    b = await bench([says("Hello.")])
    await b.ask("Hello")
    found = await stats_of(b)
    (request,) = found.moments
    assert found == ContextStats((), (), 0, (), (request,), found.sent)
    assert (found.sent.n_requests, request.cached_tokens) == (0, None), "its service has not counted it"
    assert request.cause is None


async def test_usage_counts_the_messages_that_the_context_stands_for(bench: Opener) -> None:
    b = await bench([says(f"Answer {n}. " * 60) for n in range(4)], window=32_000)
    for number in range(4):
        await b.ask(f"Question {number}. " * 30)
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(4)))
    assert (await usage_status(b.session.contexts, b.conversation_id)).n_messages == 8
    await b.session.conversations.roll_back(b.conversation_id, MessageId(6))
    report = await usage_status(b.session.contexts, b.conversation_id)
    assert (report.n_messages, report.last_summary_at is not None) == (6, True)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(2))
    report = await usage_status(b.session.contexts, b.conversation_id)
    assert (report.n_messages, report.last_summary_at) == (2, None)
