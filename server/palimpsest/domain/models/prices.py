"""What services charge for a call, in US dollars."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain.models.provider import TokenUsage

_PER: Final = 1_000_000
NANO: Final = 1_000_000_000
"""Nanodollars in a dollar: costs are added up as whole numbers."""
_SNAPSHOT: Final = re.compile(r"[-@:](\d{4}-\d\d-\d\d|\d{4,8}|latest)$")
"""What may stand behind a model's name without making it another model."""

Steps = tuple[tuple[int, float], ...]
"""Prices of a million tokens, each with the number of prompt tokens above which it holds; the first one above 0."""


@dataclass(frozen=True, slots=True)
class Price:
    """The prices of one model."""

    input: Steps
    output: Steps
    cache_read: Steps
    cache_write: Steps

    def of(self, usage: TokenUsage, *, prompt_tokens: int | None = None) -> int:
        """What a call costs, in nanodollars. `prompt_tokens`: the length of a prompt, where `usage` is of several
        calls."""
        prompt = usage.prompt_tokens if prompt_tokens is None else prompt_tokens
        parts = (
            (usage.input_tokens, self.input),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
            (usage.output_tokens, self.output),
        )
        return round(sum(tokens * _at(prompt, steps) for tokens, steps in parts) * (NANO / _PER))


def price(
    input_price: float, output_price: float, cache_read: float | None = None, cache_write: float | None = None
) -> Price:
    """A price that is the same for every length. What is not given costs as much as input."""
    return Price(
        ((0, input_price),),
        ((0, output_price),),
        ((0, input_price if cache_read is None else cache_read),),
        ((0, input_price if cache_write is None else cache_write),),
    )


class PriceTable:
    """The prices that were known on a day, by provider and model; from the data file `prices.json`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.as_of: str = data["as_of"]
        """An ISO date."""
        self._models: Mapping[str, Mapping[str, Mapping[str, Any]]] = data["models"]

    def find(self, provider: str, service_name: str) -> Price | None:
        """The price of a model by the service's name for it; None when it is not known."""
        models = self._models.get(provider, {})
        known = service_name if service_name in models else _SNAPSHOT.sub("", service_name)
        return _read(models[known]) if known in models else None


def _read(entry: Mapping[str, Any]) -> Price:
    input_steps = _steps(entry["input"])
    read, write = (entry.get(name) for name in ("cache_read", "cache_write"))
    return Price(
        input_steps,
        _steps(entry["output"]),
        input_steps if read is None else _steps(read),
        input_steps if write is None else _steps(write),
    )


def _steps(value: float | Sequence[Sequence[float]]) -> Steps:
    if isinstance(value, int | float):
        return ((0, float(value)),)
    return tuple((int(above), float(amount)) for above, amount in value)


def _at(prompt_tokens: int, steps: Steps) -> float:
    return next(amount for above, amount in reversed(steps) if prompt_tokens > above or above == 0)
