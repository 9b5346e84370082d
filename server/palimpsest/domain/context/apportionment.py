"""Apportionment: a whole number of tokens split into parts that add up to it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence


def apportion(whole: int, weights: Sequence[float]) -> list[int]:
    """Non-negative integers in the order of `weights` that add up to `whole`, each less than 1 away from the share of
    its weight.

    The weights are finite and not negative, and a part without weight gets nothing; where no part has any, the last one
    gets all. There is at least one weight, and `whole` is not negative.
    """
    ends = list(itertools.accumulate(weights))
    if not ends[-1] > 0:
        return [0] * (len(ends) - 1) + [whole]
    # The end of each part is rounded, not its size: so no rounding adds up.
    rounded = [round(whole * (end / ends[-1])) for end in ends]
    return [after - before for before, after in itertools.pairwise([0, *rounded])]
