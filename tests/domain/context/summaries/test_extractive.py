"""The summarizer that quotes: what it keeps of what was said and done, and that it keeps it as it was."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.histories import as_lives, histories

from palimpsest.domain.context.cut import SummaryPiece
from palimpsest.domain.context.summaries.evidence import names_of
from palimpsest.domain.context.summaries.extractive import summarize_extractively
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.facts.extraction.names import places_in
from palimpsest.domain.messages import (
    Content,
    MessageId,
    Role,
    SummaryId,
    TextPart,
    ToolCallPart,
    tool_result,
    user_message,
)


def said(text: str) -> Content:
    return Content(Role.ASSISTANT, (TextPart(text),))


def called(name: str, result: str, **arguments: object) -> list[Content]:
    call = ToolCallPart("1", name, json.dumps(arguments))
    return [Content(Role.ASSISTANT, (call,)), tool_result(call, result)]


def summary_of(contents: Sequence[Content], target: int = 2_000) -> str:
    return summarize_extractively(as_lives(list(contents)), target, count_bytes)


def as_blocks(text: str, end: int) -> list[SummaryPiece]:
    """A summary of the messages before `end`; none of nothing."""
    if not text:
        return []
    return [SummaryPiece(Summary(SummaryId(1), MessageId(0), MessageId(end), 1, "extractive", text, 1, "", ""), 100)]


def numbers(text: str) -> list[int]:
    """The messages that lines come from."""
    return [int(line[3:].partition("]")[0]) for line in text.splitlines() if line.startswith("- [")]


@given(histories, st.integers(20, 800))
def test_a_summary_is_bounded_and_deterministic(history: list[list[Content]], target: int) -> None:
    pieces = as_lives([content for exchange in history for content in exchange])
    text = summarize_extractively(pieces, target, count_bytes)
    assert text == summarize_extractively(pieces, target, count_bytes)
    assert text.strip()
    assert count_bytes(text) <= target * 1.3 + 40


def test_a_summary_quotes_rules_outcomes_and_names_with_their_message() -> None:
    call = ToolCallPart("1", "run", '{"command": "pytest tests/test_parser.py"}')
    pieces = as_lives(
        [
            user_message("By the way: never use tabs. Please fix the parser."),
            Content(Role.ASSISTANT, (TextPart("I will run the tests. They tell most."), call)),
            tool_result(call, "collected 3 items\nFAILED tests/test_parser.py::test_depth - RecursionError"),
            Content(Role.ASSISTANT, (TextPart("The recursion in parse_block has no bound."),)),
        ],
        first_id=20,
    )
    text = summarize_extractively(pieces, 300, count_bytes)
    assert "- [20] By the way: never use tabs." in text
    assert "- [21] run(command=pytest tests/test_parser.py)" in text
    assert "run failed: FAILED tests/test_parser.py::test_depth - RecursionError" in text
    assert "[23] The recursion in parse_block has no bound." in text


def test_every_quoted_line_stands_in_its_message() -> None:
    pieces = as_lives([user_message(f"Rule {n}: always check value_{n}. Then go on.") for n in range(30)])
    for line in summarize_extractively(pieces, 400, count_bytes).splitlines():
        if line.startswith("- ["):
            number, _, quoted = line[3:].partition("] ")
            assert quoted in pieces[int(number)].message.content.text


def test_a_block_with_headings_of_its_own_can_be_merged() -> None:
    text = "## Plan of my own\n- [3] The pump was replaced.\nand some prose"
    summary = Summary(SummaryId(1), MessageId(0), MessageId(4), 1, "llm", text, 500, "a model", "")
    merged = summarize_extractively([SummaryPiece(summary, 100)], 200, count_bytes)
    assert "- [3] The pump was replaced." in merged
    assert "Plan of my own" not in merged


def test_a_line_of_a_block_that_names_no_message_is_of_its_first() -> None:
    summary = Summary(SummaryId(1), MessageId(6), MessageId(9), 1, "llm", "The pump was replaced.", 500, "a model", "")
    assert "- [6] The pump was replaced." in summarize_extractively([SummaryPiece(summary, 100)], 200, count_bytes)


def test_what_was_done_first_is_still_told_after_much_work_on_other_things() -> None:
    text, n_messages = "", 0
    for round_ in range(20):
        first = called("edit", "done", path="src/first.py", text="the queue of the first worker holds ten jobs")
        steps = [*(first if round_ == 0 else [])] + [
            content
            for n in range(10)
            for content in called("edit", "done", path=f"src/part_{n}.py", text=f"attempt {round_} at a smaller queue")
        ]
        text = summarize_extractively([*as_blocks(text, n_messages), *as_lives(steps, n_messages)], 700, count_bytes)
        n_messages += len(steps)
    assert "src/first.py, text=the queue of the first worker" in text
    assert max(numbers(text)) >= n_messages - 20
    assert count_bytes(text) <= 700 * 1.1


def test_what_was_found_is_kept_before_what_was_announced_after_it() -> None:
    text = summary_of([said("The parser drops the last token of a block."), said("Let me look at the parser.")], 24)
    assert "drops the last token" in text
    assert "Let me look" not in text


def test_an_answer_does_not_win_by_being_short() -> None:
    found = "The valve of the third pump closes when the tank is full."
    assert found in summary_of([said(f"{each} {found}") for each in ("Yes.", "No.", "Hm.")], 40)


def test_a_file_that_speaks_of_errors_has_not_failed() -> None:
    lines = "\n".join(f"line {n} raises an error where the block is not found" for n in range(9))
    assert "failed" not in summary_of(called("read", lines, path="src/errors.py"))
    assert "run failed: FAILED tests/a.py - KeyError" in summary_of(
        called("run", "collected 3\nFAILED tests/a.py - KeyError\n1 failed, 2 passed", command="pytest")
    )
    assert "run: 0 errors in 12 files" in summary_of(called("run", "checking\n0 errors in 12 files", command="lint"))
    assert "fetch failed: Error: no such page" in summary_of(called("fetch", "Error: no such page", url="https://a.b"))


def test_an_outcome_that_comes_again_and_again_is_told_once() -> None:
    runs = [
        content for n in range(5) for content in called("run", f"{10 + n} tests have passed", command=f"pytest {n}")
    ]
    text = summary_of([*runs, *called("run", "The build is done", command="make")], 420)
    assert "14 tests have passed" in text
    assert text.count("tests have passed") == 1


def test_a_call_is_told_with_whole_paths_and_without_what_only_steers_it() -> None:
    path = "/home/somebody/projects/a-workspace-with-a-long-name/packages/core/src/deeply/nested/reader_of_blocks.py"
    text = summary_of(called("read", "", path=path, limit=50, offset=3, raw=False))
    assert f"read(path={path})" in text
    assert "run(command=pytest -x)" in summary_of(called("run", "", command=f"cd {path} && pytest -x", timeout=60))
    assert "wait(seconds=3)" in summary_of(called("wait", "", seconds=3))


def test_code_is_no_sentence() -> None:
    text = summary_of(
        [said("Use the pool.\n```python\npool = open_pool(size=3)  # three at once\n```\nIt closes itself.")]
    )
    assert "## Answered\n- [0] Use the pool.\n- [0] It closes itself." in text
    assert "## Excerpts\n- [0] pool = open_pool(size=3) # three at once" in text


def test_names_in_long_results_are_told_by_lines_of_them() -> None:
    listing = "\n".join(
        [f"plain line {n}" for n in range(30)] + ["def read_block(source): returns the next of the open blocks"]
    )
    text = summary_of([*called("read", listing + "\nplain end", path="a.py")])
    assert "## Excerpts\n- [1] read: def read_block(source): returns the next of the open blocks" in text


@given(histories, st.integers(100, 2_000))
def test_a_summary_of_a_summary_holds_no_line_that_the_first_did_not(history: list[list[Content]], target: int) -> None:
    lives = as_lives([content for exchange in history for content in exchange])
    first = summarize_extractively(lives, target, count_bytes)
    second = summarize_extractively(as_blocks(first, len(lives)), target // 2, count_bytes)
    quoted = [line for line in second.splitlines() if line.startswith("- [")]
    assert set(quoted) <= set(first.splitlines())


@pytest.mark.parametrize("blob", ["a" * 400_000, "0f" * 200_000, "/" * 400_000, "-" * 400_000, "a/" * 200_000])
def test_a_blob_of_any_length_holds_no_place_and_no_name_is_sought_in_it_for_long(blob: str) -> None:
    """Time that grows with the square of its length would be minutes."""
    assert [place.path for place in places_in(f"See {blob} and src/a.py too", "")] == ["src/a.py"]
    assert "src/a.py" in names_of(f"See {blob} and src/a.py too")
