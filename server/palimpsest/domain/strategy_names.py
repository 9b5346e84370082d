"""The names of the strategies that write summaries, for the settings, the protocol and whoever shows them."""

from __future__ import annotations

from typing import Final, Literal, get_args

StrategyName = Literal["tool_calls", "threshold", "goal_batch"]
"""The strategies that can be set. `goal_batch` merges older summaries after any of the others; each of the others has
its function in `domain/context/strategies.STRATEGIES`."""
MANUAL: Final = "manual"
"""A summary that the user asked for."""
SUMMARIZING: Final = frozenset((*get_args(StrategyName), MANUAL))
"""The names that stand for writing summaries."""
