"""Long texts are cut at the ends of sentences, short ones are topped up, and rules are known by their form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.facts.retrieval.passages import PASSAGE_WORDS, TOP_UP_WORDS, around, cut, sets_rule, to_saying
from palimpsest.domain.messages import user_message


@given(st.text(alphabet=st.sampled_from("ab .\n"), max_size=3_000))
def test_a_cut_loses_no_word_and_no_passage_is_too_long(text: str) -> None:
    passages = list(cut(text))
    assert " ".join(passages).split() == text.split()
    assert all(1 <= len(passage.split()) <= PASSAGE_WORDS for passage in passages)


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_neighbors_fill_a_text_up_and_no_further(n_own: int, n_before: int, n_after: int) -> None:
    words = around(n_own, [f"b{n}" for n in range(n_before)], [f"a{n}" for n in range(n_after)]).split()
    assert len(words) == max(0, min(TOP_UP_WORDS - n_own, n_before + n_after))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("From now on answer briefly.", True),
        ("I prefer tables.", True),
        ("Please never use tabs.", True),
        ("The pump has never been on.", False),
        ("What is the pump?", False),
        ("Never use tabs. " + "and so on " * 30, False),
    ],
)
def test_rules_and_preferences_are_known_by_their_form(text: str, expected: bool) -> None:
    content = user_message(text)
    assert sets_rule(content, to_saying(content)) is expected


@pytest.mark.parametrize("blob", ["\n" * 200_000, "! " * 20, "-" * 200_000, "! \n" + " " * 200_000, "x" * 200_000])
def test_a_preference_is_found_beside_a_blob_and_the_blob_is_not_searched_for_long(blob: str) -> None:
    """Time that grows with the square of its length would be hours."""
    for text in (f"I prefer tables.{blob}x", f"x{blob}\nPlease keep it short."):
        content = user_message(text)
        assert sets_rule(content, to_saying(content))
    content = user_message(f"It is wet.{blob}x")
    assert not sets_rule(content, to_saying(content))


def test_a_text_without_an_end_of_a_sentence_is_cut_in_one_pass() -> None:
    """Each passage used to copy all words that were left: of three million words, hundreds of gigabytes."""
    n_words = 3_000_000
    passages = list(cut("word " * n_words))
    assert len(passages) == n_words // PASSAGE_WORDS
    assert sum(passage.count("word") for passage in passages) == n_words
