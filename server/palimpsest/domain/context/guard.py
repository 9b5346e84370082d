"""The guard: ok, skip or final before each model call, and a reservation before each tool result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Counters:
    """Raw tokens of the next request, by where they stand."""

    current: int
    """In the committed context."""
    pending: int
    """Written by the running step, not committed yet."""
    new: int
    """Asked for now: what the decision is about."""
    schema: int
    """System prompt and tool schemas."""

    def __post_init__(self) -> None:
        if min(self.current, self.pending, self.new, self.schema) < 0:
            raise ValueError("guard counters cannot be negative")

    @property
    def projected(self) -> int:
        return self.current + self.pending + self.new + self.schema


class Outcome(StrEnum):
    OK = "ok"
    FINAL = "forced_final"
    SKIP = "skipped_provider"
    REFUSED = "token_budget_exceeded"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the guard decided, with the numbers it decided on (in the model's tokens, upper estimate)."""

    trigger: str
    """`turn_preflight` or `tool_preflight`."""
    outcome: Outcome
    limit_tokens: int
    projected_tokens: int

    @property
    def remaining_tokens(self) -> int:
        """Negative when over."""
        return self.limit_tokens - self.projected_tokens


def turn_preflight(projected_tokens: int, limit_tokens: int, *, tool_budget_exceeded: bool) -> Decision:
    """The decision before a model call whose request takes `projected_tokens`, by the upper estimate.

    `FINAL` after a tool result was refused in this turn: the model is asked to answer with what it has. `SKIP` when
    the request does not fit: whoever has another target tries that.
    """
    outcome = Outcome.OK
    if projected_tokens > limit_tokens:
        outcome = Outcome.SKIP
    elif tool_budget_exceeded:
        outcome = Outcome.FINAL
    return Decision("turn_preflight", outcome, limit_tokens, projected_tokens)


def tool_preflight(projected_tokens: int, limit_tokens: int) -> Decision:
    """The decision about a tool result with which the next request takes `projected_tokens`, by the upper estimate."""
    outcome = Outcome.OK if projected_tokens <= limit_tokens else Outcome.REFUSED
    return Decision("tool_preflight", outcome, limit_tokens, projected_tokens)
