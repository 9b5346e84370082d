"""What a search of earlier messages and facts looked for, what it took, and why it left the rest out.

A report has numbers and the words that were looked for, and no word of what was found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from palimpsest.domain.messages import MessageId

MOST_LEFT_OUT: Final = 20
"""The best of what was left out, at most."""


class LeftOutBecause(StrEnum):
    """Why something that was found is not told."""

    TOLD = "told"
    """The context tells it already."""
    NO_ROOM = "noRoom"
    """What was better took the room."""
    BELOW_BAR = "belowBar"
    """It has too little to do with what was looked for, or adds too little."""


@dataclass(frozen=True, slots=True)
class Found:
    """A message or a fact: one of the two numbers is None."""

    message_id: MessageId | None
    fact_id: int | None
    score: float
    """Higher is better. Comparable within one report."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Something that is told."""

    found: Found
    tokens: int
    """Raw, of its lines."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not told."""

    found: Found
    because: LeftOutBecause


@dataclass(frozen=True, slots=True)
class RecallReport:
    """The report of one search."""

    terms: tuple[str, ...] = ()
    """The words or names that were looked for, those that count most first."""
    room_tokens: int = 0
    """Raw tokens that the text might take."""
    tokens: int = 0
    """Raw tokens of the text; 0 where nothing is told."""
    taken: tuple[Taken, ...] = ()
    """In the order of the text."""
    left_out: tuple[LeftOut, ...] = ()
    """The best first, at most `MOST_LEFT_OUT`."""

    def with_nothing(self, because: LeftOutBecause) -> RecallReport:
        """The report where what was taken is not told after all."""
        left_out = (*(LeftOut(each.found, because) for each in self.taken), *self.left_out)
        return replace(self, tokens=0, taken=(), left_out=left_out[:MOST_LEFT_OUT])
