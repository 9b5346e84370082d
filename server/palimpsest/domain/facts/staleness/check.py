"""Checks whether a file still holds the lines that a fact rests on, and where.

Text that merely occurs somewhere is never taken for the place: lines that came from other lines of the older version
belong to those. The steps, in order: all lines of the span are still together; they are together elsewhere, in lines
that came from no others; the same tokens, with another layout, are between the lines that the neighbors became;
something else is in their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal

from palimpsest.domain.facts.fact import FactState, Span
from palimpsest.domain.facts.staleness.anchor import Anchor, digest_of_lines, squeezed
from palimpsest.domain.facts.staleness.blocks import block_end
from palimpsest.domain.facts.staleness.comparison import Comparison
from palimpsest.domain.facts.staleness.file_lines import FileLines
from palimpsest.domain.facts.staleness.line_map import NOWHERE
from palimpsest.domain.facts.staleness.location import Lines, locate
from palimpsest.domain.facts.staleness.tokens.languages import Language, language_of
from palimpsest.domain.facts.staleness.tokens.stream import TokenStream, digest, read_tokens, weight

Note = Literal["", "comments", "formatting"]

_TELLING_BLOCK: Final = 60
"""The fewest characters of a block of several lines that is not there by chance."""
_TELLING_LINE: Final = 15
_LONGEST_ROOM: Final = 1_500
"""The most lines between two neighbors that are searched for the same tokens with another layout."""
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Verdict:
    state: FactState
    span: Span | None
    """The lines now, or those that replaced them. None when they are missing, and for a whole file."""
    note: Note = ""
    """The kind of edit that left the tokens the same."""


def check_file(
    path: str, before: FileLines, anchors: Sequence[Anchor], text: str, after: FileLines | None = None
) -> list[Verdict]:
    """One verdict for each anchor, in their order.

    `before`: the lines of the version in which the anchors were made. `path`: the file's name now; an anchor of another
    name has at least moved. `after`: the lines of `text`, where the caller has them.
    """
    comparison = Comparison(before, text, FileLines.of(text) if after is None else after)
    return [_Check(comparison, anchor, path).verdict() for anchor in anchors]


class _Check:
    """The check of one anchor. Line numbers are counted from 0, ends not included."""

    def __init__(self, comparison: Comparison, anchor: Anchor, path: str) -> None:
        self._comparison = comparison
        self._lines = comparison.lines
        self._anchor = anchor
        self._path = path
        self._language: Language = language_of(anchor.path)
        n_before = len(comparison.before)
        start = min(max(0, anchor.start - 1), n_before)
        end = min(max(start, anchor.end), n_before)
        self._given = (start, end)
        while start < end and not comparison.before[start]:
            start += 1
        while end > start and not comparison.before[end - 1]:
            end -= 1
        self._start, self._end = start, end
        self._streams: dict[Lines, TokenStream] = {}

    def verdict(self) -> Verdict:
        if self._anchor.span is None:
            return self._whole_file()
        if self._start == self._end:
            return self._blank()
        stayed = [new for old in range(self._start, self._end) if (new := self._comparison.moved_to[old]) != NOWHERE]
        stayed = [new for new in stayed if self._comparison.after[new]]
        return (
            self._together(stayed)
            or self._elsewhere(stayed)
            or self._laid_out_otherwise(stayed)
            or self._something_else(stayed)
        )

    def _whole_file(self) -> Verdict:
        anchor = self._anchor
        moved = FactState.FRESH if anchor.path == self._path else FactState.MOVED
        if digest_of_lines(self._lines) == anchor.exact:
            return Verdict(moved, None)
        if (note := self._note_on(0, len(self._lines))) is None:
            return Verdict(FactState.CHANGED, None)
        return Verdict(moved, None, note)

    def _blank(self) -> Verdict:
        """A span of blank lines has no text that could change; it moves with the line above it."""
        start, end = self._given
        above = next((i for i in range(start - 1, -1, -1) if self._comparison.moved_to[i] != NOWHERE), NOWHERE)
        shift = self._comparison.moved_to[above] - above if above != NOWHERE else 0
        new_start = min(start + shift, len(self._lines) - 1)
        new_end = max(new_start + 1, min(end + shift, len(self._lines)))
        is_same = self._comparison.before[start:end] == self._comparison.after[new_start:new_end]
        return self._unchanged(new_start, new_end, "") if is_same else Verdict(FactState.MISSING, None)

    def _together(self, stayed: Sequence[int]) -> Verdict | None:
        comparison = self._comparison
        moved_to = comparison.moved_to
        if any(moved_to[i] == NOWHERE for i in range(self._start, self._end) if comparison.before[i]):
            return None
        start, end = stayed[0], stayed[-1] + 1
        if self._anchor.is_whole_block and (grown := block_end(self._language, self._lines, start)) > end:
            note = self._note_on(start, grown)
            return self._unchanged(start, end, "comments") if note else self._changed((start, grown))
        if (note := self._note_on(*self._with_blank_edges(start, end))) is not None:
            return self._unchanged(start, end, note)
        return self._changed((start, end)) if end - start == self._end - self._start else None

    def _elsewhere(self, stayed: Sequence[int]) -> Verdict | None:
        comparison = self._comparison
        size = self._end - self._start
        filled = [i for i in range(size) if comparison.before[self._start + i]]
        places = comparison.blocks_equal_to(self._start, self._end)
        free = [
            place
            for place in places
            if sum(not comparison.is_claimed(place + i, self._start, self._end) for i in filled) >= 0.8 * len(filled)
        ]
        if not free:
            return None

        def heads_in_common(place: int) -> int:
            heads = comparison.heads_of(self._language, place)
            return sum(left == right for left, right in zip(heads, self._anchor.within, strict=False))

        place = max(free, key=lambda each: (heads_in_common(each), -abs(each - self._start)))
        n_left_behind = sum(not place <= new < place + size for new in stayed)
        if n_left_behind * 2 >= len(filled):
            return None  # most of it is where it was, edited; the lines elsewhere are a copy
        n_characters = sum(len(squeezed(line)) for line in self._lines[place : place + size])
        is_telling = len(filled) > 2 and n_characters >= _TELLING_BLOCK
        in_common = heads_in_common(place)
        has_its_heads = (
            in_common == min(2, len(self._anchor.within)) == min(2, len(comparison.heads_of(self._language, place)))
        )
        is_only_one = len(places) == 1 and len(self._anchor.head) >= _TELLING_LINE and in_common > 0
        if not (is_telling or has_its_heads or in_common >= 2 or is_only_one):
            return None
        note = self._note_on(*self._with_blank_edges(place, place + size))
        if note is None:
            return self._changed((place, place + size))
        return self._unchanged(place, place + size, note)

    def _laid_out_otherwise(self, stayed: Sequence[int]) -> Verdict | None:
        low, high = self._comparison.room_for(self._start, self._end)
        if stayed:
            low, high = min(low, stayed[0]), max(high, stayed[-1] + 1)
        if low == high or high - low > _LONGEST_ROOM:
            return None
        for start, end in self._stretches_of_that_weight(low, high):
            if (note := self._note_on(start, end)) is not None:
                return self._unchanged(start, end, note)
        return None

    def _something_else(self, stayed: Sequence[int]) -> Verdict:
        place = locate(self._comparison, self._language, self._anchor, self._start, self._end, stayed)
        if place is None:
            return Verdict(FactState.MISSING, None)
        if (note := self._note_on(*place)) is not None:
            return self._unchanged(*place, note)
        return self._changed(place)

    def _stretches_of_that_weight(self, low: int, high: int) -> Iterator[Lines]:
        """Stretches of whole lines with as many tokens as the anchor, of the same weight."""
        yield low, high
        stream = self._read(low, high)
        said = [idx for idx, token in enumerate(stream.tokens) if token[0] != "\n"]
        n_tokens = self._anchor.n_tokens
        if not 0 < n_tokens <= len(said):
            return
        sums = [0, *accumulate(weight(stream.tokens[idx]) for idx in said)]
        for k in range(len(said) - n_tokens + 1):
            if sums[k + n_tokens] - sums[k] != self._anchor.weight:
                continue
            first, last = said[k], said[k + n_tokens - 1]
            start = stream.first_lines[first]
            if k and stream.last_lines[said[k - 1]] == start and n_tokens < 3:
                continue  # one of many words of a line
            yield low + start, low + stream.last_lines[last] + 1

    def _note_on(self, start: int, end: int) -> Note | None:
        """The note on lines with the tokens of the anchor; None for other tokens."""
        anchor = self._anchor
        lines = self._lines[start:end]
        if digest_of_lines(lines) == anchor.exact:
            return ""
        stream = self._read(start, end)
        if digest(stream.tokens) != anchor.tokens:
            return None
        return "formatting" if digest(stream.comments)[:8] == anchor.comments else "comments"

    def _read(self, start: int, end: int) -> TokenStream:
        if (start, end) not in self._streams:
            self._streams[start, end] = read_tokens(self._language, self._lines[start:end])
        return self._streams[start, end]

    def _with_blank_edges(self, start: int, end: int) -> Lines:
        """The lines with as many blank lines around them as the anchor had, as far as there are any."""
        after = self._comparison.after
        lowest = max(0, start - (self._start - self._given[0]))
        highest = min(len(after), end + (self._given[1] - self._end))
        while start > lowest and not after[start - 1]:
            start -= 1
        while end < highest and not after[end]:
            end += 1
        return start, end

    def _unchanged(self, start: int, end: int, note: Note) -> Verdict:
        start, end = self._with_blank_edges(start, end)
        is_in_place = start == self._given[0] and self._path == self._anchor.path
        return Verdict(FactState.FRESH if is_in_place else FactState.MOVED, Span(start + 1, end), note)

    def _changed(self, place: Lines) -> Verdict:
        return Verdict(FactState.CHANGED, Span(place[0] + 1, place[1]))
