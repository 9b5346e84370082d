"""The map from the lines of a file's older version to those of its newer one."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

NOWHERE: Final = -1
_MOST_EQUAL_PAIRS: Final = 60_000
"""A stretch with more pairs of equal lines is not compared line by line: that would take too long."""


def map_lines(old: Sequence[int], new: Sequence[int]) -> list[int]:
    """For each older line the index of the newer one, or `NOWHERE`. The indexes rise.

    Equal ends are mapped first, then lines that occur once on either side, and the rest between those line by line.
    """
    found = [NOWHERE] * len(old)
    stretches = [(0, len(old), 0, len(new))]
    while stretches:
        old_start, old_end, new_start, new_end = stretches.pop()
        while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
            found[old_start] = new_start
            old_start += 1
            new_start += 1
        while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
            old_end -= 1
            new_end -= 1
            found[old_end] = new_end
        if set(old[old_start:old_end]).isdisjoint(new[new_start:new_end]):
            continue
        pairs = _rising(_once_on_either_side(old, new, old_start, old_end, new_start, new_end))
        if pairs:
            for left, right in pairs:
                found[left] = right
                stretches.append((old_start, left, new_start, right))
                old_start, new_start = left + 1, right + 1
            stretches.append((old_start, old_end, new_start, new_end))
            continue
        for left, right in _line_by_line(old[old_start:old_end], new[new_start:new_end]):
            found[old_start + left] = new_start + right
    return found


def _once_on_either_side(
    old: Sequence[int], new: Sequence[int], old_start: int, old_end: int, new_start: int, new_end: int
) -> list[tuple[int, int]]:
    in_old = Counter(old[old_start:old_end])
    in_new = Counter(new[new_start:new_end])
    places = {new[i]: i for i in range(new_start, new_end)}
    return [
        (i, places[line])
        for i in range(old_start, old_end)
        if (line := old[i]) and in_old[line] == 1 and in_new[line] == 1
    ]


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest selection of pairs whose second members rise with the first."""
    tails: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for idx, (_, right) in enumerate(pairs):
        at = bisect_left(tails, right)
        before.append(last[at - 1] if at else NOWHERE)
        if at == len(tails):
            tails.append(right)
            last.append(idx)
        else:
            tails[at] = right
            last[at] = idx
    chosen = []
    idx = last[-1] if last else NOWHERE
    while idx != NOWHERE:
        chosen.append(pairs[idx])
        idx = before[idx]
    return chosen[::-1]


def _line_by_line(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[int, int]]:
    in_new = Counter(new)
    if sum(in_new[line] for line in old) > _MOST_EQUAL_PAIRS:
        return
    for left, right, size in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for k in range(size):
            yield left + k, right + k
