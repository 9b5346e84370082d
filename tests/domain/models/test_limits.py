"""Budgets and limits: worked examples, and what happens at the edges."""

from __future__ import annotations

import pytest

from palimpsest.data import load_model_table
from palimpsest.domain.context.tokens import Estimator, count_bytes
from palimpsest.domain.context.usage import ContextUsage, Severity
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.models.limits import LimitsSource, ModelLimits, compute_budget, with_window

OPUS = ModelLimits(200_000, 64_000)


def test_worked_examples_of_the_budget() -> None:
    assert compute_budget(OPUS).budget == 129_200
    assert compute_budget(OPUS, output_limit=16_000).budget == 174_800
    assert compute_budget(ModelLimits(200_000, 16_000)).budget == 174_800


def test_a_worked_example_of_the_wall() -> None:
    assert compute_budget(ModelLimits(128_000, 16_384), buffer=256).wall == 111_360


def test_an_output_limit_above_the_models_is_clamped() -> None:
    assert compute_budget(OPUS, output_limit=900_000) == compute_budget(OPUS)


def test_a_reserve_of_over_half_the_window_becomes_a_quarter() -> None:
    assert compute_budget(ModelLimits(8_000, 5_000)).reserve == 2_000
    assert compute_budget(ModelLimits(8_192, 4_096)).reserve == 4_096


def test_max_input_bounds_budget_and_wall() -> None:
    budget = compute_budget(ModelLimits(400_000, 128_000, max_input=200_000))
    assert budget.wall == 200_000 - 256
    assert budget.budget == 200_000 - 272_000 // 20


def test_a_cap_bounds_budget_and_wall() -> None:
    budget = compute_budget(OPUS, cap=50_000)
    assert (budget.budget, budget.wall) == (50_000, 50_000)


@pytest.mark.parametrize(("window", "reserve"), [(8_000, 8_000), (100, 64_000), (300, 100)])
def test_a_window_without_room_is_refused_with_what_to_do(window: int, reserve: int) -> None:
    with pytest.raises(InvalidRequest, match="larger window or a smaller reserve"):
        compute_budget(ModelLimits(window, 64_000), output_limit=reserve)


def test_the_longest_prefix_wins() -> None:
    table = load_model_table()
    opus = table.find("claude-opus-4-5-20251101")
    assert opus is not None
    assert (opus.limits.window, opus.limits.max_output, opus.source) == (200_000, 64_000, LimitsSource.PREFIX)
    newer, older = table.find("gpt-5.2-codex"), table.find("gpt-4")
    assert newer is not None
    assert older is not None
    assert newer.limits.max_input == 272_000
    assert older.limits.window == 8_192


def test_an_unknown_model_is_unknown_unless_its_provider_is_named() -> None:
    table = load_model_table()
    assert table.find("frobnicator-9") is None
    named = table.find("openai/frobnicator-9")
    assert named is not None
    assert (named.limits, named.source) == (ModelLimits(131_072, 16_384), LimitsSource.DEFAULT_FALLBACK)
    assert (named.provider, named.service_name) == ("openai", "frobnicator-9")
    routed = table.find("openai/anthropic/claude-opus-4-5")
    assert routed is not None
    assert (routed.provider, routed.service_name) == ("openai", "anthropic/claude-opus-4-5")
    assert routed.limits.window == 200_000
    assert table.find("nowhere/claude-opus-4-5") is None
    assert table.unknown("frobnicator-9").limits == ModelLimits(8_192, 4_096)


def test_a_window_of_the_users_is_an_override() -> None:
    model = load_model_table().find("offline")
    assert model is not None
    assert with_window(model, 8_000).source is LimitsSource.OVERRIDE
    assert with_window(model, 2_000).limits == ModelLimits(2_000, 2_000)


def test_limits_are_tested_on_mean_plus_two_sigma() -> None:
    estimator = Estimator(1.6, 0.075, overhead=10)
    assert estimator.mean(1_000) == 1_610
    assert estimator.upper(1_000) == 1_760
    raw = estimator.raw_within(1_760)
    assert estimator.upper(raw) <= 1_760 < estimator.upper(raw + 1)


def test_bytes_not_characters_are_counted_without_a_vocabulary() -> None:
    assert count_bytes("漢字漢字") == 3
    assert count_bytes("") == 0


@pytest.mark.parametrize(
    ("used", "budget", "summaries", "text"),
    [
        (2_100, 200_000, 0, "2.1k / 200k (1%)"),
        (50_000, 200_000, 2, "50k / 200k (25%), 2 summaries"),
        (999, 8_192, 0, "999 / 8.2k (12%)"),
        (1_000_000, 2_000_000, 0, "1M / 2M (50%)"),
        (0, 100, 0, "0 / 100 (0%)"),
    ],
)
def test_the_compact_form(used: int, budget: int, summaries: int, text: str) -> None:
    assert ContextUsage(used, budget, summaries).format_compact() == text


@pytest.mark.parametrize(
    ("used", "severity"),
    [(699, Severity.GREEN), (700, Severity.YELLOW), (900, Severity.YELLOW), (901, Severity.RED), (5_000, Severity.RED)],
)
def test_severity_edges(used: int, severity: Severity) -> None:
    assert ContextUsage(used, 1_000).severity is severity
