"""What a question asks for is read from its words, and long texts are cut where sentences end."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.facts.retrieval.passages import PASSAGE_WORDS, TOP_UP_WORDS, around, cut, sets_rule, to_saying
from palimpsest.domain.facts.retrieval.question import About, Named, Side, days_of, guess, nearness
from palimpsest.domain.facts.retrieval.words import to_terms
from palimpsest.domain.messages import user_message

TODAY = date(2026, 3, 20).toordinal()


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("Which pump did I choose?", (), (Side.USER, 1.0)),
        ("Which pump is used?", (), (Side.USER, 0.5)),
        ("Which pump did you recommend to me?", (), (Side.NONE, 0.0)),
        ("Can you tell me which pump I chose?", (), (Side.USER, 1.0)),
        ("Give me a summary of my work.", (), (Side.NONE, 0.0)),
        ("When did Ada buy it?", ("Ada", "Ben"), (Named("Ada"), 1.0)),
        ("Did Ada tell Ben?", ("Ada", "Ben"), (Side.NONE, 0.0)),
        ("Which Adapter is it?", ("Ada", "Ben"), (Side.NONE, 0.0)),
    ],
)
def test_whose_turns_are_meant_is_read_from_the_words(
    text: str, names: tuple[str, ...], expected: tuple[About, float]
) -> None:
    assert guess(text, names) == expected


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("on 3 June 2025", [("2025-06-03", "2025-06-03")]),
        ("on June 3rd, 2025", [("2025-06-03", "2025-06-03")]),
        ("on 2025-06-03", [("2025-06-03", "2025-06-03")]),
        ("in February", [("2026-02-01", "2026-03-03")]),
        ("what may it be", []),
        ("in May", [("2026-05-01", "2026-05-31")]),
        ("two weeks ago", [("2026-03-04", "2026-03-08")]),
        ("last week", [("2026-03-06", "2026-03-20")]),
        ("yesterday", [("2026-03-19", "2026-03-20")]),
        ("on 31 February 2026", []),
    ],
)
def test_days_are_read_from_the_words(text: str, spans: list[tuple[str, str]]) -> None:
    found = [tuple(date.fromordinal(day).isoformat() for day in span) for span in days_of(text, TODAY, [2026])]
    assert found == spans


def test_a_day_counts_less_the_farther_it_is_from_what_was_meant() -> None:
    values = [nearness(TODAY + days, [(TODAY, TODAY)]) for days in (0, 1, 5, 20)]
    assert values == sorted(values, reverse=True)
    assert nearness(TODAY - 5, [(TODAY, TODAY)]) < nearness(TODAY + 5, [(TODAY, TODAY)])


def test_words_about_the_asking_count_apart_unless_there_are_no_others() -> None:
    terms = to_terms("Remind me of the readSensorValue discussion")
    assert terms.telling == ("readsensorvalue", "read", "sensor", "value")
    assert terms.asking == ("remind", "discussion")
    assert to_terms("What did we discuss?").telling == ("discuss",)


@given(st.text(alphabet=st.sampled_from("ab .\n"), max_size=3_000))
def test_a_cut_loses_no_word_and_no_passage_is_too_long(text: str) -> None:
    passages = list(cut(text))
    assert " ".join(passages).split() == text.split()
    assert all(1 <= len(passage.split()) <= PASSAGE_WORDS for passage in passages)


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_neighbours_fill_a_text_up_and_no_further(n_own: int, n_before: int, n_after: int) -> None:
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
