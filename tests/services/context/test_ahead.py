"""What a model writes while nobody waits: begun once for each cut, adopted by a compaction only, dropped when what it
speaks of was hidden meanwhile, and never in the way of closing."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.services import summary_writers
from tests.services.scripted import Action, Bench, Opener, ScriptedProvider, open_bench, says
from tests.waiting import WAIT_S

from palimpsest.data import load_model_table
from palimpsest.data.prompts import load_prompts
from palimpsest.domain.context.cut import CutCause, SummaryPiece
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.summaries.hybrid import split_prose
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.domain.models.limits import Model, compute_budget
from palimpsest.domain.models.provider import Finished, StopReason, TextDelta, TokenUsage
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.services.context.compaction import AHEAD_SHARE
from palimpsest.services.context.reports import stats
from palimpsest.services.context.summaries.summarizers import (
    LlmSummarizer,
    PatientSummarizer,
    Summarizer,
    SummaryTask,
    Written,
)
from palimpsest.services.events import ContextEvent
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.models.helper import HelpingModel
from palimpsest.storage.context import summary_tree
from palimpsest.storage.context.summary_tree import NewSummary
from palimpsest.storage.lifecycle import purge as purging
from palimpsest.storage.store import open_store

TEXT = "I watched the pump for the user; it is wet."
USAGE = TokenUsage(input_tokens=70, cache_read_tokens=20, cache_write_tokens=10, output_tokens=7)


@dataclass
class Slow:
    """A model that writes when it is let."""

    may_write: asyncio.Event = field(default_factory=asyncio.Event)
    has_begun: asyncio.Event = field(default_factory=asyncio.Event)
    n_begun: int = 0
    n_ended: int = 0

    async def write(self, task: SummaryTask) -> Written:
        self.n_begun += 1
        self.has_begun.set()
        try:
            await self.may_write.wait()
        finally:
            self.n_ended += 1
        return Written(f"{TEXT} Text {self.n_begun}.", "llm", "slow", usage=USAGE)


def let_write(b: Bench, first: Summarizer, wait_s: float = 30) -> None:
    async def choose(_: Model, __: EditorId | None) -> Summarizer:
        return PatientSummarizer(first, wait_s, 60)

    b.session.contexts.choose_summarizer = choose


async def ask(b: Bench, n_turns: int = 1) -> None:
    for _ in range(n_turns):
        b.provider.replies = [says("The pump is on. " * 30)]
        request = f"Question {len(b.provider.seen)}. " + "It is wet. " * 20
        assert await b.ask(request) == "committed"


async def until_ahead(b: Bench) -> None:
    """Goes on until writing ahead of need begins."""
    state = await b.session.contexts.state(b.conversation_id)
    for _ in range(30):
        if state.written_ahead == state.cut.version:
            return
        await ask(b)
    raise AssertionError("nothing was written ahead")


async def settled(b: Bench) -> None:
    await asyncio.wait_for(b.session.folder.background.settle(b.conversation_id), WAIT_S)


async def until_compaction(b: Bench) -> None:
    before = n_compactions(b)
    for _ in range(20):
        if n_compactions(b) > before:
            return
        await ask(b)
    raise AssertionError("no compaction came")


def n_compactions(b: Bench) -> int:
    return sum(isinstance(e, ContextEvent) and e.type is ContextEventType.COMPACTION for e in b.events)


async def written(b: Bench) -> list[Summary]:
    return await b.store.read(summary_tree.read, b.conversation_id)


async def blocks(b: Bench) -> list[Summary]:
    state = await b.session.contexts.state(b.conversation_id)
    return [piece.summary for piece in state.pieces if isinstance(piece, SummaryPiece)]


async def test_a_summary_is_written_once_a_cut_before_it_is_needed_and_adopted_by_the_compaction_alone(
    bench: Opener,
) -> None:
    b = await bench([], window=4_000, reserve=500)
    model = Slow()
    model.may_write.set()
    let_write(b, model)
    await until_ahead(b)
    await settled(b)
    state = await b.session.contexts.state(b.conversation_id)
    assert state.cut.estimator.upper(state.raw_tokens) >= AHEAD_SHARE * state.budget.budget
    assert (model.n_begun, n_compactions(b)) == (1, 0)
    (ahead,) = await written(b)
    assert await blocks(b) == [], "what was written ahead was adopted without a compaction"
    while n_compactions(b) == 0:
        await ask(b)
        if n_compactions(b) == 0:
            assert model.n_begun == 1, "it was written twice for one cut"
    assert model.n_begun == 1, "the compaction asked the model again"
    assert [each.id for each in await blocks(b)] == [ahead.id]
    assert TEXT in b.provider.seen[-1].messages[0].text
    await until_ahead(b)
    await settled(b)
    assert model.n_begun == 2


async def test_a_text_written_ahead_stands_behind_a_page_that_the_compaction_chooses_of_all_its_messages(
    bench: Opener,
) -> None:
    b = await bench([], window=10_000, reserve=500)
    writer = summary_writers.let_write(b, [says(TEXT)] * 4, "hybrid")
    await until_ahead(b)
    await settled(b)
    (ahead,) = await written(b)
    assert (ahead.kind, ahead.text) == ("prose", TEXT)
    await until_compaction(b)
    assert len(writer.seen) == 1, "the model was asked about the few messages that came since"
    (block,) = await blocks(b)
    page, prose = split_prose(block.text)
    assert (block.kind, block.start) == ("hybrid", ahead.start)
    assert prose.endswith(TEXT)
    assert block.end > ahead.end
    assert any(f"- [{id}]" in page for id in range(ahead.end, block.end))
    state, contexts = await b.session.contexts.state(b.conversation_id), b.session.contexts
    assert contexts.due_tokens(state) == int(0.8 * state.budget.budget) + state.cut.estimator.upper(
        state.tokenizer.count(prose)
    )


async def test_a_text_alone_never_takes_the_place_of_a_page(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    await until_compaction(b)
    (page,) = await blocks(b)
    alone = NewSummary(page.start, page.end, 1, "prose", TEXT, page.original_tokens, "slow", (), 1)
    await b.store.run(summary_tree.write, b.conversation_id, alone, utc_now())
    state = await b.session.contexts.state(b.conversation_id)
    anew, _ = await b.session.contexts.chosen_anew(state, ())
    assert [piece.summary.id for piece in anew if isinstance(piece, SummaryPiece)] == [page.id]
    summary_writers.let_write(b, [says(TEXT)] * 20, "hybrid")
    await until_compaction(b)
    assert (await blocks(b))[0].kind != "prose"


@pytest.mark.parametrize("n_words", [30, 90, 150])
async def test_no_message_is_summarized_twice_however_far_what_was_written_ahead_reaches(
    bench: Opener, n_words: int
) -> None:
    """Where turns are large beside the window, what is written ahead covers only a part of what a compaction wants."""
    b = await bench([], window=6_000, reserve=500, context={"strategies": ("threshold",)})
    model = Slow()
    model.may_write.set()
    let_write(b, model)
    while n_compactions(b) < 5:
        b.provider.replies = [says("The pump is on. " * n_words)]
        assert await b.ask(f"Question {len(b.provider.seen)}. " + "It is wet. " * n_words) == "committed"
        await settled(b)
    found = sorted((each.start, each.end) for each in await written(b))
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(found)), found


async def test_who_is_far_from_the_threshold_has_nothing_written(bench: Opener) -> None:
    b = await bench([], window=16_000, reserve=500)
    model = Slow()
    let_write(b, model)
    await ask(b, 6)
    assert (model.n_begun, await written(b)) == (0, [])


async def test_what_a_summary_cost_stands_on_it_and_in_the_statistics(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    model = Slow()
    model.may_write.set()
    let_write(b, model)
    await until_ahead(b)
    await settled(b)
    (cost,) = (await stats(b.session.contexts, b.conversation_id)).summaries
    assert (cost.kind, cost.n_summaries, cost.input_tokens, cost.output_tokens) == ("llm", 1, 100, 7)
    assert cost.duration_ms >= 0
    await until_compaction(b)
    (again,) = (await stats(b.session.contexts, b.conversation_id)).summaries
    assert again == cost, "adopting it cost something"


async def test_the_cost_of_a_real_models_text_counts_every_call_for_it(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    faulty: list[Action] = [
        TextDelta("I can't help with that."),
        Finished(StopReason.END, TokenUsage(input_tokens=50, output_tokens=3)),
    ]
    good: list[Action] = [TextDelta(TEXT), Finished(StopReason.END, USAGE)]
    provider = ScriptedProvider([faulty, good])
    writer = load_model_table().find("offline")
    assert writer is not None
    tokenizer = await b.session.contexts.tokenizers.get(writer.tokenizer)
    helper = HelpingModel(provider, writer, compute_budget(writer.limits), tokenizer.count)
    let_write(b, LlmSummarizer(helper, load_prompts()))
    await until_ahead(b)
    await settled(b)
    (cost,) = (await stats(b.session.contexts, b.conversation_id)).summaries
    assert (cost.n_summaries, cost.input_tokens, cost.output_tokens) == (1, 150, 10)


@pytest.mark.parametrize("is_ahead", [True, False])
async def test_what_a_model_took_for_texts_that_were_refused_is_in_the_account(bench: Opener, is_ahead: bool) -> None:
    b = await bench([], window=4_000, reserve=500)
    faulty: list[Action] = [
        TextDelta("I can't help with that."),
        Finished(StopReason.END, TokenUsage(input_tokens=50, output_tokens=3)),
    ]
    provider = ScriptedProvider([list(faulty) for _ in range(2)])
    writer = load_model_table().find("offline")
    assert writer is not None
    tokenizer = await b.session.contexts.tokenizers.get(writer.tokenizer)
    helper = HelpingModel(provider, writer, compute_budget(writer.limits), tokenizer.count)
    if is_ahead:
        let_write(b, LlmSummarizer(helper, load_prompts()))
        await until_ahead(b)
    else:
        await until_ahead(b)
        let_write(b, LlmSummarizer(helper, load_prompts()))
        await until_compaction(b)
    await settled(b)
    cost = (await stats(b.session.contexts, b.conversation_id)).summaries[-1]
    assert (cost.kind, cost.n_summaries, cost.input_tokens, cost.output_tokens) == ("refused", 1, 100, 6)


async def test_a_text_that_came_too_late_stands_in_its_place_after_the_next_compaction(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    model = Slow()
    let_write(b, model, wait_s=0.01)
    await until_compaction(b)
    (quoted,) = await blocks(b)
    assert (quoted.kind, quoted.author) == ("extractive", "palimpsest")
    notes = [e.error or "" for e in b.events if isinstance(e, ContextEvent) and e.error]
    assert any("within 0.01 seconds" in note for note in notes)
    model.may_write.set()
    await settled(b)
    late = [each for each in await written(b) if each.author == "slow" and each.end == quoted.end]
    assert late
    assert [each.id for each in await blocks(b)] == [quoted.id], "a text was adopted between compactions"
    await until_compaction(b)
    first = (await blocks(b))[0]
    assert (first.start, first.end, first.author) == (quoted.start, quoted.end, "slow")
    assert quoted.id in {each.id for each in await written(b)}, "a summary was deleted"


@pytest.mark.parametrize("is_ahead", [True, False])
async def test_a_text_about_what_was_rolled_back_meanwhile_is_dropped(bench: Opener, is_ahead: bool) -> None:
    b = await bench([], window=4_000, reserve=500)
    model = Slow()
    let_write(b, model, wait_s=0.01)
    await (until_ahead(b) if is_ahead else until_compaction(b))
    await asyncio.wait_for(model.has_begun.wait(), WAIT_S)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(1))
    model.may_write.set()
    await settled(b)
    assert model.n_begun > 0
    assert [each for each in await written(b) if each.author == "slow"] == []


async def test_what_is_written_about_messages_before_a_roll_back_is_kept(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)
    model = Slow()
    let_write(b, model)
    await until_ahead(b)
    await asyncio.wait_for(model.has_begun.wait(), WAIT_S)
    state = await b.session.contexts.state(b.conversation_id)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(state.n_messages - 2))
    model.may_write.set()
    await settled(b)
    assert [each.author for each in await written(b)] == ["slow"]


@pytest.mark.parametrize("is_ahead", [True, False])
async def test_closing_stops_what_is_being_written_before_the_store_closes(tmp_path: Path, is_ahead: bool) -> None:
    b = await open_bench(tmp_path, [], window=4_000, reserve=500)
    model = Slow()
    let_write(b, model, wait_s=0.01)
    await (until_ahead(b) if is_ahead else until_compaction(b))
    await asyncio.wait_for(model.has_begun.wait(), WAIT_S)
    await asyncio.wait_for(b.session.folder.close(), WAIT_S)
    assert (model.n_ended, model.n_begun > 0) == (model.n_begun, True), "something still runs"


async def test_what_was_started_just_before_closing_begins_and_cleans_up() -> None:
    background, reached = Background(), list[str]()

    async def work() -> None:
        reached.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            reached.append("ended")

    background.start(ConversationId("c"), work())
    async with asyncio.timeout(WAIT_S):  # awaited by no task of its own, which would give the work time to begin
        await background.close()
    assert reached == ["begun", "ended"]
    await asyncio.wait_for(background.settle(ConversationId("c")), WAIT_S)


async def test_what_another_server_purges_meanwhile_is_sent_to_no_model(bench: Opener) -> None:
    """Its purge stops nothing here; the first call is under way, and a second one would follow."""
    b = await bench([], window=4_000, reserve=500)
    gate, is_asked = asyncio.Event(), asyncio.Event()
    refusal: list[Action] = [TextDelta("I can't help with that."), Finished(StopReason.END, USAGE)]
    provider = ScriptedProvider([[is_asked.set, gate, *refusal], [TextDelta(TEXT), Finished(StopReason.END, USAGE)]])
    writer = load_model_table().find("offline")
    assert writer is not None
    tokenizer = await b.session.contexts.tokenizers.get(writer.tokenizer)
    helper = HelpingModel(provider, writer, compute_budget(writer.limits), tokenizer.count)
    let_write(b, LlmSummarizer(helper, load_prompts()))
    await until_ahead(b)
    await asyncio.wait_for(is_asked.wait(), WAIT_S)
    other = await open_store(b.store.directory)
    try:
        whole = (MessageId(0), MessageId(2))
        await other.run(purging.purge, other.writer(utc_now()), b.conversation_id, whole)
    finally:
        await other.close()
    gate.set()
    await settled(b)
    assert len(provider.seen) == 1
    assert await written(b) == []


async def test_a_model_that_fails_in_the_background_hurts_nobody(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500)

    class Broken:
        async def write(self, task: SummaryTask) -> Written:
            raise RuntimeError("broken")

    let_write(b, Broken())
    await until_ahead(b)
    await settled(b)
    assert await written(b) == []


async def test_with_summaries_switched_off_nothing_is_written_ahead(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500, context={"infinity": False})
    model = Slow()
    let_write(b, model)
    await ask(b, 16)
    assert (model.n_begun, await written(b)) == (0, [])
    causes = (await stats(b.session.contexts, b.conversation_id)).compactions
    assert causes[0][0] is CutCause.THRESHOLD
