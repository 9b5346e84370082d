"""What is looked for holds no syntax, and nothing is looked for where nothing is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.offline.question import search_terms, states_something

HOSTILE = st.sampled_from(
    ["AND", "OR NOT", "NEAR(a b)", "path:", "words : x", "*", '"', "^", "-", "(", "日本語", "fooBar"]
)


@given(st.lists(HOSTILE | st.text(max_size=30), max_size=20).map(" ".join))
def test_terms_are_letters_and_digits_and_few(question: str) -> None:
    terms = search_terms(question)
    every = [*terms.telling, *terms.asking]
    assert all(term.isalnum() for term in every)
    assert len(set(every)) == len(every)
    assert terms.telling or not terms.asking


@pytest.mark.parametrize(
    "message",
    ["hello", "Hi there!", "Good morning", "hey :)", "", "???", "How are you?", "what can you do?", "thanks, great",
     "help", "What is it, and how do I do that?"],
)  # fmt: skip
def test_nothing_is_looked_for_where_nothing_is_asked(message: str) -> None:
    assert search_terms(message).telling == ()


@pytest.mark.parametrize("message", ["hello.py", "Where is the test?", "hi, which port is it?"])
def test_a_question_that_begins_like_a_greeting_is_a_question(message: str) -> None:
    assert search_terms(message).telling


def test_words_without_spaces_between_them_are_looked_for_by_pairs() -> None:
    assert search_terms("重新連接").telling == ("重新", "新連", "連接")
    assert search_terms("版").telling == ("版",)


@pytest.mark.parametrize("pasted", ["A" * 200_000, "a/" * 100_000, "why " * 50_000, "日" * 100_000, "'" * 200_000])
def test_of_a_huge_paste_few_words_are_looked_for(pasted: str) -> None:
    telling = search_terms(f"{pasted}\nWhich port is it?").telling
    assert "port" in telling
    assert len(telling) < 100


QUESTION = "Which port does the staging server use?"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("From now on the staging server uses port 9001.", True),
        ("Never mind the port, the host matters.", True),
        (QUESTION, False),
        ("tell me which port the staging server uses", False),
        ("and the other server on port 9001?", False),
        ("端口 是 什么 那个 服务器\uff1f", False),
        ("turbine coating", False),
    ],
)
def test_a_message_that_asks_answers_nothing(said: str, expected: bool) -> None:
    assert states_something(said, QUESTION) is expected
