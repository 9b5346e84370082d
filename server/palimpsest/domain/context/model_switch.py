"""What a model switch means for a context."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NoChange:
    """The budget is the same."""

    budget: int


@dataclass(frozen=True, slots=True)
class Shrinking:
    """The budget is smaller."""

    old_budget: int
    new_budget: int
    needs_summarization: bool
    """Whether older messages have to be summarized before the next request."""


@dataclass(frozen=True, slots=True)
class Expanding:
    """The budget is larger."""

    old_budget: int
    new_budget: int
    can_restore: int
    """Summarized messages that stand as originals again."""


ContextAdaptation = NoChange | Shrinking | Expanding


def adapt(old_budget: int, new_budget: int, *, needs_summarization: bool, can_restore: int) -> ContextAdaptation:
    """Budgets in the tokens of their models."""
    if new_budget == old_budget:
        return NoChange(new_budget)
    if new_budget < old_budget:
        return Shrinking(old_budget, new_budget, needs_summarization)
    return Expanding(old_budget, new_budget, can_restore)
