"""Outlines: what is told of a text that is too large to be sent."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.context.notebook.outline import outline
from palimpsest.domain.context.tokens import count_bytes

TROUBLE = re.compile(r"\berror\b", re.I)


def test_trouble_comes_first_then_lines_with_names_then_the_names_that_are_left() -> None:
    text = "\n".join(
        ["plain words", "def read_block(next_block)", "error: no block", *("a" * 20 + f"_{n}" for n in range(40))]
    )
    lines = outline(text, 120, (), TROUBLE, count_bytes)
    assert lines[0] == "error: no block"
    assert "def read_block(next_block)" in lines[1]
    assert "plain words" not in "\n".join(lines)


def test_no_more_trouble_is_counted_once_the_room_for_it_is_used_up() -> None:
    n_counted = 0

    def count(text: str) -> int:
        nonlocal n_counted
        n_counted += "error" in text
        return count_bytes(text)

    text = "\n".join(f"error: no block in the middle of part {n}" for n in range(20_000))
    assert outline(text, 400, (), TROUBLE, count)
    assert n_counted < 1_000  # of those, most are lines with names


def test_a_line_of_trouble_that_does_not_fit_gives_way_to_shorter_ones() -> None:
    text = f"error: {'long ' * 100}\nerror: short"
    assert "error: short" in outline(text, 60, (), TROUBLE, count_bytes)


def test_what_is_told_already_is_left_out() -> None:
    assert outline("def read_block(source)", 100, {"read_block"}, TROUBLE, count_bytes) == []


@given(st.lists(st.sampled_from(["an error in read_block", "skip_block", "src/a.py:12", "words"])), st.integers(0, 200))
def test_an_outline_keeps_to_its_room(lines: list[str], room: int) -> None:
    text = "\n".join(f"{line}_{n}" for n, line in enumerate(lines))
    assert count_bytes("\n".join(outline(text, room, (), TROUBLE, count_bytes))) <= room + 8
