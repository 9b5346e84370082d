"""The words, the side and the days of a question are read from its text."""

from __future__ import annotations

from datetime import date

import pytest

from palimpsest.domain.facts.retrieval.question import About, Named, Side, days_of, guess, nearness
from palimpsest.domain.facts.retrieval.words import humped, to_terms

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


@pytest.mark.parametrize(
    ("text", "taken_apart"),
    [
        ("call readHTTPHeader and readHTTPHeader, then maxTokens", "read HTTP Header max Tokens"),
        ("a plain_name, another name and 0xff", ""),
        ("x9Y of CONSTANT_NAME", "x9 Y"),
        (f"{'a' * 99}B {'a' * 100}B", f"{'a' * 99} B"),  # a longer run is encoded data
    ],
)
def test_identifiers_with_humps_are_taken_apart(text: str, taken_apart: str) -> None:
    assert humped(text) == taken_apart
