"""The same words are found however they are written."""

from __future__ import annotations

import pytest

from palimpsest.domain.language.words import all_pieces, fold, pieces


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retryDelay", "retry_delay"),
        ("HTTPServer", "http server"),
        ("src/retry/delay.py", "src retry delay py"),
        ("Zürich", "zurich"),
        ("timeout30s", "timeout30s"),
        ("server's", "server"),
    ],
)
def test_words_are_the_same_however_they_are_written(one: str, other: str) -> None:
    assert all_pieces(one) == all_pieces(other)


def test_folding_keeps_line_feeds() -> None:
    text = "ÄB\u0130\n\n\ufb01x\u2028y\nz"
    assert fold(text).count("\n") == text.count("\n")


def test_scripts_without_spaces_are_compared_by_pairs() -> None:
    assert set(pieces("日本語")) & set(pieces("本語版")) == {"本語"}
