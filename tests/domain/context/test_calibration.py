"""Calibration finds what a provider counts, covers it with mean + 2 sigma, and never leaves its bounds."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from palimpsest.domain.context.calibration import (
    FACTOR_HIGH,
    FACTOR_LOW,
    MAX_OVERHEAD,
    TRUSTED_TOKENS,
    Calibration,
    ModelKey,
    Observation,
)
from palimpsest.domain.context.tokens import Estimator

KEY = ModelKey("anthropic", "claude-x", "cl100k_base")
CLAUDE, EXACT = Estimator(1.6, 0.075), Estimator()
NOISES: dict[str, Callable[[random.Random, float], float]] = {
    "normal": lambda r, spread: r.gauss(0, spread),
    "uniform": lambda r, spread: r.uniform(-1.7, 1.7) * spread,
    "prose or code": lambda r, spread: r.choice((-1, 1)) * spread,
}


def learn(start: Estimator, *observations: Observation) -> Calibration:
    return reduce(Calibration.observe, observations, Calibration.start(KEY, start))


def draw(
    seed: int, n: int, factor: float, overhead: int, spread: float, noise: str, sizes: tuple[int, int]
) -> list[Observation]:
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        raw = rng.randint(*sizes)
        real = overhead + factor * (1 + NOISES[noise](rng, spread)) * raw
        found.append(Observation(raw, max(1, round(real))))
    return found


def test_nothing_observed_is_the_familys_own_estimator() -> None:
    assert learn(CLAUDE).to_estimator() == CLAUDE
    assert learn(EXACT).to_estimator() == EXACT


@examples(60)
@given(
    start=st.sampled_from([CLAUDE, Estimator(1.2, 0.05), EXACT]),
    truth=st.floats(0.7, 1.7),
    overhead=st.integers(0, 1_500),
    spread=st.floats(0.015, 0.08),
    noise=st.sampled_from(sorted(NOISES)),
    seed=st.integers(0, 1_000),
)
def test_it_converges_to_the_true_line_under_noise(
    start: Estimator, truth: float, overhead: int, spread: float, noise: str, seed: int
) -> None:
    factor = start.factor * truth
    seen = learn(start, *draw(seed, 300, factor, overhead, spread, noise, (1_000, 150_000)))
    assert seen.factor == pytest.approx(factor, rel=0.02 + spread / 2)
    assert seen.to_estimator().mean(100_000) == pytest.approx(overhead + factor * 100_000, rel=0.01 + spread / 2)


@examples(60)
@given(
    start=st.sampled_from([CLAUDE, Estimator(1.2, 0.05), EXACT]),
    truth=st.floats(0.7, 1.7),
    overhead=st.integers(0, 1_500),
    spread=st.floats(0.015, 0.08),
    noise=st.sampled_from(sorted(NOISES)),
    sizes=st.sampled_from([(1_000, 150_000), (2_000, 8_000), (100_000, 120_000)]),
    n_seen=st.sampled_from([60, 150, 400]),
    seed=st.integers(0, 1_000),
)
def test_mean_plus_two_sigma_covers_95_percent_of_what_comes_next(
    start: Estimator,
    truth: float,
    overhead: int,
    spread: float,
    noise: str,
    sizes: tuple[int, int],
    n_seen: int,
    seed: int,
) -> None:
    drawn = draw(seed, n_seen + 1_000, start.factor * truth, overhead, spread, noise, sizes)
    estimator = learn(start, *drawn[:n_seen]).to_estimator()
    held_out = drawn[n_seen:]
    covered = sum(each.real_tokens <= estimator.upper(each.raw_tokens) for each in held_out)
    assert covered >= 0.95 * len(held_out), (covered, estimator)


def test_the_upper_estimate_becomes_tighter_than_the_familys_once_enough_was_seen() -> None:
    drawn = draw(7, 200, 1.6, 0, 0.015, "normal", (20_000, 60_000))
    few, many = learn(CLAUDE, *drawn[:4]), learn(CLAUDE, *drawn)
    assert few.weight < TRUSTED_TOKENS < many.weight
    assert few.to_estimator().sigma >= CLAUDE.sigma
    assert many.to_estimator().sigma < CLAUDE.sigma / 1.5


@examples(200)
@given(
    start=st.sampled_from([CLAUDE, EXACT]),
    told=st.lists(st.tuples(st.integers(0, 5_000_000), st.integers(0, 50_000_000)), max_size=40),
)
def test_it_never_leaves_its_bounds(start: Estimator, told: list[tuple[int, int]]) -> None:
    seen = Calibration.start(KEY, start)
    for raw, real in told:
        seen = seen.observe(Observation(raw, real))
        assert FACTOR_LOW * start.factor <= seen.factor <= FACTOR_HIGH * start.factor
        assert 0 <= seen.overhead <= MAX_OVERHEAD
        estimator = seen.to_estimator()
        assert 0 <= estimator.sigma <= start.factor
        assert estimator.raw_within(200_000) > 0


@pytest.mark.parametrize("real_times", [10, 0.1])
@pytest.mark.parametrize("every", [10, 25])
def test_outliers_of_an_order_of_magnitude_do_not_break_it(real_times: float, every: int) -> None:
    drawn = draw(3, 250, 1.7, 200, 0.02, "normal", (5_000, 90_000))
    spoiled = [
        Observation(each.raw_tokens, round(each.real_tokens * real_times)) if i % every == 0 else each
        for i, each in enumerate(drawn)
    ]
    estimator = learn(CLAUDE, *spoiled).to_estimator()
    assert estimator.mean(60_000) == pytest.approx(200 + 1.7 * 60_000, rel=0.05)
    honest = [each for i, each in enumerate(spoiled) if i % every]
    assert sum(each.real_tokens <= estimator.upper(each.raw_tokens) for each in honest) >= 0.95 * len(honest)
    assert estimator.sigma < 0.3


def test_a_tokenizer_that_changes_is_followed() -> None:
    before = draw(1, 200, 1.3, 0, 0.02, "normal", (5_000, 90_000))
    after = draw(2, 300, 2.1, 0, 0.02, "normal", (5_000, 90_000))
    assert learn(CLAUDE, *before, *after).to_estimator().mean(50_000) == pytest.approx(2.1 * 50_000, rel=0.03)


def test_a_truth_outside_the_bounds_is_covered_by_the_spread() -> None:
    """The factor stops at twice the start; what is missing shows as spread, so limits still hold."""
    estimator = learn(CLAUDE, *draw(1, 200, 4.0, 0, 0.02, "normal", (5_000, 90_000))).to_estimator()
    assert estimator.factor == pytest.approx(FACTOR_HIGH * CLAUDE.factor)
    assert estimator.upper(50_000) >= 4.0 * 50_000


@pytest.mark.parametrize("observation", [Observation(0, 500), Observation(50_000, 0), Observation(0, 0)])
def test_a_provider_that_does_not_say_teaches_nothing(observation: Observation) -> None:
    seen = learn(CLAUDE)
    assert seen.observe(observation) is seen


def test_an_exact_model_stays_exact_within_noise() -> None:
    seen = learn(EXACT, *draw(5, 200, 1.001, 20, 0.002, "normal", (2_000, 90_000)))
    assert seen.to_estimator() == EXACT
    assert seen.observe(Observation(40_000, 400_000)).to_estimator() == EXACT


def test_an_exact_model_is_exact_no_longer_when_its_provider_says_more() -> None:
    estimator = learn(EXACT, *draw(5, 40, 1.05, 0, 0.002, "normal", (2_000, 90_000))).to_estimator()
    assert estimator != EXACT
    assert estimator.mean(50_000) == pytest.approx(52_500, rel=0.01)
    assert estimator.upper(50_000) > 52_500


def test_what_was_learned_is_clamped_to_a_familys_new_bounds() -> None:
    seen = learn(CLAUDE, *draw(5, 100, 3.0, 0, 0.01, "normal", (2_000, 90_000)))
    later = Calibration.start(KEY, EXACT).resumed(
        overhead=seen.overhead,
        factor=seen.factor,
        sigma=seen.sigma,
        weight=seen.weight,
        mean_raw=seen.mean_raw,
        variance_raw=seen.variance_raw,
    )
    assert later.factor == FACTOR_HIGH
    with pytest.raises(ValueError, match="bounds"):
        Calibration(KEY, EXACT, 0, seen.factor, 0, 1, 1, 0)
