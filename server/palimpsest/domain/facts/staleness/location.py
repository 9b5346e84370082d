"""Locates the lines that replaced those of an anchor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final

from palimpsest.domain.facts.staleness.anchor import Anchor, sample_of, squeezed
from palimpsest.domain.facts.staleness.blocks import block_end, indent_of, is_attribute
from palimpsest.domain.facts.staleness.comparison import Comparison
from palimpsest.domain.facts.staleness.symbols import definition_at
from palimpsest.domain.facts.staleness.tokens.languages import Format, Language
from palimpsest.domain.facts.staleness.tokens.stream import read_tokens

_LIKE_LINE: Final = 0.58
_LIKE_BLOCK: Final = 0.72
_LIKE_PROSE: Final = 0.5
_ENOUGH_LINES_LEFT: Final = 0.45
_MOST_LINES_COMPARED: Final = 120
_MOST_BLOCKS_COMPARED: Final = 30

Lines = tuple[int, int]
"""The first line and the line behind the last one, counted from 0."""


def locate(
    comparison: Comparison, language: Language, anchor: Anchor, start: int, end: int, stayed: Sequence[int]
) -> Lines | None:
    """The lines that replaced the older ones from `start` to `end`; None when there are none. `stayed`: the newer lines
    that those became, rising."""
    room = comparison.room_for(start, end)
    is_line = anchor.end == anchor.start
    if found := _same_definition(comparison, language, anchor, start, end, stayed, room):
        return found
    n_filled = sum(map(bool, comparison.before[start:end]))
    if not is_line and n_filled and len(stayed) >= _ENOUGH_LINES_LEFT * n_filled:
        low, high = room
        first, last = stayed[0], stayed[-1] + 1
        return (low if 0 < first - low <= 3 else first), (high if 0 < high - last <= 4 else last)
    free = [i for i in range(*room) if comparison.after[i] and not comparison.is_claimed(i, start, end)]
    if is_line:
        return _most_like(
            anchor.head, ((squeezed(comparison.lines[i]), (i, i + 1)) for i in free[:_MOST_LINES_COMPARED]), _LIKE_LINE
        )
    lines = comparison.lines
    if language.format in (Format.MARKDOWN, Format.TEXT):
        starts = [
            i for i in free if i == room[0] or not comparison.after[i - 1] or block_end(language, lines, i - 1) == i
        ]
        blocks = [(i, block_end(language, lines, i)) for i in starts[:_MOST_BLOCKS_COMPARED]]
        enough = _LIKE_PROSE
    else:
        column = indent_of(_least_indented(comparison, free))
        blocks = [_grown(language, lines, i) for i in free if indent_of(lines[i]) == column][:_MOST_BLOCKS_COMPARED]
        enough = _LIKE_BLOCK
    samples = ((sample_of(read_tokens(language, lines[i : min(j, i + 60)])), (i, j)) for i, j in blocks)
    return _most_like(anchor.sample, samples, enough)


def _least_indented(comparison: Comparison, free: Sequence[int]) -> str:
    """The least indented of the free lines: a block is replaced at its own depth."""
    return min((comparison.lines[i] for i in free), key=indent_of, default="")


def _same_definition(
    comparison: Comparison,
    language: Language,
    anchor: Anchor,
    start: int,
    end: int,
    stayed: Sequence[int],
    room: Lines,
) -> Lines | None:
    name = anchor.name
    if not name:
        return None
    lines = comparison.lines
    all_of_that_name = [
        i
        for i, line in enumerate(lines)
        if name in line and (found := definition_at(language, lines, i)) is not None and found.name == name
    ]
    kept = [i for i in stayed if i in all_of_that_name]
    unclaimed = [i for i in all_of_that_name if not comparison.is_claimed(i, start, end)]
    same_head = [i for i in unclaimed if squeezed(lines[i])[: len(anchor.head) + 1] == anchor.head]
    inside = [i for i in unclaimed if room[0] <= i < room[1]]
    parents = anchor.within[:1]
    same_parent = [i for i in unclaimed if comparison.heads_of(language, i)[:1] == parents]
    choice = kept or [i for i in same_head if i in same_parent] or inside or same_head or same_parent
    if not choice:
        return None
    middle = room[0] if room[0] < room[1] else start
    idx = min(choice, key=lambda i: abs(i - middle))
    if anchor.end == anchor.start and not lines[idx].rstrip().endswith(("{", "(", "[")):
        return idx, idx + 1
    return _grown(language, lines, idx)


def _grown(language: Language, lines: Sequence[str], idx: int) -> Lines:
    """The block that begins at a line, with the attributes above it."""
    end = block_end(language, lines, idx)
    while idx and is_attribute(lines[idx - 1]) and indent_of(lines[idx - 1]) == indent_of(lines[idx]):
        idx -= 1
    return idx, end


def _most_like(wanted: str, texts: Iterable[tuple[str, Lines]], enough: float) -> Lines | None:
    """The place of the text that is most like `wanted`, the first of equals; None when none is like enough."""
    matcher = SequenceMatcher(None, "", wanted, autojunk=False)
    best: Lines | None = None
    for text, place in texts:
        matcher.set_seq1(text[:300])
        if matcher.real_quick_ratio() < enough or matcher.quick_ratio() < enough or (ratio := matcher.ratio()) < enough:
            continue
        best, enough = place, ratio + 1e-9
    return best
