"""Previews and extractive summaries: deterministic, bounded, exact in what they keep; the original is never touched."""

from __future__ import annotations

import json

import hypothesis.strategies as st
from hypothesis import given

from palimpsest.domain.context.previews import fair_share, make_preview, shorten_text
from palimpsest.domain.context.tokens import count_bytes, count_content
from palimpsest.domain.messages import Content, MessageId, Role, ToolCallPart, tool_result

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
