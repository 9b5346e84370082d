"""How much of a window a compaction keeps, writes and frees, in raw tokens.

Where what stands before the conversation (system prompt, tools, rules) takes much of the budget, as in the windows of
small local models, shares of the whole budget would leave next to nothing between one compaction and the next. There
everything is a share of what is left for the talk, and each compaction leaves one block.

The shares were chosen on recorded sessions, by how many exact names stay findable for how much of the prompt sent anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KEEP_SHARE: Final = 0.12
"""What a compaction by threshold keeps verbatim at the end."""
_MERGED_SHARE, _MERGED_TOKENS, _MERGED_TOKENS_SHARE = 0.27, 2_800, 0.17
"""How large merged blocks are together: a share, and beside it these tokens, at most the other share. What blocks must
hold of a conversation does not grow with the window, so a small window needs the larger share."""
_GROWTH_SHARE: Final = 0.17
"""When the blocks take so much more than merged ones, they are merged."""
_BLOCK_SHARE: Final = 0.11
"""The largest single new block, once the blocks together are as large as merged ones. The first is as large as they."""
_SPARE_SHARE: Final = 0.02
"""What a new block leaves of the size of merged ones, so that it is not merged at once."""
_FLOOD_SHARE: Final = 1.0
"""Where so much is summarized at once, the blocks are merged with it, each part by what it is worth."""
MINIMUM_GAIN: Final = 0.12
"""What a compaction by threshold must free, unless it is needed to fit."""
_CRAMPED_SHARE: Final = 1 / 6
"""Of the budget: what stands before the conversation of a cramped one takes more."""
_CRAMPED_MERGED_SHARE: Final = 0.20


@dataclass(frozen=True, slots=True)
class CompactionSizes:
    """Raw tokens."""

    keep: int
    """The newest exchanges up to this stay verbatim."""
    blocks: int
    """Blocks that take more are merged."""
    merged: int
    """What merged blocks take together."""
    first: int
    """What new blocks may take together with those that are there, without counting as grown."""
    block: int
    """What a new block may take in any case."""
    flood: int
    """Where a compaction summarizes more at once, the blocks are merged with it."""
    least_gain: int
    """What a compaction that is not needed to fit must free; one that frees less merges the blocks too."""


def compaction_sizes(budget_raw: int, fixed_raw: int, threshold: float) -> CompactionSizes:
    """For a budget of which `fixed_raw` stands before the conversation, and whose compactions come at `threshold`, a
    share of it."""
    least_gain = int(MINIMUM_GAIN * budget_raw)
    block, flood = int(_BLOCK_SHARE * budget_raw), int(_FLOOD_SHARE * budget_raw)
    if fixed_raw <= _CRAMPED_SHARE * budget_raw:
        merged = int(_MERGED_SHARE * budget_raw) + min(_MERGED_TOKENS, int(_MERGED_TOKENS_SHARE * budget_raw))
        grown = merged + int(_GROWTH_SHARE * budget_raw)
        first = merged - int(_SPARE_SHARE * budget_raw)
        return CompactionSizes(int(KEEP_SHARE * budget_raw), grown, merged, first, block, flood, least_gain)
    talk = max(int(budget_raw - fixed_raw / threshold), 1)
    merged = int(_CRAMPED_MERGED_SHARE * talk)
    return CompactionSizes(int(KEEP_SHARE * talk), 0, merged, merged, min(block, merged), flood, least_gain)
