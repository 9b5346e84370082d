"""Previews and extractive summaries: deterministic, bounded, exact in what they keep; the original is never touched."""

from __future__ import annotations

import json

import hypothesis.strategies as st
from hypothesis import given
from tests.unit.histories import as_lives, histories

from palimpsest.domain.cut import Block
from palimpsest.domain.extractive import summarize_extractively
from palimpsest.domain.forest import Summary
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
from palimpsest.domain.previews import fair_share, make_preview, shorten_text
from palimpsest.domain.tokens import count_bytes, count_content

CALL = ToolCallPart("1", "run", "{}")


def test_a_preview_keeps_head_tail_and_the_lines_that_matter() -> None:
    lines = [f"line {n}" for n in range(5_000)]
    lines[2_500] = "ERROR: the port 8080 is taken"
    preview = shorten_text("\n".join(lines), MessageId(7), 400, count_bytes)
    assert preview.startswith("line 0\nline 1\n")
    assert preview.endswith("line 4999")
    assert "ERROR: the port 8080 is taken" in preview
    assert "the whole is kept as message 7" in preview
    assert count_bytes(preview) <= 400


def test_one_line_of_sixteen_million_characters_is_cut_quickly() -> None:
    preview = shorten_text("x" * 16_000_000, MessageId(0), 500, count_bytes)
    assert count_bytes(preview) <= 500


@given(st.text(max_size=3_000), st.integers(60, 500))
def test_a_preview_fits_its_cap_and_says_what_is_missing(text: str, cap: int) -> None:
    content = tool_result(CALL, text)
    preview = make_preview(content, MessageId(3), cap, count_bytes)
    assert count_content(preview, count_bytes) <= max(cap, 40) or preview == content
    assert (preview == content) == (count_content(content, count_bytes) <= cap)
    assert preview.results[0].call_id == CALL.call_id


def test_cut_arguments_stay_a_json_object() -> None:
    call = ToolCallPart("1", "write_file", json.dumps({"path": "a.py", "text": "x" * 10_000}))
    preview = make_preview(Content(Role.ASSISTANT, (call,)), MessageId(1), 200, count_bytes)
    assert isinstance(json.loads(preview.calls[0].arguments), dict)
    assert (preview.calls[0].call_id, preview.calls[0].name) == ("1", "write_file")


@given(st.lists(st.integers(0, 1_000), min_size=1), st.integers(0, 5_000))
def test_the_fair_share_fills_the_room_and_never_more(sizes: list[int], room: int) -> None:
    share = fair_share(sizes, room)
    total = sum(min(size, share) for size in sizes)
    assert total <= room
    assert total == sum(sizes) or total > room - len(sizes)


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
    merged = summarize_extractively([Block(summary, 100)], 200, count_bytes)
    assert "- [3] The pump was replaced." in merged
    assert "Plan of my own" not in merged
