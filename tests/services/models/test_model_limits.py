"""Whose word about a model's limits counts, and where it came from; what the data file promises about its models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.services.scripted import ScriptedProvider

from palimpsest.data import load_model_table
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.models.limits import LimitsSource, ModelLimits, with_window
from palimpsest.domain.settings.settings import ContextSettings, Settings
from palimpsest.services.models.catalog import Models, with_override

OPUS = "claude-opus-4-5"
NANO = "openai/gpt-5-nano"
LIVE = {"anthropic/claude-opus-4-5": ModelLimits(500_000, 32_000, 400_000)}


def models(**given: Any) -> Models:
    return Models(load_model_table(), {}, {}, Settings(), **given)


def resolved(name: str = OPUS, **given: Any) -> tuple[int, int, int | None, LimitsSource]:
    model = models(**given).get(name)
    return (model.limits.window, model.limits.max_output, model.limits.max_input, model.source)


def test_each_source_gives_way_to_the_one_before_it() -> None:
    given: dict[str, Any] = {
        "model_entries": {OPUS: {"window": 70_000}},
        "provider_entries": {"anthropic": {"window": 90_000}},
        "live": LIVE,
    }
    found = [resolved(**given)]
    for gone in ("model_entries", "provider_entries", "live"):
        del given[gone]
        found.append(resolved(**given))
    found += [resolved("anthropic/frobnicator"), resolved("nowhere/frobnicator", provider_entries={"nowhere": {}})]
    assert found == [
        (70_000, 32_000, None, LimitsSource.OVERRIDE),
        (90_000, 32_000, None, LimitsSource.PROVIDER),
        (500_000, 32_000, 400_000, LimitsSource.LIVE),
        (200_000, 64_000, None, LimitsSource.PREFIX),
        (131_072, 16_384, None, LimitsSource.DEFAULT_FALLBACK),
        (8_192, 4_096, None, LimitsSource.DEFAULT_FALLBACK),
    ]


def test_a_limit_on_the_input_belongs_to_its_window() -> None:
    assert resolved("gpt-5.2", model_entries={"gpt-5.2": {"window": 900_000}})[2] is None
    entry = {"gpt-5.2": {"max_input": 100_000}}
    assert resolved("gpt-5.2", model_entries=entry) == (400_000, 128_000, 100_000, LimitsSource.OVERRIDE)


def test_the_output_alone_is_not_a_limit_of_the_input() -> None:
    assert resolved(model_entries={OPUS: {"max_output": 8_000}}) == (200_000, 8_000, None, LimitsSource.PREFIX)


def test_an_output_is_never_larger_than_the_window() -> None:
    assert resolved(model_entries={OPUS: {"window": 9_000}})[:2] == (9_000, 9_000)


@pytest.mark.parametrize("entry", [NANO, "gpt-5-nano"])
@pytest.mark.parametrize("name", [NANO, "gpt-5-nano"])
def test_an_entry_is_found_with_or_without_its_provider(entry: str, name: str) -> None:
    assert resolved(name, model_entries={entry: {"window": 50_000}})[0] == 50_000


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"live": LIVE},
        {"provider_entries": {"anthropic": {"max_input": 150_000}}},
        {"model_entries": {OPUS: {"window": 180_000}}},
    ],
)
def test_what_was_learned_is_the_window_whatever_was_resolved(given: Mapping[str, Any]) -> None:
    window, max_output, max_input, source = resolved(learned={"anthropic/claude-opus-4-5": 120_000}, **given)
    assert (window, max_input, source) == (120_000, None, LimitsSource.LEARNED)
    assert max_output <= 60_000


@pytest.mark.parametrize("window", [4_096, 6_000, 8_192, 16_384])
@pytest.mark.parametrize("output_limit", [None, 300, 12_000, 64_000])
@pytest.mark.parametrize("told", ["learned", "live"])
def test_window_reserve_and_margin_follow_from_what_a_service_told(
    window: int, output_limit: int | None, told: str
) -> None:
    """Not from the window that was assumed before, nor from what the user set for larger ones."""
    word: dict[str, Any] = {"live": {"openai/m": ModelLimits(window, window)}, "learned": {"openai/m": window}}
    settings = Settings(context=ContextSettings(output_limit=output_limit))
    found = Models(load_model_table(), {}, {}, settings, **{told: word[told]})
    budget = found.budget(found.get("openai/m"))
    reserve = 300 if output_limit == 300 else window // 4
    margin = max((window - reserve) // 20, 256)
    assert (budget.window, budget.reserve, budget.margin) == (window, reserve, margin)
    assert budget.budget == window - reserve - margin


def test_a_window_that_was_learned_leaves_what_its_budget_is_or_nothing() -> None:
    found = models()
    model = found.get("openai/m")
    left = found.budget_within(model, 8_192)
    found.learn(model, 8_192)
    assert left == found.budget(found.get("openai/m"))
    assert [found.budget_within(model, limit) for limit in (0, 1, 300)] == [None, None, None]


def test_what_was_learned_caps_an_override_too() -> None:
    offline = models().get("offline")
    capped = with_override(models(learned={"offline/offline": 5_000}), with_window(offline, 9_000)).get("offline")
    assert (capped.limits.window, capped.limits.max_input, capped.source) == (5_000, None, LimitsSource.LEARNED)


def test_a_learned_limit_never_raises_one() -> None:
    learned = {"anthropic/claude-opus-4-5": 200_000, "openai/gpt-5.2": 300_000}
    assert resolved(learned=learned) == resolved()
    assert resolved("gpt-5.2", learned=learned) == resolved("gpt-5.2")


def test_the_users_word_about_the_input_lifts_what_was_learned() -> None:
    given: dict[str, Any] = {
        "learned": {"anthropic/claude-opus-4-5": 120_000},
        "model_entries": {OPUS: {"max_input": 190_000}},
    }
    assert resolved(**given)[2:] == (190_000, LimitsSource.OVERRIDE)


def test_what_is_known_of_one_service_says_nothing_of_another() -> None:
    learned = {"openai/anthropic/claude-opus-4-5": 50_000}
    assert resolved(learned=learned)[0] == 200_000
    assert resolved("openai/anthropic/claude-opus-4-5", learned=learned)[0] == 50_000


def test_the_buffer_is_the_models_then_the_providers_then_the_default() -> None:
    given: dict[str, Any] = {
        "model_entries": {OPUS: {"buffer": 1_000}},
        "provider_entries": {"anthropic": {"buffer": 2_000}},
        "default_buffer": 3_000,
    }
    room = 200_000 - 64_000
    walls = [models(**given).budget(models(**given).get(OPUS)).wall]
    for gone in tuple(given):
        del given[gone]
        walls.append(models(**given).budget(models(**given).get(OPUS)).wall)
    assert walls == [room - 1_000, room - 2_000, room - 3_000, room - 256]


def test_a_large_buffer_is_the_margin() -> None:
    found = models(model_entries={OPUS: {"buffer": 50_000}})
    assert found.budget(found.get(OPUS)).margin == 50_000
    none = models(model_entries={OPUS: {"buffer": 0}})
    assert none.budget(none.get(OPUS)).wall == 136_000


def test_the_tokenizer_of_a_model_entry_is_used() -> None:
    model = models(model_entries={OPUS: {"tokenizer": "o200k_base"}}).get(OPUS)
    assert (model.tokenizer, model.source) == ("o200k_base", LimitsSource.PREFIX)


@pytest.mark.parametrize("value", ["200k", 0, -5, True])
def test_a_number_that_cannot_be_meant_is_refused_by_its_name(value: int | str) -> None:
    with pytest.raises(InvalidRequest, match=r"models\.claude-opus-4-5\.window"):
        models(model_entries={OPUS: {"window": value}}).get(OPUS)
    with pytest.raises(InvalidRequest, match=r"providers\.anthropic\.max_input"):
        models(provider_entries={"anthropic": {"max_input": value}}).get(OPUS)


def test_a_provider_of_the_users_own_serves_known_and_unknown_models() -> None:
    found = models(provider_entries={"groq": {"window": 60_000}})
    known, unknown = found.get("groq/claude-opus-4-5"), found.get("groq/frob/nicator")
    assert (known.provider, known.service_name, known.limits.max_output) == ("groq", "claude-opus-4-5", 60_000)
    assert (unknown.provider, unknown.service_name) == ("groq", "frob/nicator")
    assert unknown.limits == ModelLimits(60_000, 4_096)
    with pytest.raises(NotFound):
        found.get("grok/frobnicator")


def test_a_model_nobody_knows_any_more_keeps_cautious_limits() -> None:
    assert models().assume("frobnicator").limits == ModelLimits(8_192, 4_096)


@pytest.mark.parametrize("entries", [{}, {"model_entries": {NANO: {"window": 50_000}, "nobody": {"window": 9_000}}}])
def test_every_choice_has_a_budget_and_says_what_is_missing(entries: Mapping[str, Any]) -> None:
    found = models(**entries)
    found = replace(found, settings=Settings(model="offline"), providers={"offline": ScriptedProvider([])})
    choices = {choice.model.name: choice for choice in found.choices()}
    assert (NANO in choices) == bool(entries)
    assert "nobody" not in choices
    assert "gemini-3-pro" not in choices
    assert all(choice.budget.budget > 0 for choice in choices.values())
    assert all(choice.is_available or choice.hint for choice in choices.values())


@pytest.mark.parametrize(
    ("name", "provider", "window", "max_output", "max_input"),
    [
        ("claude-opus-4-5-20251101", "anthropic", 200_000, 64_000, None),
        ("claude-haiku-4-5", "anthropic", 200_000, 64_000, None),
        ("claude-opus-5-5", "anthropic", 1_000_000, 128_000, None),
        ("claude-sonnet-5", "anthropic", 1_000_000, 128_000, None),
        ("gpt-5.2", "openai", 400_000, 128_000, 272_000),
        ("gpt-5-nano", "openai", 400_000, 128_000, 272_000),
        ("gemini-3-pro-preview", "gemini", 1_048_576, 65_536, None),
        ("gemini-3-flash-preview", "gemini", 1_048_576, 65_536, None),
        ("ollama/qwen3", "ollama", 8_192, 4_096, None),
    ],
)
def test_the_table_knows_older_models_and_todays(
    name: str, provider: str, window: int, max_output: int, max_input: int | None
) -> None:
    model = models().get(name)
    assert (model.provider, model.limits) == (provider, ModelLimits(window, max_output, max_input))


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("anthropic", ("claude-haiku-4-5", 190_000)),
        ("openai", ("gpt-5-nano", 272_000)),
        ("gemini", ("gemini-3.6-flash", 983_040)),
        ("offline", None),
        ("nowhere", None),
    ],
)
def test_the_small_model_of_a_provider_takes_what_it_is_given(provider: str, expected: tuple[str, int] | None) -> None:
    table = load_model_table()
    assert table.small_model(provider) == expected
    assert table.librarian_model(provider) == expected
    if expected is not None:
        name, max_input = expected
        model = table.find(name)
        assert model is not None
        assert model.provider == provider
        assert max_input <= (model.limits.max_input or model.limits.window)


class Named(ScriptedProvider):
    def __init__(self, name: str) -> None:
        super().__init__([], name)


def test_with_ollama_alone_the_first_model_it_told_is_for_new_conversations() -> None:
    offline, ollama = Named("offline"), Named("ollama")
    limits = ModelLimits(32_768, 32_768)
    live = {"ollama/qwen3:8b": limits, "ollama/gemma3:4b": limits}
    given = Models(load_model_table(), {"offline": offline, "ollama": ollama}, {}, Settings(), live=live)
    assert given.default().name == "ollama/qwen3:8b"
    assert {choice.model.name for choice in given.choices() if choice.is_available} >= {"ollama/gemma3:4b", "offline"}
    live.clear()
    assert given.default().name == "offline", "until it has told its models"


def test_a_service_of_the_table_comes_before_what_ollama_told() -> None:
    live = {"ollama/qwen3:8b": ModelLimits(32_768, 32_768)}
    providers = {"ollama": Named("ollama"), "gemini": Named("gemini")}
    assert Models(load_model_table(), providers, {}, Settings(), live=live).default().provider == "gemini"


def test_without_any_model_it_is_said_what_to_do() -> None:
    hints = {"ollama": "set OLLAMA_HOST"}
    with pytest.raises(NotFound, match=r"No model can be used yet: set OLLAMA_HOST\."):
        Models(load_model_table(), {"ollama": Named("ollama")}, hints, Settings()).default()


# -------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("claude-sonet", "claude-sonnet-5"),
        ("anthropic/claude-opuss-5", "anthropic/claude-opus-5"),
        ("gpt-4omni", "gpt-4o"),
        ("gemini-3.6-flsh", "gemini-3.6-flash"),
    ],
)
def test_a_name_like_a_known_one_is_doubted_and_can_be_used(name: str, meant: str) -> None:
    found = models()
    assert found.get(name).name == name
    assert meant in str(found.doubt(name))


@pytest.mark.parametrize(("name", "meant"), [("Claude-Haiku-4-5", "claude-haiku-4-5"), ("gtp-4o", "gpt-4o")])
def test_a_name_that_is_none_is_refused_with_what_was_meant(name: str, meant: str) -> None:
    with pytest.raises(NotFound, match=rf"Did you mean .*{meant}"):
        models().get(name)


@pytest.mark.parametrize(
    "name",
    [
        *load_model_table().names,
        "claude-sonnet-4-5-20250929",
        "claude-opus-4-1",
        "gpt-4o-mini",
        "gpt-5.1",
        "openai/gpt-oss-120b",
        "openai/qwen3",
        "ollama/qwen3:8b",
        "anthropic/frobnicator",
    ],
)
def test_a_known_name_another_version_and_a_name_of_its_own_are_not_doubted(name: str) -> None:
    assert models().doubt(name) is None


def test_where_a_service_told_its_models_another_version_is_doubted_too() -> None:
    told = {"ollama/qwen3:8b": ModelLimits(40_000, 4_000), **LIVE}
    assert "ollama/qwen3:8b" in str(models(live=told).doubt("ollama/qwen4:8b"))
    assert "claude-opus-4-5" in str(models(live=told).doubt("claude-opus-4-1"))
    assert models(live=told).doubt("ollama/qwen3:8b") is None


def test_a_name_that_the_user_described_is_not_doubted() -> None:
    assert models(model_entries={"gpt-4omni": {"window": 5_000}}).doubt("gpt-4omni") is None


def test_a_model_that_cannot_be_used_is_told_with_what_was_meant() -> None:
    found = models()
    with pytest.raises(NotFound, match=r"cannot be used yet: .*\. No model 'claude-sonet' of anthropic is known here"):
        found.provider(found.get("claude-sonet"))
