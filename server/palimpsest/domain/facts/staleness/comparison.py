"""Two versions of a file side by side: the lines of the newer one, and where each older line went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from palimpsest.domain.facts.staleness.anchor import heads_of
from palimpsest.domain.facts.staleness.file_lines import FileLines, split_lines
from palimpsest.domain.facts.staleness.line_map import NOWHERE, map_lines
from palimpsest.domain.facts.staleness.tokens.languages import Language


class Comparison:
    """A comparison for all anchors of a file. Each property is computed when it is first read."""

    def __init__(self, before: FileLines, text: str, after: FileLines) -> None:
        """`after`: the lines of `text`."""
        self.lines = split_lines(text)
        self.before: Sequence[int] = before.hashes
        self.after: Sequence[int] = after.hashes

    @cached_property
    def moved_to(self) -> list[int]:
        """For each older line the index of the newer one, or `NOWHERE`."""
        return map_lines(self.before, self.after)

    @cached_property
    def came_from(self) -> list[int]:
        found = [NOWHERE] * len(self.after)
        for old, new in enumerate(self.moved_to):
            if new != NOWHERE:
                found[new] = old
        return found

    @cached_property
    def _all_lines(self) -> frozenset[int]:
        return frozenset(self.after)

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        places: dict[int, list[int]] = defaultdict(list)
        for idx, line in enumerate(self.after):
            places[line].append(idx)
        return places

    def is_claimed(self, line: int, start: int, end: int) -> bool:
        """Whether a newer line came from an older one outside the given stretch."""
        origin = self.came_from[line]
        return origin != NOWHERE and not start <= origin < end

    def blocks_equal_to(self, start: int, end: int) -> list[int]:
        """The first lines of the newer stretches that equal the older one from `start` to `end`."""
        wanted = self.before[start:end]
        if not self._all_lines.issuperset(wanted):
            return []
        rarest = min(
            (offset for offset, line in enumerate(wanted) if line),
            key=lambda offset: len(self._places.get(wanted[offset], ())),
            default=None,
        )
        if rarest is None:
            return []
        return [
            place - rarest
            for place in self._places.get(wanted[rarest], ())
            if place >= rarest and self.after[place - rarest : place - rarest + len(wanted)] == wanted
        ]

    def room_for(self, start: int, end: int) -> tuple[int, int]:
        """The newer lines between those that the neighbors of an older stretch became; blank edges are cut off."""
        moved_to = self.moved_to
        low = next((moved_to[i] + 1 for i in range(start - 1, -1, -1) if moved_to[i] != NOWHERE and self.before[i]), 0)
        high = next(
            (moved_to[i] for i in range(end, len(moved_to)) if moved_to[i] != NOWHERE and self.before[i]),
            len(self.lines),
        )
        while low < high and not self.after[low]:
            low += 1
        while high > low and not self.after[high - 1]:
            high -= 1
        return low, max(low, high)

    def heads_of(self, language: Language, line: int) -> tuple[int, ...]:
        return heads_of(language, self.lines, line)
