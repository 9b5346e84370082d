"""Glob patterns of paths: `*.py`, `src/**/test_*`, `*.{ts,tsx}`.

A pattern without `/` matches the name at any depth; one with `/` matches the whole path below the workspace folder.
Patterns come from models, so the time of a match must be bounded: each part is matched alone (`path_patterns`), and
`fnmatch` makes expressions that never backtrack over a star.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.workspace.path_patterns import Segment, match_segments, without_repeats

_ALTERNATIVES: Final = re.compile(r"\{([^{}]*)\}")
_MAX_ALTERNATIVES: Final = 64
_MAX_CHARACTERS: Final = 1000
_ANY_DEPTH: Final = "**"


class Glob:
    """One pattern. Raises InvalidRequest when it is empty or too large."""

    def __init__(self, pattern: str) -> None:
        if not pattern.strip("/") or len(pattern) > _MAX_CHARACTERS:
            raise InvalidRequest("The glob is empty or too long. Write one such as `*.py` or `src/**/*.ts`.")
        self._choices = [_segments(choice) for choice in _expand(pattern)]

    def matches(self, parts: tuple[str, ...]) -> bool:
        return any(match_segments(segments, parts) for segments in self._choices)


def _expand(pattern: str) -> list[str]:
    """Every alternative of `{a,b}`, from the innermost braces outward."""
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


def _segments(pattern: str) -> tuple[Segment, ...]:
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if "/" not in pattern.rstrip("/"):
        names.insert(0, _ANY_DEPTH)
    return without_repeats([None if name == _ANY_DEPTH else re.compile(translate(name)) for name in names])
