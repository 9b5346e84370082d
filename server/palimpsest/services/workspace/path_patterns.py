"""Matches of paths in bounded time, for patterns that come from files of the workspace and from models.

A path is matched name by name, and a name by an expression that never backtracks over a star: the text between two
stars is matched at its first place, in an atomic group. So a match takes at most the length of the name times the
length of the pattern. A general expression would take exponential time for `*a*a*a*a*b`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

Segment = re.Pattern[str] | None
"""A segment of a pattern; None stands for `**`: any number of names, or none."""

STAR: Final = None
"""A piece for `compile_name`: any number of characters, or none."""


def compile_name(pieces: Sequence[str | None]) -> re.Pattern[str]:
    """The expression for one whole name. A piece is `STAR`, or an expression for exactly one character."""
    runs: list[list[str]] = [[]]
    for piece in pieces:
        if piece is STAR:
            runs.append([])
        else:
            runs[-1].append(piece)
    first, *others = ["".join(run) for run in runs]
    if not others:
        return re.compile(rf"(?s){first}\Z")
    middle = "".join(f"(?>.*?{run})" for run in others[:-1] if run)
    return re.compile(rf"(?s){first}{middle}.*{others[-1]}\Z")


def match_segments(segments: Sequence[Segment], names: Sequence[str]) -> bool:
    """Whether the segments match the whole path."""
    reached = _behind_any_depth(segments, {0})
    """The numbers of segments that the names so far may have used up."""
    for name in names:
        following: set[int] = set()
        for n_used in reached:
            if n_used == len(segments):
                continue
            segment = segments[n_used]
            if segment is None:
                following.add(n_used)
            elif segment.match(name):
                following.add(n_used + 1)
        reached = _behind_any_depth(segments, following)
        if not reached:
            return False
    return len(segments) in reached


def without_repeats(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """The segments without a `**` right after another one."""
    return tuple(each for i, each in enumerate(segments) if each is not None or i == 0 or segments[i - 1] is not None)


def _behind_any_depth(segments: Sequence[Segment], reached: set[int]) -> set[int]:
    """`reached`, and the positions after each `**` in it, which may match no name."""
    wider = set(reached)
    for n_used in reached:
        at = n_used
        while at < len(segments) and segments[at] is None:
            at += 1
            wider.add(at)
    return wider
