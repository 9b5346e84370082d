"""Changes of a text: replacements of a stretch, made smaller and taken apart. Offsets count characters."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

_MOST_COMPARED: Final = 400
"""The largest change, in characters or else in lines, whose parts are looked for."""


@dataclass(frozen=True, slots=True)
class Change:
    """The replacement of [start, end) by `text`."""

    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        return len(self.text) - (self.end - self.start)

    def apply(self, text: str) -> str:
        return f"{text[: self.start]}{self.text}{text[self.end :]}"


def change_between(old: str, new: str) -> Change:
    """The one change that makes `new` of `old`, without their common beginning and end."""
    return trimmed(old, Change(0, len(old), new))


def finer(text: str, change: Change) -> list[Change]:
    """The change as several smaller ones, each of the text that the ones before it leave. A large change, and one that
    only adds or only removes, stays whole."""
    old, new = text[change.start : change.end], change.text
    if not old or not new:
        return [change]
    if max(len(old), len(new)) <= _MOST_COMPARED:
        blocks = _changed_blocks(old, new)
    else:
        lines = [each.splitlines(keepends=True) for each in (old, new)]
        if max(map(len, lines)) > _MOST_COMPARED:
            return [change]
        starts = [list(accumulate(map(len, each), initial=0)) for each in lines]
        blocks = [
            (starts[0][start], starts[0][end], starts[1][first], starts[1][last])
            for start, end, first, last in _changed_blocks(*lines)
        ]
    found: list[Change] = []
    moved = change.start
    for start, end, first, last in blocks:
        found.append(Change(start + moved, end + moved, new[first:last]))
        moved += found[-1].growth
    return found


def _changed_blocks(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [(start, end, first, last) for kind, start, end, first, last in matcher.get_opcodes() if kind != "equal"]


def trimmed(text: str, change: Change) -> Change:
    """The change without the common beginning and end of its old and new text."""
    old, new = text[change.start : change.end], change.text
    most = min(len(old), len(new))
    head = _common(old, new, most)
    tail = _common(old[::-1], new[::-1], most - head)
    return Change(change.start + head, change.end - tail, new[head : len(new) - tail])


def _common(one: str, other: str, most: int) -> int:
    """The length of the common beginning, at most `most`."""
    low = 0
    while low < most:  # halving: comparing slices is done in C
        step = most - low
        while one[low : low + step] != other[low : low + step]:
            step //= 2
        if step == 0:
            break
        low += step
    return low
