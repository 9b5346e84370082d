"""The lines of many texts that are worth a closer look for a question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from palimpsest.domain.language.words import fold
from palimpsest.domain.offline.layout import MAX_LINE_CHARS
from palimpsest.domain.offline.matcher import Matcher
from palimpsest.domain.offline.passages import FileSource, SourceText
from palimpsest.domain.offline.question import Question


@dataclass(frozen=True, slots=True)
class Searched:
    """A text and where in it the terms are."""

    text: SourceText
    n_lines: int
    hits: Mapping[int, Mapping[int, float]]
    """Line, from 0, to its terms."""

    def terms(self) -> dict[int, float]:
        """Terms anywhere in the text."""
        return {i: weight for matched in self.hits.values() for i, weight in matched.items()}


class Search:
    """Finds the lines worth a closer look: with a strong term, just below one, or in a file named after one.

    Words that stand for a term are looked for only where the term itself occurs nowhere, or near another term:
    lines that hold nothing but stand-ins are many, and seldom an answer.
    """

    def __init__(self, question: Question, matcher: Matcher) -> None:
        self._strong = question.strong
        self._matcher = matcher
        self._needles = matcher.needles(self._strong, with_stand_ins=False)
        self._all_needles = matcher.needles(frozenset(range(len(question.terms))), with_stand_ins=True)

    def texts(self, texts: Sequence[SourceText]) -> list[Searched]:
        searched = [self._text(text, self._needles) for text in texts]
        missing = self._strong - {i for found in searched for i, weight in found.terms().items() if weight == 1.0}
        if not missing:
            return searched
        needles = self._needles | self._matcher.needles(missing, with_stand_ins=True)
        return [self._text(text, needles) for text in texts]

    def _text(self, text: SourceText, needles: frozenset[str]) -> Searched:
        path = text.source.path if isinstance(text.source, FileSource) else ""
        is_named = not self._strong.isdisjoint(self._matcher.matches(path))
        folded = fold(text.text)
        n_lines = folded.count("\n") + 1
        numbers = _lines_with(folded, self._all_needles if is_named else needles)
        if not numbers:
            return Searched(text, n_lines, {})
        lines, folded_lines = text.text.split("\n"), folded.split("\n")
        below = {number + step for number in numbers for step in (1, 2) if number + step < n_lines}
        below = {number for number in below if any(needle in folded_lines[number] for needle in self._all_needles)}
        matched = {
            number: self._matcher.matches(lines[number])
            for number in sorted(below.union(numbers))
            if len(lines[number]) <= MAX_LINE_CHARS
        }
        return Searched(text, n_lines, {number: terms for number, terms in matched.items() if terms})


def _lines_with(folded: str, needles: Iterable[str]) -> list[int]:
    """Numbers of the lines, from 0, that hold one of the needles, ascending."""
    starts: set[int] = set()
    for needle in needles:
        at = folded.find(needle)
        while at >= 0:
            starts.add(folded.rfind("\n", 0, at) + 1)
            end = folded.find("\n", at)
            at = folded.find(needle, end) if end >= 0 else -1
    numbers, number, counted_to = [], 0, 0
    for start in sorted(starts):
        number += folded.count("\n", counted_to, start)
        counted_to = start
        numbers.append(number)
    return numbers
