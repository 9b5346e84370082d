"""CONTEXT_DEBUG writes topics, numbers and names only: no text can get in."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

from palimpsest.domain.context.guard import Decision, Outcome
from palimpsest.services.context import debug_log as context_debug

DECISION = Decision("turn_preflight", Outcome.SKIP, 100_000, 120_000)
TOPICS: dict[str, Callable[..., None]] = {
    "init-counters": context_debug.init_counters,
    "loop-init": context_debug.loop_init,
    "schema-estimate": context_debug.schema_estimate,
    "provider-eval": context_debug.provider_eval,
    "enforce": context_debug.enforce,
    "tool-eval": context_debug.tool_eval,
    "request-metrics": context_debug.request_metrics,
}
NAMES = {"provider", "model", "tokenizer"}


def arguments(function: Any, name: str = "gpt-5.2", number: object = 7) -> dict[str, Any]:
    by_type = {int: number, str: name, Decision: DECISION}
    hints = get_type_hints(function)
    return {parameter: by_type[hints[parameter]] for parameter in inspect.signature(function).parameters}


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_is_one_line_of_names_and_numbers(topic: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, context_debug.LOGGER_NAME)
    TOPICS[topic](**arguments(TOPICS[topic]))
    [record] = caplog.records
    assert (record.name, record.levelno) == (context_debug.LOGGER_NAME, logging.DEBUG)
    assert re.fullmatch(rf"context-guard/{topic}( [a-z_]+=[\w.:/@-]+)+", record.getMessage())
    assert re.search(r"=-?\d+$", record.getMessage())


@pytest.mark.parametrize("topic", TOPICS)
def test_only_names_of_models_providers_and_tokenizers_are_strings(topic: str) -> None:
    hints = get_type_hints(TOPICS[topic])
    del hints["return"]
    assert set(hints.values()) <= {int, str, Decision}
    assert {name for name, kind in hints.items() if kind is str} <= NAMES


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("text", ["my secret plan", "line\nline", "", "x" * 101, "naïve"])
def test_text_in_place_of_a_name_is_not_written(topic: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, context_debug.LOGGER_NAME)
    function = TOPICS[topic]
    function(**arguments(function, name=text))
    if set(arguments(function)) & NAMES:
        assert "=?" in caplog.text
    assert not text or text not in caplog.text


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if int in get_type_hints(TOPICS[topic]).values()])
def test_text_in_place_of_a_number_is_refused_without_quoting_it(topic: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, context_debug.LOGGER_NAME)
    with pytest.raises(TypeError) as caught:
        TOPICS[topic](**arguments(TOPICS[topic], number="my secret plan"))
    assert "secret" not in str(caught.value)
    assert not caplog.records


def test_nothing_is_written_unless_it_is_switched_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, context_debug.LOGGER_NAME)
    context_debug.enforce(DECISION)
    assert not caplog.records


def test_the_numbers_are_the_decisions(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, context_debug.LOGGER_NAME)
    context_debug.enforce(DECISION)
    assert caplog.messages == [
        "context-guard/enforce trigger=turn_preflight outcome=skipped_provider "
        "limit=100000 projected=120000 remaining=-20000"
    ]
