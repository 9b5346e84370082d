"""The best file comes first, its quote is cut out of it, and an answer keeps its limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.offline.places import (
    MARK,
    UNMARK,
    Found,
    Hit,
    Place,
    best_of_each_file,
    file_place,
    render,
    without_marks,
)
from palimpsest.domain.offline_texts import EMPTY, FOUND, HELLO, NOTHING, PARTIAL

QUOTE = Place("docs/ops.md:12", ("The server listens on port 9464.",), path="docs/ops.md")


def hit(path: str, score: float, line: int = 1) -> Hit:
    return Hit(line, path, line, score)


def ranked(*hits: Hit, wants_tests: bool = False) -> list[str]:
    return [f"{each.path}:{each.line}" for each in best_of_each_file(hits, wants_tests=wants_tests)]


def test_a_file_is_shown_once_by_its_best_passage() -> None:
    assert ranked(hit("a.py", 1.0), hit("a.py", 3.0, 41), hit("b.py", 2.0)) == ["a.py:41", "b.py:1"]


def test_a_file_that_mentions_it_often_comes_before_one_that_does_once() -> None:
    assert ranked(hit("once.py", 3.0), hit("often.py", 2.5, 21), hit("often.py", 2.5)) == ["often.py:21", "once.py:1"]


def test_tests_and_data_come_behind_what_they_are_about() -> None:
    hits = [hit("tests/test_a.py", 3.0), hit("package-lock.json", 3.0), hit("a.py", 2.5)]
    assert ranked(*hits)[0] == "a.py:1"
    assert ranked(*hits, wants_tests=True)[0] == "tests/test_a.py:1"


def test_what_is_far_worse_than_the_best_is_not_shown() -> None:
    assert ranked(hit("a.py", 9.0), hit("b.py", 1.0)) == ["a.py:1"]


def marked(text: str) -> list[str]:
    """`[word]` is a word that matches."""
    return text.replace("[", MARK).replace("]", UNMARK).split("\n")


def test_a_quote_begins_where_most_of_the_words_are() -> None:
    place = file_place(hit("a.md", 1.0, 21), marked("[cache]\n\nx\ny\nz\nthe [cache] is\n[cleared] daily\n\n"))
    assert (place.label, place.lines) == ("a.md:26", ("the cache is", "cleared daily"))


def test_where_only_the_path_matches_the_first_lines_are_shown() -> None:
    place = file_place(hit("cache.md", 1.0), marked("\none\ntwo\nthree\nfour\nfive"))
    assert (place.label, place.lines) == ("cache.md:2", ("one", "two", "three", "four"))


@given(st.lists(st.text(alphabet="ab []\t`é", max_size=400), min_size=1, max_size=20), st.integers(1, 1000))
def test_every_line_of_a_quote_is_cut_out_of_its_place(lines: list[str], first: int) -> None:
    passage = marked("\n".join(line.replace("[", "[x]").replace("]", "") for line in lines))
    place = file_place(hit("a.txt", 1.0, first), passage)
    at = int(place.label.rpartition(":")[2]) - first
    assert 1 <= len(place.lines) <= 4
    for shown, line in zip(place.lines, passage[at:], strict=False):
        assert shown.strip("…") in without_marks(line)
        assert len(shown) <= 202


def test_an_answer_says_that_it_is_a_search_and_each_quote_is_under_its_place() -> None:
    said = Place("message 12", ("We use port 9000.",), ", from you")
    text, is_cut = render(Found((QUOTE, said), 3), 4_000)
    assert text == (
        "This is a search, not the answer of a model. These places mention it:\n"
        "\n`docs/ops.md:12`\n\n> ```\n> The server listens on port 9464.\n> ```\n"
        "\n`message 12`, from you\n\n> We use port 9000.\n"
    )
    assert not is_cut


def test_a_fence_is_longer_than_those_inside() -> None:
    text, _ = render(Found((Place("a.md:1", ("# ```x```", "", "    a*b"), path="a.md"),), 1), 4_000)
    assert "\n> ````\n> # ```x```\n>\n>     a*b\n> ````\n" in text


def test_a_backtick_in_a_path_does_not_end_the_label() -> None:
    text, _ = render(Found((Place("a`b``.md:1", ("x",), path="a`b``.md"),), 1), 4_000)
    assert "\n```a`b``.md:1```\n" in text


def test_where_nothing_was_found_it_is_said_with_what_to_do() -> None:
    assert render(Found((), 7), 4_000) == (f"{NOTHING}\n", False)
    assert render(Found((), 0), 4_000) == (f"{EMPTY}\n", False)
    assert render(None, 4_000) == (f"{HELLO}\n", False)


def test_a_search_of_a_part_of_a_folder_says_so() -> None:
    assert render(Found((QUOTE,), 7, is_partial=True), 4_000)[0].endswith(f"\n{PARTIAL}\n")
    assert PARTIAL in render(Found((), 7, is_partial=True), 4_000)[0]


@pytest.mark.parametrize("limit", [1, 3, 40, 100, 200, 400])
def test_no_limit_is_too_small_and_a_quote_is_whole_or_not_there(limit: int) -> None:
    places = tuple(Place(f"{n}.md:1", ("ééé " * 20,), path=f"{n}.md") for n in range(5))
    text, is_cut = render(Found(places, 5), limit)
    assert 0 < len(text.encode()) <= limit
    assert is_cut
    assert text.count("```") % 2 == 0
    assert text.startswith(FOUND[: len(text) - 1]) or len(text) > len(FOUND)
