"""`CONTEXT_DEBUG=true`: the numbers the guard decides on, by topic.

Numbers and names only. Whoever calls has no way to hand over text: numbers must be integers, and a name that does not
look like the name of a model, a provider or a tokenizer is written as `?`. The composition root
decides by the environment whether `LOGGER_NAME` is at DEBUG level; below it a call costs a comparison.
"""

from __future__ import annotations

import logging
import operator
import re
from typing import Final, Literal

from palimpsest.domain.context.guard import Decision

LOGGER_NAME: Final = "palimpsest.context"

_log = logging.getLogger(LOGGER_NAME)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,99}")

Topic = Literal[
    "init-counters", "loop-init", "schema-estimate", "provider-eval", "enforce", "tool-eval", "request-metrics"
]


def init_counters(
    *, n_messages: int, current_tokens: int, schema_tokens: int, window: int, margin: int, tokenizer: str
) -> None:
    """A conversation's context was loaded. Raw tokens, which add up to the next request; `window` and `margin` are the
    model's."""
    _write(
        "init-counters",
        {
            "n_messages": n_messages,
            "current": current_tokens,
            "schema": schema_tokens,
            "window": window,
            "margin": margin,
        },
        {"tokenizer": tokenizer},
    )


def loop_init(*, step: int, current_tokens: int, pending_tokens: int, new_tokens: int, schema_tokens: int) -> None:
    """A step of a turn begins. Raw tokens."""
    _write(
        "loop-init",
        {
            "step": step,
            "current": current_tokens,
            "pending": pending_tokens,
            "new": new_tokens,
            "schema": schema_tokens,
        },
        {},
    )


def schema_estimate(*, n_tools: int, schema_tokens: int) -> None:
    """System prompt and tools were counted. Raw tokens."""
    _write("schema-estimate", {"n_tools": n_tools, "schema": schema_tokens}, {})


def provider_eval(decision: Decision, *, provider: str, model: str) -> None:
    """A target was judged before a model call."""
    _write("provider-eval", _numbers(decision), {"provider": provider, "model": model, **_outcome(decision)})


def enforce(decision: Decision) -> None:
    """The guard stepped in: a final turn, or a skipped target."""
    _write("enforce", _numbers(decision), _outcome(decision))


def tool_eval(decision: Decision, *, output_tokens: int) -> None:
    """A tool result was judged. `output_tokens` is raw."""
    _write("tool-eval", {"output": output_tokens, **_numbers(decision)}, _outcome(decision))


def request_metrics(*, raw_tokens: int, mean_tokens: int, upper_tokens: int, real_tokens: int) -> None:
    """A model call is over: what we counted, expected, allowed for, and what the provider says it took."""
    _write(
        "request-metrics",
        {"raw": raw_tokens, "mean": mean_tokens, "upper": upper_tokens, "real": real_tokens},
        {},
    )


def _numbers(decision: Decision) -> dict[str, int]:
    return {
        "limit": decision.limit_tokens,
        "projected": decision.projected_tokens,
        "remaining": decision.remaining_tokens,
    }


def _outcome(decision: Decision) -> dict[str, str]:
    return {"trigger": decision.trigger, "outcome": decision.outcome.value}


def _write(topic: Topic, numbers: dict[str, int], names: dict[str, str]) -> None:
    """Raises TypeError, without the value, for a number that is none."""
    if not _log.isEnabledFor(logging.DEBUG):
        return
    parts = [f"{name}={value if _NAME.fullmatch(value) else '?'}" for name, value in names.items()]
    parts += [f"{name}={operator.index(number)}" for name, number in numbers.items()]
    _log.debug("context-guard/%s %s", topic, " ".join(parts))
