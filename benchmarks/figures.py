"""A figure of a benchmark: what we need, beside what a named reference needs in the same run.

A benchmark that has figures for the page of `make bench` has a function `figures(size)`, which measures and returns
them; its own command prints the same.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

_DIGITS: Final = 3


class Size(StrEnum):
    """How much a benchmark does."""

    FULL = "full"
    QUICK = "quick"
    """Seconds: shows that the benchmark still runs; its figures say nothing."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the page."""

    what: str
    unit: str
    """Of `ours` and `theirs`; empty for a number without one."""
    ours: Spread
    reference: str
    """What it is held against; empty for nothing."""
    theirs: Spread | None
    """None where the reference is not installed, or there is none."""
    value: float
    """What the target is about: a ratio where there is a reference, else the median of `ours`."""
    target: float | None
    """None: measured without an aim."""
    is_least: bool = False
    """Whether the value has to be at least the target; else at most."""
    note: str = ""
    """Why it is missed, or how it is meant."""
    growth: tuple[tuple[float, float], ...] = ()
    """Sizes and what was measured there, for a plot; empty for none."""

    @property
    def is_met(self) -> bool | None:
        """None where there is no target or no reference."""
        if self.target is None or (self.reference and self.theirs is None):
            return None
        return self.value >= self.target if self.is_least else self.value <= self.target


def beside(
    what: str,
    pairs: Sequence[tuple[float, float]],
    reference: str,
    at_most: float | None,
    unit: str = "ms",
    *,
    note: str = "",
    growth: Iterable[tuple[float, float]] = (),
) -> Figure:
    """Of pairs measured in turn, the reference first: the value is the median of the pairs' ratios."""
    theirs, ours = (Spread.of([pair[index] for pair in pairs]) for index in (0, 1))
    ratio = statistics.median(own / other for other, own in pairs)
    return Figure(what, unit, ours, reference, theirs, ratio, at_most, note=note, growth=tuple(growth))


def apart(
    what: str,
    theirs: Sequence[float],
    ours: Sequence[float],
    reference: str,
    at_most: float | None,
    unit: str = "ms",
    *,
    note: str = "",
) -> Figure:
    """Of measurements that are no pairs: the value is the ratio of the medians."""
    other, own = Spread.of(theirs), Spread.of(ours)
    return Figure(what, unit, own, reference, other, own.median / other.median, at_most, note=note)


def alone(
    what: str,
    values: Sequence[float],
    target: float | None,
    unit: str = "ms",
    *,
    is_least: bool = False,
    note: str = "",
    growth: Iterable[tuple[float, float]] = (),
) -> Figure:
    """Of something that nothing is held against: the value is the median."""
    ours = Spread.of(values)
    return Figure(what, unit, ours, "", None, ours.median, target, is_least, note, tuple(growth))


def numbers(about: str | None, **defaults: int) -> list[int]:
    """What the command line of a benchmark says, numbers from 1 on; the defaults in the places of those left out.
    `about` is its docstring. Ends the process with a sentence where the words are something else."""
    parser = parser_of(about)
    for name, default in defaults.items():
        parser.add_argument(name, nargs="?", type=positive, default=default, help=f"by default {default:,}")
    given = parser.parse_args()
    return [getattr(given, name) for name in defaults]


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """Of the benchmark that was started, whose docstring is its help."""
    name = f"python -m benchmarks.{Path(sys.argv[0]).stem}"
    return argparse.ArgumentParser(prog=name, description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def positive(word: str) -> int:
    """Raises ArgumentTypeError, a sentence, for what is no number from 1 on."""
    if not word.isdecimal() or not int(word):
        raise argparse.ArgumentTypeError(f"{word!r} is no number from 1 on.")
    return int(word)


def show(figures: Iterable[Figure]) -> None:
    """Prints each on a line."""
    for figure in figures:
        print(f"  {figure.what}: {sentence(figure)}", flush=True)


def sentence(figure: Figure) -> str:
    words = [_measured(figure.ours, figure.unit)]
    if figure.theirs is not None:
        words.append(f"beside {_measured(figure.theirs, figure.unit)} of {figure.reference}: {number(figure.value)} x")
    elif figure.reference:
        words.append(f"{figure.reference} is not installed")
    if figure.target is not None:
        words.append(f"target at {'least' if figure.is_least else 'most'} {number(figure.target)}")
    if figure.is_met is not None:
        words.append("met" if figure.is_met else "NOT MET")
    return ", ".join([*words, *([figure.note] if figure.note else [])])


def _measured(spread: Spread, unit: str) -> str:
    text = f"{number(spread.median)} {unit}".rstrip()
    return text if spread.least == spread.most else f"{text} ({number(spread.least)}-{number(spread.most)})"


def number(value: float) -> str:
    """With three digits that count, and commas."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = _DIGITS - len(str(int(abs(value)))) if abs(value) >= 1 else _DIGITS
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
