"""Titles: from the first message; a fork's says that it is one, and which."""

from __future__ import annotations

from palimpsest.domain.conversation.titles import fork_title, title_of, unforked


def test_a_title_is_the_first_line_with_text_in_it_at_most_60_characters() -> None:
    assert title_of("\n  Fix the parser  \nmore") == "Fix the parser"
    assert len(title_of("x" * 200)) == 60
    assert title_of(" \n") == ""


def test_a_fork_of_any_depth_is_told_from_its_original_and_from_other_forks() -> None:
    titles = ["The pump"]
    for forked in (0, 0, 1, 2):
        titles.append(fork_title(titles[forked], titles))
    assert titles[1:] == ["The pump (fork)", "The pump (fork 2)", "The pump (fork 3)", "The pump (fork 4)"]
    assert {unforked(title) for title in titles} == {"The pump"}
    assert unforked("A (fork) in the road") == "A (fork) in the road"
    assert fork_title("", ()) == ""
