"""What is assumed of a model that an editor offers: its limits, the user's before them, and never an exact count."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.services.scripted import Opener, says

from palimpsest.data import load_model_table
from palimpsest.domain.context.measured import Estimate
from palimpsest.domain.context.prepared import PreparedContext, Segment
from palimpsest.domain.context.request_layout import Frame, lay_out
from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.domain.models.limits import LimitsSource, Model
from palimpsest.domain.models.provider import StreamEvent, TextDelta
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.context.summaries.summarizers import PatientSummarizer, Summarizer, SummaryTask, Written
from palimpsest.services.models.catalog import Models
from palimpsest.services.models.editor_models import EditorId, EditorModel, EditorModels
from palimpsest.services.turns.running import RunningTurn

GPT = EditorModel("copilot/one", 64_000, 4_000, "gpt-4o", takes_tools=True)
NAME = "editor/copilot/one"


class Host:
    """An editor that is never asked."""

    id = EditorId("never")

    def complete(self, model: EditorModel, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        raise AssertionError("asked")


def models(*offered: EditorModel, **entries: Any) -> tuple[Models, EditorModels, Host]:
    offers, host = EditorModels(), Host()
    offers.offer(host, offered)
    return Models(load_model_table(), {}, {}, Settings(model="offline"), offered=offers, **entries), offers, host


def test_its_tokens_are_counted_as_its_familys_and_never_exactly() -> None:
    known, offers, host = models(GPT)
    model = known.get(NAME)
    assert load_model_table().find("gpt-4o").is_exact  # type: ignore[union-attr]
    assert (model.tokenizer, model.is_exact) == ("o200k_base", False)
    offers.offer(host, [EditorModel("copilot/one", 64_000, None, "", takes_tools=True)])
    assert known.get(NAME).tokenizer == "cl100k_base"


def test_what_the_user_says_of_it_counts_before_what_its_editor_says() -> None:
    told = models(GPT)[0].get(NAME)
    assert (told.limits.window, told.source) == (64_000, LimitsSource.LIVE)
    known, _, _ = models(
        GPT, model_entries={NAME: {"window": 32_000}}, provider_entries={"editor": {"max_output": 999}}
    )
    model = known.get(NAME)
    assert (model.limits.window, model.limits.max_output, model.source) == (32_000, 999, LimitsSource.OVERRIDE)


def test_limits_outlive_the_offer_and_availability_does_not() -> None:
    known, offers, host = models(GPT)
    assert [choice.is_available for choice in known.choices() if choice.model.name == NAME] == [True]
    offers.withdraw(host)
    assert known.get(NAME).limits.window == 64_000
    assert not known.choice(known.get(NAME)).is_available
    assert NAME not in [choice.model.name for choice in known.choices()]


def test_its_name_is_not_doubted_and_one_like_it_is() -> None:
    known, _, _ = models(GPT)
    assert known.doubt(NAME) is None
    assert NAME in str(known.doubt("editor/copilot/ona"))


@pytest.mark.parametrize("model_id", ["", " ", " a", "a\nb", "a" * 201])
def test_a_name_that_nobody_could_type_is_not_taken(model_id: str) -> None:
    _, offers, host = models(GPT)
    offers.offer(host, [EditorModel(model_id, 64_000, None, "", takes_tools=True)])
    assert offers.names() == []


class Answering(Host):
    """An editor that says its own id."""

    def __init__(self, editor_id: str) -> None:
        self.id = EditorId(editor_id)

    async def complete(self, model: EditorModel, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        yield TextDelta(self.id)


async def test_the_editor_whose_work_it_is_is_asked_and_the_first_where_it_does_not_offer_the_model() -> None:
    known, offers, _ = models()
    hosts = [Answering("one"), Answering("two")]
    for host in hosts:
        offers.offer(host, [GPT])
    model = known.get(NAME)
    frame, estimate = Frame("You help.", ()), Estimate(1, 1)
    segments = (Segment("system", 1, "always first", ()),)
    context = lay_out(
        ConversationId("c"),
        model.service_name,
        frame,
        segments,
        estimate,
        limit_tokens=10,
        max_output_tokens=1,
        window_tokens=20,
    )

    async def asked(editor_id: str | None) -> str:
        provider = known.provider(model, None if editor_id is None else EditorId(editor_id))
        return "".join([event.text async for event in provider.stream(context) if isinstance(event, TextDelta)])

    assert [await asked(each) for each in ("two", "one", None, "gone")] == ["two", "one", "one", "one"]
    offers.withdraw(hosts[0])
    assert [await asked(each) for each in ("two", "one", None)] == ["two", "two", "two"]


async def test_what_a_turn_leaves_to_the_background_is_done_for_the_editor_of_the_turn(bench: Opener) -> None:
    b = await bench([], window=8_000, reserve=1_000)
    chosen_for: list[EditorId | None] = []
    has_begun = asyncio.Event()

    class Writing:
        async def write(self, task: SummaryTask) -> Written:
            has_begun.set()
            await asyncio.Event().wait()
            raise AssertionError

    async def choose(_: Model, asked_by: EditorId | None) -> Summarizer:
        chosen_for.append(asked_by)
        return PatientSummarizer(Writing(), 30, 60)

    b.session.contexts.choose_summarizer = choose
    number = 0
    while not has_begun.is_set():
        number += 1
        b.provider.replies = [says("The pump is on. " * 30)]
        content = user_message(f"Question {number}. " + "It is wet. " * 20)
        asked_by = EditorId(f"editor {number % 2}")
        running = await b.session.turns.start(b.conversation_id, f"r{number}", content, asked_by)
        assert isinstance(running, RunningTurn)
        assert running.asked_by == asked_by
        await running.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(has_begun.wait(), 0.2 if chosen_for else 0)
    assert chosen_for == [asked_by]
