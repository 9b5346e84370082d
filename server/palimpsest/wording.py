"""Words that every part of the program needs: a count with its noun, and what somebody may have meant. No I/O."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

_LONGEST: Final = 100
"""Characters of what was written that are compared: what is longer was meant for something else."""


def counted(n: int, noun: str) -> str:
    """`1 message`, `2,300 messages`, `0 summaries`. `noun` is one noun in the singular, words before it included."""
    return f"{n:,} {noun if n == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Of a regular English noun."""
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy", "uy")):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def nearest(written: str, known: Iterable[str], most: int = 3, likeness: float = 0.75) -> list[str]:
    """Of `known` those that `written` may be a slip of, the nearest first. `likeness`: from 0 to 1, the least."""
    names = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(written[:_LONGEST].casefold(), names, most, likeness)
    return [names[name] for name in found]
