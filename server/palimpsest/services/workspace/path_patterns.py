"""Matching paths name by name in bounded time, for patterns that files of the workspace and models write.

A path is matched one name at a time, and a name by an expression that never goes back over a star: what lies between
two stars is found at the first place where it stands, in an atomic group. So a match takes at most the length of the
name times the length of the pattern, also where `re` holds the interpreter. A general expression of a pattern would
take exponential time for `*a*a*a*a*b`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

Segment = re.Pattern[str] | None
"""Of a pattern; None stands for `**`: any number of names, none too."""

STAR: Final = None
"""Among the pieces that `compile_name` takes: any characters, none too."""


def compile_name(pieces: Sequence[str | None]) -> re.Pattern[str]:
    """The expression for one whole name. A piece is an expression for exactly one character, or `STAR`."""
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
    """Whether the whole path, name by name, is what the segments say."""
    reached = _behind_any_depth(segments, {0})
    """How many segments may be used up by the names so far."""
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
    """`**` behind `**` says nothing more."""
    return tuple(each for i, each in enumerate(segments) if each is not None or i == 0 or segments[i - 1] is not None)


def _behind_any_depth(segments: Sequence[Segment], reached: set[int]) -> set[int]:
    """`reached`, and what lies behind each `**` there, which may stand for no name at all."""
    wider = set(reached)
    for n_used in reached:
        at = n_used
        while at < len(segments) and segments[at] is None:
            at += 1
            wider.add(at)
    return wider
