"""A value of settings that cannot be meant does not exist, and the table says of each setting what may be written."""

from __future__ import annotations

import math
from typing import Any

import pytest

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.settings.schema import Kind, Setting
from palimpsest.domain.settings.settings import (
    SETTINGS,
    ContextSettings,
    LibrarianSettings,
    ModelSettings,
    ProviderSettings,
    Settings,
    find_setting,
    to_entries,
)


def setting(key: str) -> Setting:
    return next(each for each in SETTINGS if each.key == key)


def test_the_defaults_that_people_rely_on_stay() -> None:
    relied_on = {
        "targets": (),
        "storage.synchronous": "NORMAL",
        "context.infinity": True,
        "context.threshold": 0.97,
        "context.target": 0.50,
        "context.switch_target": 0.60,
        "context.preserve_recent": 4,
        "context.tool_age": 10,
        "context.max_tokens": 0,
        "context.strategies": ("threshold", "goal_batch"),
        "context.layout": "log",
        "summarization.target_ratio": 0.30,
        "summarization.kind": "hybrid",
        "tools.response_max_bytes": 32_768,
        "tools.run_command": False,
        "redaction.enabled": True,
        "librarian.enabled": True,
        "librarian.daily_tokens": 200_000,
        "librarian.rerank": False,
    }
    assert {key: setting(key).default for key in relied_on} == relied_on


def test_a_project_may_set_its_models_and_thresholds_and_nothing_else() -> None:
    assert {each.key for each in SETTINGS if each.may_project_set} == {
        "model",
        "targets",
        "context.threshold",
        "context.target",
        "context.preserve_recent",
        "context.tool_age",
    }


def test_every_default_is_allowed_and_no_two_settings_share_a_key_or_a_variable() -> None:
    for each in SETTINGS:
        assert each.default is None or each.read(each.key, each.default) == each.default
    variables = [each.variable for each in SETTINGS if each.variable]
    assert len(set(variables)) == len(variables)
    assert len({each.key for each in SETTINGS}) == len(SETTINGS)


def test_a_variable_is_named_after_its_key_and_a_named_models_setting_has_none() -> None:
    assert setting("tools.response_max_bytes").variable == "PALIMPSEST_TOOLS_RESPONSE_MAX_BYTES"
    assert setting("models.NAME.window").variable is None


def test_a_path_finds_its_setting_whatever_a_model_is_called() -> None:
    assert find_setting(("models", "context.threshold", "window")) is setting("models.NAME.window")
    assert find_setting(("context", "threshold")) is setting("context.threshold")
    assert find_setting(("context",)) is None
    assert find_setting(("context", "threshold", "window")) is None


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: ContextSettings(threshold=1.01), "context.threshold must be a number above 0 and at most 1"),
        (lambda: ContextSettings(threshold=math.nan), "context.threshold must be a number above 0 and at most 1"),
        (lambda: ContextSettings(target=0), "context.target must be a number above 0"),
        (lambda: ContextSettings(target=0.97), r"context.target \(0.97\) must be below context.threshold \(0.97\)"),
        (lambda: ContextSettings(switch_target=-1), "context.switch_target must be"),
        (lambda: ContextSettings(preserve_recent=0), "context.preserve_recent must be a whole number of at least 1"),
        (lambda: ContextSettings(tool_age=0), "context.tool_age must be"),
        (lambda: ContextSettings(max_tokens=-1), "context.max_tokens must be a whole number of at least 0"),
        (lambda: ContextSettings(output_limit=0), "context.output_limit must be a whole number of at least 1"),
        (lambda: ContextSettings(strategies=()), "context.strategies must be a list of at least 1 of"),
        (lambda: ContextSettings(strategies=("threshold", "threshold")), "context.strategies must be .* none twice"),
        (lambda: ContextSettings(target_ratio=0), "summarization.target_ratio must be"),
        (lambda: ContextSettings(response_max_bytes=0), "tools.response_max_bytes must be"),
        (lambda: ContextSettings(summary_model=" "), "summarization.model must be a text of one line"),
        (lambda: LibrarianSettings(daily_tokens=-1), "librarian.daily_tokens must be"),
        (lambda: ModelSettings(window=0), "models.NAME.window must be"),
        (
            lambda: ModelSettings(window=10, max_output=11),
            r"max_output \(11\) must be at most models.NAME.window \(10\)",
        ),
        (lambda: ModelSettings(window=10, max_input=11), r"max_input \(11\) must be at most"),
        (lambda: ProviderSettings(buffer=-1), "providers.NAME.buffer must be"),
        (lambda: Settings(targets=("a", "a")), "targets must be a list of names, none twice"),
        (lambda: Settings(model="two\nlines"), "model must be a text of one line"),
    ],
)
def test_what_is_out_of_range_is_refused_under_its_key_with_what_is_allowed(build: Any, sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        build()


def test_everything_wrong_with_one_part_is_said_at_once() -> None:
    with pytest.raises(InvalidRequest, match=r"context.tool_age must be .* context.max_tokens must be"):
        ContextSettings(tool_age=0, max_tokens=-1)


@pytest.mark.parametrize(
    "address", ["ftp://host", "host", "http://", "https://me:w0rd@host/v1", "https://host/?key=w0rd", "http://[", ""]
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InvalidRequest, match=r"providers\.NAME\.base_url") as caught:
        ProviderSettings(base_url=address)
    assert "w0rd" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://localhost:8000/v1", "https://api.example.org", "http://[::1]:11434"])
def test_an_address_of_a_service_is_taken(address: str) -> None:
    assert ProviderSettings(base_url=address).base_url == address


@pytest.mark.parametrize(
    ("kind", "key", "values"),
    [
        (Kind.BOOLEAN, "context.infinity", [1, 0, "true", None]),
        (Kind.INTEGER, "context.tool_age", [True, 1.0, "1", None]),
        (Kind.NUMBER, "context.threshold", [True, "0.5", math.nan, math.inf]),
        (Kind.STRING, "model", [5, True, "", ("a",)]),
        (Kind.LIST, "targets", ["gpt-4o", [["a"]], (5,), ("",), (["a"],)]),
        (Kind.LIST, "context.strategies", [("unknown",), ("threshold", 5)]),
    ],
)
def test_a_value_of_another_type_is_not_taken_for_one(kind: Kind, key: str, values: list[object]) -> None:
    assert setting(key).kind is kind
    for value in values:
        with pytest.raises(InvalidRequest, match=key):
            setting(key).read(key, value)


def test_a_whole_number_is_a_number_and_a_list_is_loaded_as_a_tuple() -> None:
    assert setting("context.threshold").read("", 1) == 1.0
    assert setting("targets").read("", ["a", "b"]) == ("a", "b")


def test_an_entry_holds_what_is_set_and_a_buffer_of_nothing_is() -> None:
    assert to_entries({"a": ModelSettings(window=5, buffer=0), "b": ModelSettings()}) == {
        "a": {"window": 5, "buffer": 0},
        "b": {},
    }
