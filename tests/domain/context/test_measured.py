"""What a service said of a request is believed about that request; only what is added is guessed, within limits."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from palimpsest.domain.context.measured import Measured, Part
from palimpsest.domain.context.tokens import Estimator

GUESS = Estimator(1.5, 0.05, 100)
FACTORS = (1.2, 1.5, 1.7)
"""Of logs, prose and code."""
PER_REQUEST = 350


def talk(seed: int, n_parts: int) -> list[tuple[Part, float]]:
    """Parts of a conversation, each with what it really takes."""
    chance = random.Random(seed)
    parts = [(Part(-1, 0, 400), PER_REQUEST + 400 * 1.5)]
    for number in range(n_parts):
        raw = chance.randint(10, 800)
        parts.append((Part(number, number + 1, raw), raw * chance.choice(FACTORS)))
    return parts


def real(parts: list[tuple[Part, float]]) -> int:
    return round(sum(tokens for _, tokens in parts))


def keys(parts: list[tuple[Part, float]]) -> tuple[Part, ...]:
    return tuple(part for part, _ in parts)


def test_nothing_measured_is_the_estimators_mean_with_at_least_its_spread() -> None:
    parts = keys(talk(1, 5))
    raw = sum(part.raw_tokens for part in parts)
    guessed = Measured().estimate(parts, GUESS)
    assert guessed.mean == pytest.approx(GUESS.mean(raw), abs=1)
    assert guessed.upper >= GUESS.upper(raw)


def test_a_measured_request_takes_what_its_service_said() -> None:
    parts = talk(2, 6)
    estimate = Measured().observe(keys(parts), GUESS, real(parts)).estimate(keys(parts), GUESS)
    assert estimate == (real(parts), real(parts))


@examples(40)
@given(seed=st.integers(0, 10_000))
def test_what_is_added_behind_is_all_that_is_guessed(seed: int) -> None:
    parts = talk(seed, 40)
    measured = Measured().observe(keys(parts[:39]), GUESS, real(parts[:39]))
    estimate = measured.estimate(keys(parts[:40]), GUESS)
    added = parts[39][0].raw_tokens
    assert 1.2 * added - 1 <= estimate.mean - real(parts[:39]) <= 1.7 * added + 1
    assert abs(estimate.mean - real(parts[:40])) <= 0.3 * GUESS.factor * added + 1


@examples(40)
@given(seed=st.integers(0, 10_000))
def test_after_parts_are_cut_away_the_rest_counts_as_measured(seed: int) -> None:
    parts = talk(seed, 80)
    measured = Measured()
    for n in range(1, 81):
        measured = measured.observe(keys(parts[:n]), GUESS, real(parts[:n]))
    summary = (Part(0, 50, 900), 900 * 1.5)
    left = [parts[0], summary, *parts[51:]]
    estimate = measured.estimate(keys(left), GUESS)
    assert estimate.mean == pytest.approx(real(left), rel=0.05)
    assert estimate.upper >= real(left)


def test_the_upper_estimate_covers_95_percent_of_growing_and_cut_requests() -> None:
    n_covered = n_all = 0
    for seed in range(20):
        parts, measured = talk(seed, 120), Measured()
        first = 1
        for n in range(2, 121):
            if n % 12 == 0:
                first = n - 4  # all but the newest are cut away
            sent = [parts[0], *parts[first:n]]
            if measured.request:
                n_all += 1
                n_covered += real(sent) <= measured.estimate(keys(sent), GUESS).upper
            measured = measured.observe(keys(sent), GUESS, real(sent))
    assert n_covered >= 0.95 * n_all, (n_covered, n_all)


def test_a_tool_whose_results_take_more_is_known_by_its_results() -> None:
    chance, factor_of = random.Random(5), {"tool read_file": 1.7, "tool run_tests": 1.2}
    parts, measured = [(Part(-1, 0, 400), PER_REQUEST + 600.0)], Measured()
    for number in range(60):
        kind, raw = chance.choice(sorted(factor_of)), chance.randint(100, 900)
        parts.append((Part(number, number + 1, raw, kind), factor_of[kind] * raw))
        estimate = measured.estimate(keys(parts), GUESS)
        assert number < 40 or estimate.mean - real(parts[:-1]) == pytest.approx(factor_of[kind] * raw, rel=0.05)
        measured = measured.observe(keys(parts), GUESS, real(parts))


@pytest.mark.parametrize("said", [1, 500, 90_000])
def test_a_service_that_counts_something_else_now_is_not_believed_about_the_parts(said: int) -> None:
    parts = talk(3, 12)
    measured = Measured().observe(keys(parts[:11]), GUESS, real(parts[:11])).observe(keys(parts), GUESS, said)
    raw = sum(part.raw_tokens for part in keys(parts))
    assert measured.request == ()
    assert measured.estimate(keys(parts), GUESS).mean == pytest.approx(GUESS.mean(raw), rel=0.1)


@pytest.mark.parametrize("said", [0, 1, 250])
def test_a_service_that_hardly_counts_is_not_believed_however_long_the_talk_becomes(said: int) -> None:
    parts = talk(4, 60)
    measured = Measured()
    for n in range(1, len(parts)):
        measured = measured.observe(keys(parts[:n]), GUESS, said)
    raw = sum(part.raw_tokens for part in keys(parts))
    assert measured.estimate(keys(parts), GUESS).mean == pytest.approx(GUESS.mean(raw), abs=1)


@given(
    told=st.lists(
        st.tuples(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 100_000)), max_size=8), st.integers(1, 10**8)),
        max_size=12,
    )
)
def test_an_upper_estimate_is_never_under_the_mean_nor_negative(
    told: list[tuple[list[tuple[int, int]], int]],
) -> None:
    measured = Measured()
    for sizes, said in told:
        parts = (Part(-1, 0, 100), *(Part(start, start + 1, raw) for start, raw in sizes))
        estimate = measured.estimate(parts, GUESS)
        assert 0 <= estimate.mean <= estimate.upper
        measured = measured.observe(parts, GUESS, said)


def test_a_request_that_differs_in_where_its_rules_stand_takes_what_it_took() -> None:
    """Else a message that was sent could be refused when it is sent again."""
    measured = Measured().observe([Part(-1, 0, 1_000), Part(0, 1, 4_040, "user")], GUESS, 6_510)
    moved = measured.estimate([Part(-1, 0, 1_040), Part(0, 1, 4_000, "user")], GUESS)
    assert moved.mean == 6_510
    assert moved.upper <= 6_510 + 60
    another = measured.estimate([Part(-1, 0, 1_040), Part(0, 1, 4_000, "tool read_file")], GUESS)
    assert another.upper > 7_500


@given(st.integers(0, 10_000), st.integers(1, 11))
@examples(50)
def test_what_the_measured_request_began_with_takes_no_more_than_all_of_it(seed: int, n_parts: int) -> None:
    parts = talk(seed, 10)
    known = Measured().observe(keys(parts), GUESS, real(parts))
    mean, upper = known.estimate(keys(parts[:n_parts]), GUESS)
    assert mean <= upper <= real(parts)
