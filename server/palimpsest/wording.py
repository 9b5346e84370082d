"""Words that every part of the program needs: a count with its noun, and the name that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

_LONGEST: Final = 100
"""The most characters that are compared: a longer text is not a misspelled name."""


def counted(n: int, noun: str) -> str:
    """`1 message`, `2,300 messages`, `0 summaries`. `noun` is one noun in the singular, words before it included."""
    return f"{n:,} {noun if n == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a regular English noun."""
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy", "uy")):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def nearest(written: str, known: Iterable[str], most: int = 3, likeness: float = 0.75) -> list[str]:
    """The names in `known` that `written` may misspell, the nearest first. `likeness`: the least one, from 0 to 1."""
    names = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(written[:_LONGEST].casefold(), names, most, likeness)
    return [names[name] for name in found]


def completions(written: str, known: Iterable[str]) -> list[str]:
    """The names in `known` that begin with `written`; when there are none, the nearest ones."""
    names = list(known)
    return [name for name in names if name.startswith(written)] or nearest(written, names, likeness=0.5)


def did_you_mean(written: str, commands: Iterable[str]) -> str:
    """The sentence behind `There is no command /WRITTEN.`"""
    near = [f"/{name}" for name in completions(written, commands)]
    return f"Did you mean {' or '.join(near)}?" if near else "/help lists the commands."
