"""Finding a file again that was renamed or moved, by what it says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Self

from palimpsest.domain.facts.fact import FactState
from palimpsest.domain.facts.staleness.anchor import Anchor
from palimpsest.domain.facts.staleness.check import check_file
from palimpsest.domain.facts.staleness.file_lines import FileLines

_ENOUGH: Final = 0.5
"""Share of the two files' lines that must be the same."""
_AHEAD: Final = 0.05
"""By how much the best must be better than the next: files made from one template are not told apart by guessing."""
_FEWEST_LINES: Final = 3
"""Distinct lines that are not blank. Shorter files are alike by chance."""


class Candidates:
    """Files that lost ones may have become. Made once, asked for each file that is gone."""

    def __init__(self) -> None:
        self._files: list[tuple[str, str, frozenset[int]]] = []
        """Path, text, and the distinct lines that are not blank."""
        self._with_line: dict[int, list[int]] = {}
        """For each line the files that have it."""

    @classmethod
    def of(cls, files: Iterable[tuple[str, str]]) -> Self:
        """From (path, text)."""
        made = cls()
        for path, text in files:
            made.add(path, text)
        return made

    def add(self, path: str, text: str) -> None:
        telling = _telling(FileLines.of(text))
        for line in telling:
            self._with_line.setdefault(line, []).append(len(self._files))
        self._files.append((path, text, telling))

    def like(self, wanted: frozenset[int]) -> list[tuple[float, str, str]]:
        """(share of lines in common, path, text) of those with enough of them, the best first.

        A file with enough in common has at least a third of the wanted lines, so one at least of any that leave out
        fewer than a third. Of the rarest ones, few files have any.
        """
        by_rarity = sorted(wanted, key=lambda line: len(self._with_line.get(line, ())))
        rarest = by_rarity[: len(wanted) - (len(wanted) - 1) // 3]
        worth_a_look = {idx for line in rarest for idx in self._with_line.get(line, ())}
        ranked = [
            (share, path, text)
            for path, text, telling in (self._files[idx] for idx in worth_a_look)
            if (share := _overlap(wanted, telling)) >= _ENOUGH
        ]
        return sorted(ranked, key=lambda each: (-each[0], each[1]))


def relocate(lost: FileLines, anchors: Sequence[Anchor], candidates: Candidates) -> str | None:
    """The path of the candidate that the lost file became; None if none is, or more than one could be.

    Each anchor's place must stand in it for at least half of the anchors, because those are why it is looked for. A
    caller leaves out candidates that were there before the file was lost: those are other files.
    """
    wanted = _telling(lost)
    if len(wanted) < _FEWEST_LINES:
        return None
    ranked = candidates.like(wanted)
    if not ranked or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _AHEAD):
        return None
    _, path, text = ranked[0]
    in_lines = [anchor for anchor in anchors if anchor.span is not None]
    verdicts = check_file(path, lost, in_lines, text)
    n_standing = sum(verdict.state in (FactState.FRESH, FactState.MOVED) for verdict in verdicts)
    return path if 2 * n_standing >= len(in_lines) else None


def _telling(lines: FileLines) -> frozenset[int]:
    return frozenset(lines.hashes) - {0}


def _overlap(left: frozenset[int], right: frozenset[int]) -> float:
    """Of 1. Lines that stand often in a file (braces, `end`) count once."""
    return 2 * len(left & right) / (len(left) + len(right))
