"""The parts that need no key; the models are scripted."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import pytest
from benchmarks.conversation import Setup
from benchmarks.driving.sessions import SessionSystem, WrittenSummary
from benchmarks.sessions.agreement import made_up_session
from benchmarks.sessions.recording import Session
from benchmarks.sessions.scripted_models import ScriptedModel, faithful
from benchmarks.summaries_live.__main__ import find_model, judge_with, provider_of, report
from benchmarks.summaries_live.judging import CRITERIA, RUBRIC, Judgment, read_answer, request_about, spread, table

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.models.provider import Finished, StopReason, StreamEvent, TextDelta, TokenUsage

ALL_TWO = dict.fromkeys(CRITERIA, 2)


@dataclass
class Judge:
    """Gives every summary the same answer."""

    answer: str
    name: str = "judge"
    seen: list[PreparedContext] = field(default_factory=list)

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        self.seen.append(context)
        yield TextDelta(self.answer)
        yield Finished(StopReason.END, TokenUsage())


def test_the_example_in_the_rubric_names_every_criterion() -> None:
    assert CRITERIA == ("goal", "decisions", "state", "outcomes", "open", "truth", "economy")
    assert read_answer(RUBRIC[RUBRIC.index("{") :]) is not None


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "My judgment: {} Thank you."])
def test_points_are_read_wherever_the_object_is(around: str) -> None:
    answer = around.replace("{}", json.dumps({**ALL_TWO, "goal": 0, "why": "it names no goal"}))

    assert read_answer(answer) == Judgment({**ALL_TWO, "goal": 0})


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "fine",
        "[2, 2]",
        "{broken",
        json.dumps({**ALL_TWO, "goal": 3}),
        json.dumps({**ALL_TWO, "goal": True}),
        json.dumps({**ALL_TWO, "goal": "2"}),
        json.dumps({name: 2 for name in CRITERIA[1:]}),
    ],
)
def test_an_answer_without_points_for_every_criterion_is_not_read(answer: str) -> None:
    assert read_answer(answer) is None


def test_summaries_are_taken_evenly_from_the_first_to_the_last() -> None:
    summaries = [WrittenSummary("hybrid", str(number), ()) for number in range(10)]

    assert [each.text for each in spread(summaries, 4)] == ["0", "3", "6", "9"]
    assert spread(summaries[:2], 4) == summaries[:2]


def test_the_table_is_in_percent_of_the_best_and_counts_what_could_not_be_read() -> None:
    said = table({"a model": [Judgment(ALL_TWO), Judgment({**ALL_TWO, "goal": 1}), None], "another": [None]})

    assert said.splitlines()[1].split() == ["a", "model", "75", *["100"] * 6, "2", "1"]
    assert said.splitlines()[2].split() == ["another", *["-"] * 7, "0", "1"]


def test_a_judge_is_shown_the_messages_of_a_summary_and_the_summary_behind_gutters() -> None:
    system = SessionSystem(4_000, Setup())
    try:
        for message in made_up_session():
            system.append(message)
            system.context()
        summary = system.summaries()[0]
    finally:
        system.close()

    request = request_about(summary)

    assert f"[{summary.originals[0].message.id}] user\n| " in request
    assert "\nThe summary:\n| ## " in request


def test_a_run_prints_measures_and_points_with_and_without_the_model() -> None:
    judge = Judge(json.dumps(ALL_TWO))
    setups = {"without a model": Setup(recalls=True), "scripted": Setup(summaries_by=ScriptedModel(faithful))}
    session = Session("made up", tuple(made_up_session()))

    said = report([session], setups, judge_with(find_model("offline"), judge), 4_000, 0, 2)

    assert len(judge.seen) == 4
    assert all(context.system == RUBRIC for context in judge.seen)
    rubric = said.split("by the rubric\n")[1].splitlines()
    assert [line.split()[-9:] for line in rubric[1:]] == [[*["100"] * 7, "2", "0"]] * 2


def test_a_model_without_a_key_is_refused_with_the_name_of_its_variable() -> None:
    with pytest.raises(SystemExit, match="ANTHROPIC_API_KEY"):
        provider_of(find_model("claude-opus-5-5"), {})
    with pytest.raises(SystemExit, match="PROVIDER/NAME"):
        provider_of(find_model("nobody-knows-it"), {})
    assert provider_of(find_model("claude-opus-5-5"), {"ANTHROPIC_API_KEY": "sk-ant-made-up"}).name == "anthropic"
