"""A count agrees with its noun, and a slip is told from another word."""

from __future__ import annotations

import pytest

from palimpsest.wording import counted, nearest


@pytest.mark.parametrize(
    ("n", "noun", "said"),
    [
        (0, "message", "0 messages"),
        (1, "fact", "1 fact"),
        (2, "summary", "2 summaries"),
        (1, "standing rule", "1 standing rule"),
        (1234, "day", "1,234 days"),
        (3, "match", "3 matches"),
    ],
)
def test_a_count_agrees_with_its_noun(n: int, noun: str, said: str) -> None:
    assert counted(n, noun) == said


def test_the_nearest_comes_first_whatever_its_case_and_nothing_like_it_is_nothing() -> None:
    known = ["claude-opus-5", "claude-sonnet-5", "Gpt-4o"]
    assert nearest("claude-sonet-5", known)[0] == "claude-sonnet-5"
    assert nearest("gpt-40", known) == ["Gpt-4o"]
    assert nearest("frobnicator", known) == []
