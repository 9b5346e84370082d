"""How full a context is, as people read it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from palimpsest.wording import counted


class Severity(IntEnum):
    """0 under 70 %, 1 from 70 to 90 %, 2 over 90 % of the budget."""

    GREEN = 0
    YELLOW = 1
    RED = 2


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """Used and budget, in the model's tokens."""

    used_tokens: int
    budget_tokens: int
    summarized_segments: int = 0
    """Summaries that stand in the context."""

    @property
    def percentage(self) -> float:
        """0.0 to 100.0, more when over."""
        return 100.0 * self.used_tokens / self.budget_tokens if self.budget_tokens else 100.0

    @property
    def severity(self) -> Severity:
        if self.percentage < 70:
            return Severity.GREEN
        return Severity.YELLOW if self.percentage <= 90 else Severity.RED

    def format_compact(self) -> str:
        """`2.1k / 200k (1%)`, or `50k / 200k (25%), 2 summaries`."""
        text = f"{_short(self.used_tokens)} / {_short(self.budget_tokens)} ({round(self.percentage)}%)"
        n = self.summarized_segments
        return f"{text}, {counted(n, 'summary')}" if n else text


def _short(tokens: int) -> str:
    if tokens < 1_000:
        return str(tokens)
    unit, scale = ("M", 1_000_000) if tokens >= 999_500 else ("k", 1_000)
    value = tokens / scale
    return f"{value:.0f}{unit}" if value >= 100 or value == int(value) else f"{value:.1f}".removesuffix(".0") + unit
