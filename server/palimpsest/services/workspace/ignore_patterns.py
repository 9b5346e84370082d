"""The patterns of one `.gitignore` file, with the meaning that they have in git.

Anybody may have written an ignore file, so each pattern is matched in bounded time (`path_patterns`), and a file has
limits: patterns beyond them are not used, and `refused` has their lines. `?` and `[…]` match one character; in git they
match one byte of UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from palimpsest.services.workspace.path_patterns import STAR, Segment, compile_name, match_segments, without_repeats

MAX_PATTERN_CHARACTERS: Final = 1_000
MAX_PATTERNS: Final = 10_000
"""The most patterns of one file; plain names do not count."""

_ANY: Final = "."
_NOTHING: Final = "(?!)"
_CLASSES: Final = {
    "alnum": "A-Za-z0-9",
    "alpha": "A-Za-z",
    "blank": r"\ \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r"\ \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class _Rule(NamedTuple):
    number: int
    """The number of its line; the last matching pattern decides."""
    is_exception: bool
    """Whether it begins with `!`: the matches are not ignored."""
    is_for_folders: bool
    """Whether it ends with `/`: it matches folders only."""


class _Pattern(NamedTuple):
    rule: _Rule
    segments: tuple[Segment, ...]
    """The pattern of the path below the file's folder, or, with `is_for_names`, of the name alone."""
    is_for_names: bool


@dataclass(frozen=True, slots=True)
class IgnorePatterns:
    """Made by `read_patterns`."""

    _plain: dict[str, list[_Rule]]
    """The patterns without wildcards, by their name; the last rule comes first."""
    _others: tuple[_Pattern, ...]
    """The other patterns; the last one comes first."""
    refused: tuple[int, ...]
    """The numbers, from 1, of the lines that are not used, because their patterns are too long or too many."""

    def verdict(self, names: tuple[str, ...], *, is_folder: bool) -> bool | None:
        """Whether the file ignores the path `names` below its folder; None when no pattern matches."""
        plain = next((each for each in self._plain.get(names[-1], ()) if is_folder or not each.is_for_folders), None)
        for rule, segments, is_for_names in self._others:
            if plain is not None and rule.number < plain.number:
                break
            about = names[-1:] if is_for_names else names
            if (is_folder or not rule.is_for_folders) and match_segments(segments, about):
                return not rule.is_exception
        return None if plain is None else not plain.is_exception


def read_patterns(text: str) -> IgnorePatterns:
    """The patterns of a whole file."""
    plain: dict[str, list[_Rule]] = {}
    others: list[_Pattern] = []
    refused: list[int] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("#") or not (written := _without_spaces(line.removesuffix("\r"))):
            continue
        pattern = written.removeprefix("!")
        body = pattern.removesuffix("/")
        rule = _Rule(number, pattern != written, body != pattern)
        if len(body) > MAX_PATTERN_CHARACTERS:
            refused.append(number)
        elif not re.search(r"[*?\[\\/]", body):
            plain.setdefault(body, []).insert(0, rule)
        elif len(others) == MAX_PATTERNS:
            refused.append(number)
        elif (segments := _segments(body)) is not None:
            others.append(_Pattern(rule, segments, "/" not in body))
    return IgnorePatterns(plain, tuple(reversed(others)), tuple(refused))


def _without_spaces(line: str) -> str:
    """The line without the spaces at its end, except one after a backslash."""
    stripped = line.rstrip(" ")
    n_backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if n_backslashes % 2 and len(stripped) < len(line) else stripped


def _segments(body: str) -> tuple[Segment, ...] | None:
    """The compiled pattern; None for one that matches nothing: an open bracket, or a backslash at the end."""
    is_path = "/" in body
    parts: list[list[str | None]] = [[]]
    at = 1 if body.startswith("/") else 0
    while at < len(body):
        character = body[at]
        at += 1
        if character == "\\":
            if at == len(body):
                return None
            character = body[at]
            at += 1
        elif character == "*":
            parts[-1].append(STAR)
            continue
        elif character == "?":
            parts[-1].append(_ANY)
            continue
        elif character == "[":
            if (found := _set(body, at)) is None:
                return None
            piece, at = found
            parts[-1].append(piece)
            continue
        if character == "/":
            parts.append([])
        else:
            parts[-1].append(re.escape(character))
    return without_repeats(tuple(_to_segments(parts) if is_path else [compile_name(parts[0])]))


def _to_segments(parts: Sequence[Sequence[str | None]]) -> Iterator[Segment]:
    """The segments of a path pattern, which may be `**`."""
    for i, part in enumerate(parts):
        if len(part) > 1 and not any(part):
            yield None
            if i == len(parts) - 1:  # `a/**` matches the entries of `a`, not `a` itself
                yield compile_name([STAR])
        else:
            yield compile_name(part)


def _set(body: str, at: int) -> tuple[str, int] | None:
    """The expression for a bracket whose content begins at `at`, and the position after its end."""
    is_negated = body[at : at + 1] in ("!", "^")
    at += is_negated
    inside: list[str] = []
    before, is_first = "", True
    while is_first or body[at : at + 1] != "]":
        if at >= len(body):
            return None
        is_first = False
        character = body[at]
        if character == "-" and before and body[at + 1 : at + 2] not in ("", "]"):
            at += 2 if body[at + 1] == "\\" else 1
            if at >= len(body):
                return None
            if before <= body[at]:
                inside.append(f"{re.escape(before)}-{re.escape(body[at])}")
            before = ""
        elif character == "[" and body[at + 1 : at + 2] == ":" and (end := body.find("]", at + 2)) != -1:
            if body[end - 1] == ":" and end - 1 >= at + 2:
                if (named := _CLASSES.get(body[at + 2 : end - 1])) is None:
                    return None
                inside.append(named)
                at, before = end, ""
            else:  # not the name of a class: an ordinary set
                inside.append(re.escape(character))
                before = character
        else:
            if character == "\\":
                at += 1
                if at >= len(body):
                    return None
                character = body[at]
            inside.append(re.escape(character))
            before = character
        at += 1
    if not inside:
        return (_ANY if is_negated else _NOTHING), at + 1
    return f"[{'^' if is_negated else ''}{''.join(inside)}]", at + 1
