"""How much of a window a re-cut keeps, writes and frees, in raw tokens.

Where what stands before the conversation (system prompt, tools, rules) takes much of the budget, as in the windows of
small local models, shares of the whole budget would leave next to nothing between one re-cut and the next. There
everything is a share of what is left for the talk, and each re-cut leaves one block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KEEP_SHARE: Final = 0.15
"""What a re-cut by threshold keeps verbatim at the end (measured best between 15 and 20 %)."""
BLOCKS_SHARE: Final = 0.50
"""Above it the blocks are merged."""
MERGED_SHARE: Final = 0.25
"""How large merged blocks are together. A third, as first designed, leaves so little room beside them that re-cuts
follow each other faster than the prefix bears."""
MINIMUM_GAIN: Final = 0.15
"""What a re-cut by threshold must free, unless it is needed to fit."""
_CRAMPED_SHARE: Final = 1 / 6
"""Of the budget: what stands before the conversation of a cramped one takes more."""
_CRAMPED_MERGED_SHARE: Final = 0.20


@dataclass(frozen=True, slots=True)
class RecutSizes:
    """Raw tokens."""

    keep: int
    """The newest exchanges up to this stay verbatim."""
    blocks: int
    """Blocks that take more are merged."""
    merged: int
    """What merged blocks take together."""
    least_gain: int
    """What a re-cut that is not needed to fit must free; one that frees less merges the blocks too."""


def recut_sizes(budget_raw: int, fixed_raw: int, threshold: float) -> RecutSizes:
    """For a budget of which `fixed_raw` stands before the conversation, and whose re-cuts come at `threshold`, a share
    of it."""
    least_gain = int(MINIMUM_GAIN * budget_raw)
    if fixed_raw <= _CRAMPED_SHARE * budget_raw:
        return RecutSizes(
            int(KEEP_SHARE * budget_raw), int(BLOCKS_SHARE * budget_raw), int(MERGED_SHARE * budget_raw), least_gain
        )
    talk = max(int(budget_raw - fixed_raw / threshold), 1)
    return RecutSizes(int(KEEP_SHARE * talk), 0, int(_CRAMPED_MERGED_SHARE * talk), least_gain)
