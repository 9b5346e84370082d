"""Finding a file again that was renamed or moved, by what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from palimpsest.domain.facts import FactState
from palimpsest.domain.staleness.anchor import Anchor
from palimpsest.domain.staleness.check import check_file
from palimpsest.domain.staleness.file_lines import FileLines

_ENOUGH: Final = 0.5
"""Share of the two files' lines that must be the same."""
_AHEAD: Final = 0.05
"""By how much the best must be better than the next: files made from one template are not told apart by guessing."""
_FEWEST_LINES: Final = 3
"""Distinct lines that are not blank. Shorter files are alike by chance."""


def relocate(lost: FileLines, anchors: Sequence[Anchor], candidates: Iterable[tuple[str, str]]) -> str | None:
    """The path of the candidate (path, text) that the lost file became; None if none is, or more than one could be.

    Each anchor's place must stand in it for at least half of the anchors, because those are why it is looked for. A
    caller leaves out candidates that were there before the file was lost: those are other files.
    """
    wanted = _telling(lost)
    if len(wanted) < _FEWEST_LINES:
        return None
    ranked: list[tuple[float, str, str]] = []
    for path, text in candidates:
        n_lines = 1 + text.count("\n")
        if not _could_be(len(lost.hashes), n_lines):
            continue
        if (share := _overlap(wanted, _telling(FileLines.of(text)))) >= _ENOUGH:
            ranked.append((share, path, text))
    ranked.sort(key=lambda each: (-each[0], each[1]))
    if not ranked or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _AHEAD):
        return None
    _, path, text = ranked[0]
    in_lines = [anchor for anchor in anchors if anchor.span is not None]
    verdicts = check_file(path, lost, in_lines, text)
    n_standing = sum(verdict.state in (FactState.FRESH, FactState.MOVED) for verdict in verdicts)
    return path if 2 * n_standing >= len(in_lines) else None


def _could_be(n_lost: int, n_candidate: int) -> bool:
    """A quick look before lines are compared. Blank lines may be most of either."""
    return n_lost <= 8 * n_candidate + 8 and n_candidate <= 8 * n_lost + 8


def _telling(lines: FileLines) -> Counter[int]:
    counted = Counter(lines.hashes)
    counted.pop(0, None)
    return counted


def _overlap(left: Counter[int], right: Counter[int]) -> float:
    """Of 1. Lines that stand often in a file (braces, `end`) count once."""
    n_common = len(left.keys() & right.keys())
    return 2 * n_common / (len(left) + len(right)) if left or right else 0.0
