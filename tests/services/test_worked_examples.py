"""Worked examples and numbers of budgets, limits, the guard, counting and facts that no other test holds.

The budget, the wall, the model table, the order of buffers, severities and the compact form are in `test_limits` and
`test_model_limits`; the default settings are in `test_settings`.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from tests.domain.telling import exchange

from palimpsest.data import load_model_table
from palimpsest.domain.context.guard import Counters, Outcome, tool_preflight, turn_preflight
from palimpsest.domain.context.summaries.node import OPENING
from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD, Estimator, count_bytes, count_content, count_tools
from palimpsest.domain.context.usage import ContextUsage, Severity
from palimpsest.domain.errors import ErrorKind, RecentMessagesTooLarge, SummarizationNeeded
from palimpsest.domain.facts.extraction.by_rules import by_rules
from palimpsest.domain.facts.fact import FactType
from palimpsest.domain.messages import Content, Role, TextPart, ToolCallPart, ToolResultPart, tool_result, user_message
from palimpsest.domain.models.limits import DEFAULT_BUFFER, LimitsSource, ModelLimits, compute_budget
from palimpsest.domain.settings.settings import ContextSettings, Settings
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.models.catalog import Models
from palimpsest.services.models.tokenizers import load_tokenizer

TOKENS = st.integers(0, 200_000)
EXACT = Estimator()
WALL = compute_budget(ModelLimits(128_000, 16_384), buffer=256).wall
"""111,360."""


def test_token_budget_calculation_the_margin_is_five_percent_of_what_the_answer_leaves() -> None:
    budget = compute_budget(ModelLimits(200_000, 64_000))
    assert (budget.window - budget.reserve, budget.margin) == (136_000, 6_800)
    assert 184_000 - compute_budget(ModelLimits(200_000, 64_000), output_limit=16_000).budget == 9_200


@pytest.mark.parametrize(
    ("name", "window", "max_output"),
    [
        ("claude-opus-4-5", 200_000, 64_000),
        ("claude-haiku-4-5", 200_000, 64_000),
        ("gpt-5.2", 400_000, 128_000),
        ("gemini-3-pro", 1_048_576, 65_536),
    ],
)
@pytest.mark.parametrize("suffix", ["", "-20991231"])
def test_known_model_limits_by_prefix(name: str, window: int, max_output: int, suffix: str) -> None:
    model = load_model_table().find(name + suffix)
    assert model is not None
    assert (model.limits.window, model.limits.max_output) == (window, max_output)
    assert model.source is LimitsSource.PREFIX


def test_known_model_limits_of_an_unknown_model_are_8192_and_4096() -> None:
    models = Models(load_model_table(), {}, {}, Settings())
    budget = models.budget(models.assume("nobody-knows-me"))
    assert (budget.window, budget.reserve) == (8_192, 4_096)
    assert (budget.budget, budget.wall) == (4_096 - 256, 4_096 - 256)


@given(used=TOKENS, budget=st.integers(1, 200_000))
def test_severity_levels_follow_the_percentage(used: int, budget: int) -> None:
    usage = ContextUsage(used, budget)
    tenths = 10 * used / budget
    expected = Severity.GREEN if tenths < 7 else Severity.YELLOW if tenths <= 9 else Severity.RED
    assert (usage.severity, int(usage.severity)) == (expected, [0, 1, 2][expected])
    assert usage.percentage == pytest.approx(10 * tenths)


@pytest.mark.parametrize(
    ("used", "severity"),
    [(90_439, 0), (90_440, 1), (116_280, 1), (116_281, 2), (129_200, 2)],
    ids=["under 70 %", "70 %", "90 %", "over 90 %", "full"],
)
def test_severity_levels_of_a_budget_of_129200(used: int, severity: int) -> None:
    assert ContextUsage(used, 129_200).severity == severity


def test_token_counting_by_tiktoken_with_four_tokens_of_overhead_a_message(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    count = load_tokenizer("cl100k_base", tmp_path_factory.mktemp("vocabularies")).count
    assert count("Hello, world!") == 4
    assert count_content(user_message("What is Rust?"), count) == 4 + count("What is Rust?") == 8
    assert count_content(Content(Role.ASSISTANT, (TextPart("Hello"), TextPart(", world!"))), count) == 4 + 4


def test_efficiency_without_an_encoder_byte_lengths_are_counted() -> None:
    assert [count_bytes("x" * n) for n in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]
    assert count_bytes("é" * 4) == 2
    assert count_content(user_message("What is Rust?"), count_bytes) == 4 + 4


def test_working_context_a_summary_begins_with_its_fixed_prefix() -> None:
    assert OPENING == "[Earlier conversation summary]"


def test_summarization_needed_names_the_excess_the_messages_and_what_to_do() -> None:
    needed = SummarizationNeeded(1_200, (0, 1, 2, 3), 129_200)
    assert (needed.excess_tokens, needed.messages_to_summarize) == (1_200, (0, 1, 2, 3))
    assert needed.suggestion == (
        "4 older messages, summarized before the next request, will free at least 1,200 tokens."
    )
    assert needed.suggestion in str(needed)
    assert (needed.detail.limit_tokens, needed.detail.projected_tokens) == (129_200, 130_400)


def test_recent_messages_too_large_has_the_numbers_and_both_ways_out() -> None:
    error = RecentMessagesTooLarge(140_000, 129_200, 4)
    assert (error.required_tokens, error.budget_tokens, error.message_count) == (140_000, 129_200, 4)
    assert error.kind is ErrorKind.RECENT_MESSAGES_TOO_LARGE
    assert not error.is_retryable
    for said in ("140,000", "129,200", "4 messages", "Shorten the message", "larger window"):
        assert said in str(error)


def test_the_configuration_has_defaults_that_stay() -> None:
    settings = ContextSettings()
    assert settings.preserve_recent == 4
    assert (settings.target, settings.tool_age) == (0.50, 10)


@given(current=TOKENS, pending=TOKENS, new=TOKENS, schema=TOKENS)
def test_guard_projection_is_current_pending_new_and_schema(current: int, pending: int, new: int, schema: int) -> None:
    counters = Counters(current, pending, new, schema)
    assert counters.projected == current + pending + new + schema
    decision = turn_preflight(EXACT.upper(counters.projected), WALL, tool_budget_exceeded=False)
    assert (decision.projected_tokens, decision.limit_tokens) == (counters.projected, 111_360)
    assert (decision.outcome is Outcome.OK) == (counters.projected <= 111_360)


@pytest.mark.parametrize(
    ("new", "turn", "tool"),
    [(59, "ok", "ok"), (60, "ok", "ok"), (61, "skipped_provider", "token_budget_exceeded")],
    ids=["one below", "exactly at", "one above"],
)
def test_limit_calculation_at_the_edge_of_111360(new: int, turn: str, tool: str) -> None:
    counters = Counters(100_000, 10_000, new, 1_300)
    assert turn_preflight(EXACT.upper(counters.projected), WALL, tool_budget_exceeded=False).outcome == turn
    assert tool_preflight(EXACT.upper(counters.projected), WALL).outcome == tool


def test_context_window_hierarchy_model_then_provider_then_131072_with_a_buffer_of_256() -> None:
    name = "openai/nobody-knows-me"
    by_model: dict[str, Any] = {
        "model_entries": {name: {"window": 50_000}},
        "provider_entries": {"openai": {"window": 60_000}},
    }
    by_provider: dict[str, Any] = {"provider_entries": by_model["provider_entries"]}
    windows = []
    for entries in (by_model, by_provider, dict[str, Any]()):
        models = Models(load_model_table(), {}, {}, Settings(), **entries)
        windows.append(models.get(name).limits.window)
    assert windows == [50_000, 60_000, 131_072]
    budget = models.budget(models.get(name))
    assert (budget.reserve, budget.wall, DEFAULT_BUFFER) == (16_384, 131_072 - 16_384 - 256, 256)


def test_tool_budget_callback_a_refused_result_makes_the_next_call_the_final_one() -> None:
    counters = Counters(100_000, 0, 0, 1_000)
    refused = tool_preflight(EXACT.upper(counters.projected + 20_000), WALL)
    assert refused.outcome.value == "token_budget_exceeded"
    final = turn_preflight(EXACT.upper(counters.projected), WALL, tool_budget_exceeded=True)
    assert (final.outcome, final.trigger) == (Outcome.FINAL, "turn_preflight")


def test_telemetry_has_trigger_outcome_limit_projected_and_remaining() -> None:
    ok = tool_preflight(EXACT.upper(Counters(100_000, 0, 1_360, 0).projected), WALL)
    assert (ok.trigger, ok.limit_tokens, ok.projected_tokens, ok.remaining_tokens) == (
        "tool_preflight",
        111_360,
        101_360,
        10_000,
    )
    over = turn_preflight(120_000, WALL, tool_budget_exceeded=False)
    assert (over.trigger, over.outcome.value, over.remaining_tokens) == ("turn_preflight", "skipped_provider", -8_640)


def test_token_counter_counts_tool_calls_and_their_results() -> None:
    def by_words(text: str) -> int:
        return len(text.split())

    call = ToolCallPart("call-1", "read file", '{"path": "src/app.py"}')
    said = Content(Role.ASSISTANT, (TextPart("I read it."), call))
    assert count_content(said, by_words) == MESSAGE_OVERHEAD + 3 + 2 + 2
    answered = tool_result(call, "one two three four")
    assert isinstance(answered.parts[0], ToolResultPart)
    assert count_content(answered, by_words) == MESSAGE_OVERHEAD + 4
    schema = ToolSchema("read file", "reads a file", {"type": "object"})
    assert count_tools((schema, schema), by_words) == 2 * (MESSAGE_OVERHEAD + 2 + 3 + 1)


@pytest.mark.parametrize(
    ("said", "fact_type"),
    [
        ("File `src/lib.rs` contains the main `App` struct", FactType.ENTITY),
        ("The staging server is at https://staging.example.com:8443/api.", FactType.ENTITY),
        ("Chose async/await for concurrency because the drivers support it", FactType.DECISION),
        ("Must stay compatible with API v2", FactType.CONSTRAINT),
        ("Added `validate()` method to `User` struct", FactType.CODE_STATE),
        ("Never modify the authentication flow", FactType.CONSTRAINT),
    ],
)
def test_fact_types_each_example_is_found_without_a_model(said: str, fact_type: FactType) -> None:
    (found,) = by_rules(exchange(user_message(said)))
    assert (found.fact.fact_type, found.fact.content) == (fact_type, said)
    if "://" in said:
        assert found.fact.entities[0] == "https://staging.example.com:8443/api"
