"""Fragments: short pieces of a text, each with the exact names in it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

from palimpsest.domain.context.notebook.names import NAME, READ_CHARS, is_name, names_in, unescaped

DECLARES: Final = re.compile(
    r"\b(def|class|function|func|fn|interface|type|struct|enum|module|defmodule|export|import|const|describe|it|test"
    r"|alias|from|@\w+)\b"
)
"""A line that declares something."""
SEPARATOR: Final = " · "
"""Between two fragments of a line."""
MOST_FRAGMENTS: Final = 40
"""Of one text."""

_FRAGMENT_CHARS: Final = 100
"""A longer line is cut into stretches around its names."""
_AROUND_CHARS: Final = 24
"""On each side of a name."""
_CLAUSE: Final = re.compile(r"[.!?;:,](?:[\"')]|) |[。！？；，] ?| [—–-] ")  # noqa: RUF001  # of Chinese
"""What stands between two sentences or clauses."""
_LINE_CHARS: Final = 4_000
_SHORTEST_LINE: Final = 5
_MOST_STRETCHES: Final = 12
_LINE_NUMBER = re.compile(r"^\s*(?:\d+\s*[→|:\t]|\d+\s{1,}(?=\S)|[+\-]\s?(?=\S))\s*")
"""What tools put before a line: its number, or the sign of a diff."""


LINE_BREAK, TAB = "\\n", "\\t"
"""As a quoted text has them."""

_ENDS: Final = " ;,."
"""What ends a line: fragments stand one behind the other, and none ends a sentence."""


class Kind(Enum):
    """What a fragment is."""

    SAID = auto()
    """A sentence of the assistant."""
    OUTCOME = auto()
    """How a call came out."""
    CALLED = auto()
    """With what a tool was called, beside what the head of its line tells."""
    LINE = auto()
    """A line of code, of an argument, or of what a tool printed."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a message that may be repeated."""

    text: str
    names: tuple[str, ...]
    """Keys, in the order of the text."""
    tokens: int
    """Raw, what separates it from the next one included."""
    weight: float
    """What it is worth beside its names."""
    kind: Kind
    n_words: int
    """Beside the names."""
    lead: str = ""
    """What stands before it in the quoted text that it is a line of, such as `\\n\\t`; empty for any other."""


class Found(NamedTuple):
    """A piece of a text that names something."""

    text: str
    names: dict[str, str]
    """As the piece shows them, by key."""
    lead: str = ""
    """What stands before it where the text is quoted: a line break, unless it begins the text, and its indentation as
    one space or one tab."""


def joined(fragments: Sequence[Fragment]) -> str:
    """The fragments as one line: lines of a quoted text as it has them, a dot between all others."""
    line = ""
    for each in fragments:
        if not line:
            line = each.lead.removeprefix(LINE_BREAK).lstrip() + each.text
        else:
            line += (each.lead or SEPARATOR) + each.text
    return line


def pieces_of(text: str) -> list[Found]:
    """The lines that name something, each once, with their names; of long lines the stretches around their names."""
    found: list[Found] = []
    seen: set[str] = set()
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
    for index, raw in enumerate(_lines_of(text)):
        line = " ".join(_LINE_NUMBER.sub("", raw[:_LINE_CHARS], count=1).split())
        if len(line) < _SHORTEST_LINE or line in seen:
            continue
        seen.add(line)
        if NAME.search(line) is None:
            continue
        lead = (LINE_BREAK if index else "") + {"\t": TAB, " ": " "}.get(raw[:1], "")
        for part in [line] if len(line) <= _FRAGMENT_CHARS else _around_names(line):
            if within := names_in(part):
                found.append(Found(part.rstrip(_ENDS), within, lead))
            lead = ""
        if len(found) > 12 * MOST_FRAGMENTS:
            break
    return found


def _lines_of(text: str) -> Iterator[str]:
    """The lines of a text, and of a long one that quotes a text the lines of that."""
    for raw in text.splitlines():
        if len(raw) > _FRAGMENT_CHARS and "\\" in raw[:_LINE_CHARS]:
            yield from unescaped(raw[:_LINE_CHARS]).splitlines()
        else:
            yield raw


def best_of(found: Sequence[Found]) -> list[Found]:
    """Those of `pieces_of` that name the most for their length, declarations a little preferred, until each name
    occurs; at most `MOST_FRAGMENTS`, in their order."""
    have: set[str] = set()
    picked: list[int] = []

    def rank(index: int) -> float:
        text, within, _ = found[index]
        return -(len(within) + (0.7 if DECLARES.search(text) else 0.0)) / math.sqrt(8 + len(text))

    for index in sorted(range(len(found)), key=rank):
        within = found[index].names
        if within.keys() - have:
            have.update(within)
            picked.append(index)
            if len(picked) >= MOST_FRAGMENTS:
                break
    return [found[index] for index in sorted(picked)]


def _around_names(line: str) -> list[str]:
    """Stretches of a long line, each with at least one whole name, cut between sentences or clauses where one of them
    ends near, else between words where words are short."""
    borders = [0, *(match.end() for match in _CLAUSE.finditer(line)), len(line)]
    spans: list[list[int]] = []
    for match in NAME.finditer(line):
        if not is_name(match[0]):
            continue
        first = max(0, match.start() - _AROUND_CHARS)
        after = min(len(line), match.end() + _AROUND_CHARS)
        begins = [each for each in borders if each <= match.start() and abs(each - first) <= _AROUND_CHARS]
        ends = [each for each in borders if each >= match.end() and abs(each - after) <= _AROUND_CHARS]
        first = _nearest(first, begins) if begins else _word_start(line, first, match.start())
        after = _nearest(after, ends) if ends else _word_end(line, after, match.end())
        if spans and first <= spans[-1][1] + 2 and after - spans[-1][0] <= _FRAGMENT_CHARS:
            spans[-1][1] = after
        else:
            spans.append([first, after])
    return [_stretch(line, first, after, borders) for first, after in spans[:_MOST_STRETCHES]]


def _stretch(line: str, first: int, after: int, borders: Sequence[int]) -> str:
    """With an ellipsis where it ends within a clause. Its beginning needs none."""
    return line[first:after].strip().rstrip(_ENDS) + ("" if after in borders else "…")


def _nearest(index: int, borders: Sequence[int]) -> int:
    return min(borders, key=lambda each: abs(each - index))


def _word_start(line: str, index: int, most: int) -> int:
    """The beginning of the word at `index`, or of the next one where that word is long; at most `most`."""
    if index == 0 or line[index - 1].isspace():
        return index
    before = line.rfind(" ", max(0, index - _AROUND_CHARS // 2), index)
    if before >= 0:
        return before + 1
    behind = line.find(" ", index, most)
    return behind + 1 if behind >= 0 else most


def _word_end(line: str, index: int, least: int) -> int:
    """The end of the word at `index`, or of the one before where that word is long; at least `least`."""
    if index == len(line) or line[index].isspace():
        return index
    behind = line.find(" ", index, index + _AROUND_CHARS // 2)
    if behind >= 0:
        return behind
    before = line.rfind(" ", least, index)
    return before if before >= 0 else least
