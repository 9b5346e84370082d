"""Patterns of paths, as people write them: `*.py`, `src/**/test_*`, `*.{ts,tsx}`.

A pattern without `/` is about the name at any depth, one with `/` about the whole path below the workspace folder.
Patterns come from models, so matching must not blow up: each part is matched alone, and `fnmatch` makes expressions
that never go back over a star.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Final

from palimpsest.domain.errors import InvalidRequest

_ALTERNATIVES: Final = re.compile(r"\{([^{}]*)\}")
_MAX_ALTERNATIVES: Final = 64
_MAX_CHARACTERS: Final = 1000
_ANY_DEPTH: Final = "**"

_Segment = re.Pattern[str] | None
"""None stands for `**`: any number of parts."""


class Glob:
    """One pattern. InvalidRequest when it is empty, or too large to be meant."""

    def __init__(self, pattern: str) -> None:
        if not pattern.strip("/") or len(pattern) > _MAX_CHARACTERS:
            raise InvalidRequest("The glob is empty or too long. Write one such as `*.py` or `src/**/*.ts`.")
        self._choices = [_segments(choice) for choice in _expand(pattern)]

    def matches(self, parts: tuple[str, ...]) -> bool:
        return any(_match(segments, parts) for segments in self._choices)


def _expand(pattern: str) -> list[str]:
    """Every reading of `{a,b}`, from the innermost braces out."""
    done: list[str] = []
    open_ones = [pattern]
    while open_ones:
        each = open_ones.pop()
        braces = _ALTERNATIVES.search(each)
        if braces is None:
            done.append(each)
        else:
            open_ones += [each[: braces.start()] + choice + each[braces.end() :] for choice in braces[1].split(",")]
        if len(done) + len(open_ones) > _MAX_ALTERNATIVES:
            raise InvalidRequest("The glob has too many alternatives in braces. Search for fewer kinds of files.")
    return done


def _segments(pattern: str) -> list[_Segment]:
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if "/" not in pattern.rstrip("/"):
        names.insert(0, _ANY_DEPTH)
    return [None if name == _ANY_DEPTH else re.compile(translate(name)) for name in names]


def _match(segments: list[_Segment], parts: tuple[str, ...]) -> bool:
    reached = {0}
    """How many segments may be used up by the parts so far."""
    for part in parts:
        following: set[int] = set()
        for n_used in _behind_any_depth(segments, reached):
            if n_used == len(segments):
                continue
            segment = segments[n_used]
            if segment is None:
                following.add(n_used)
            elif segment.match(part):
                following.add(n_used + 1)
        reached = following
    return len(segments) in _behind_any_depth(segments, reached)


def _behind_any_depth(segments: list[_Segment], reached: set[int]) -> set[int]:
    """`reached`, and what lies behind each `**` there, which may stand for no part at all."""
    wider = set(reached)
    for n_used in reached:
        at = n_used
        while at < len(segments) and segments[at] is None:
            at += 1
            wider.add(at)
    return wider
