"""Finds a file that was renamed or moved, by its lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Self

from palimpsest.domain.facts.fact import FactState
from palimpsest.domain.facts.staleness.anchor import Anchor
from palimpsest.domain.facts.staleness.check import check_file
from palimpsest.domain.facts.staleness.file_lines import FileLines

_ENOUGH: Final = 0.5
"""The smallest share of common lines."""
_AHEAD: Final = 0.05
"""The smallest lead of the best candidate: files made from one template are not told apart by guessing."""
_FEWEST_LINES: Final = 3
"""Distinct lines that are not blank. Shorter files are alike by chance."""


class Candidates:
    """Files that a lost one may have become. Built once and used for each lost file."""

    def __init__(self) -> None:
        self._files: list[tuple[str, str, frozenset[int]]] = []
        """Path, text, and the distinct lines that are not blank."""
        self._with_line: dict[int, list[int]] = {}
        """The files with each line."""

    @classmethod
    def of(cls, files: Iterable[tuple[str, str]]) -> Self:
        """`files`: (path, text)."""
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
        """(share of common lines, path, text) of each file with enough of them, the best first.

        Such a file has at least a third of the wanted lines, so it has one of any two thirds of them: only files with
        one of the rarest two thirds are compared.
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
    """The path of the candidate that the lost file became; None when there is none, or more than one.

    The candidate must hold the places of at least half of the anchors, which are the reason for the search. The caller
    leaves out files that were there before the file was lost: those are other files.
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
    n_present = sum(verdict.state in (FactState.FRESH, FactState.MOVED) for verdict in verdicts)
    return path if 2 * n_present >= len(in_lines) else None


def _telling(lines: FileLines) -> frozenset[int]:
    return frozenset(lines.hashes) - {0}


def _overlap(left: frozenset[int], right: frozenset[int]) -> float:
    """0 to 1. Lines that occur often in a file (braces, `end`) count once."""
    return 2 * len(left & right) / (len(left) + len(right))
