"""An edit of one file that is taken back while everything that was typed since stays, to the character.

It is a merge of lines. Where an edit changed some lines, those lines must still stand as it left them, beside a line
that stood beside them then or with a word that no other line has; or they are as they were before. Else the file has
changed there, and nothing of it is taken back. The lines are compared from the front and from the back: where the two
readings differ, it is unclear which lines are meant, and that counts as changed too.

The kind of line ends, and whether the last line has one, are no part of a line: editors change both when they save.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from typing import Final

from palimpsest.domain.facts.staleness.line_map import NOWHERE, map_lines

_TELLING: Final = re.compile(r"\w\W*\w\W*\w")
"""What a line has that is hardly there by chance, if it is there once."""
_LINES: Final = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


class ChangeState(StrEnum):
    """What is known of an accepted edit."""

    ASKED = "asked"
    """An editor was asked to apply it, and no answer is known."""
    APPLIED = "applied"
    TAKEN_BACK = "taken_back"


class Standing(Enum):
    """What has become of an edit in the text of its file."""

    AS_LEFT = auto()
    """All of it stands as the edit left it."""
    PARTLY = auto()
    """Some of it stands; the rest is as it was before."""
    AS_BEFORE = auto()
    """All of it is as it was before the edit."""
    CHANGED = auto()
    """Where it changed the file, the file has been changed again."""


@dataclass(frozen=True, slots=True)
class WithoutEdit:
    """A text without an edit."""

    standing: Standing
    """What had become of the edit before."""
    text: str | None
    """None: no file. The text as it was where the edit is CHANGED."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The replacement of the characters [start, end) of a text."""

    start: int
    end: int
    text: str


def without_edit(before: str | None, after: str, now: str | None) -> WithoutEdit:
    """The text `now` without the edit that made `after` of `before`. None: there is no such file. A file that the edit
    made is taken back whole or not at all, also where an editor never saved more of it than its empty beginning."""
    if now == before:
        return WithoutEdit(Standing.AS_BEFORE, now)
    if before is None or now is None:
        is_same = now is not None and (now == "" or _Text.of(now).lines == _Text.of(after).lines)
        return WithoutEdit(Standing.AS_LEFT, None) if is_same else WithoutEdit(Standing.CHANGED, now)
    if now == after:
        return WithoutEdit(Standing.AS_LEFT, before)
    texts = _Text.of(before), _Text.of(after), _Text.of(now)
    forward = _merge(*texts)
    backward = _merge(*(each.reversed() for each in texts))
    if any(reading is not None and reading[0] is Standing.AS_BEFORE for reading in (forward, backward)):
        return WithoutEdit(Standing.AS_BEFORE, now)  # of two equal lines, either is the one that the edit added
    if forward is None or backward is None or forward[1] != backward[1].reversed():
        return WithoutEdit(Standing.CHANGED, now)
    standing, merged = forward
    return WithoutEdit(standing, merged.joined())


def differences(old: str, new: str) -> list[Stretch]:
    """What makes `new` of `old`, line by line: in the order of the text and without overlaps."""
    ids: dict[str, int] = {}
    old_lines, new_lines = ([match[0] for match in _matches(text)] for text in (old, new))
    found = map_lines(*([ids.setdefault(line, len(ids) + 1) for line in lines] for lines in (old_lines, new_lines)))
    starts = [0]
    for line in old_lines:
        starts.append(starts[-1] + len(line))
    return [
        Stretch(starts[hunk.start], starts[hunk.end], "".join(new_lines[hunk.other_start : hunk.other_end]))
        for hunk in _hunks(found, len(new_lines))
    ]


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as its lines, and the end of each."""

    lines: tuple[str, ...]
    ends: tuple[str, ...]
    """An empty end: the last line has none."""
    is_reversed: bool = False

    @classmethod
    def of(cls, text: str) -> _Text:
        found = list(_matches(text))
        return cls(tuple(match[1] for match in found), tuple(match[2] for match in found))

    def reversed(self) -> _Text:
        return _Text(self.lines[::-1], self.ends[::-1], not self.is_reversed)

    def ids(self, known: dict[str, int]) -> list[int]:
        """A number for each line, the same for the same line; 0 for an empty one, which tells no place."""
        return [known.setdefault(line, len(known) + 1) if line else 0 for line in self.lines]

    @property
    def end(self) -> str | None:
        """The one kind of line end in it; None when there is none, or more than one."""
        kinds = set(self.ends) - {""}
        return kinds.pop() if len(kinds) == 1 else None

    @property
    def last(self) -> int:
        """The index of the last line of the file."""
        return 0 if self.is_reversed else len(self.lines) - 1

    def joined(self) -> str:
        return "".join(line + end for line, end in zip(self.lines, self.ends, strict=True))


@dataclass(frozen=True, slots=True)
class _Hunk:
    """The lines [start, end) of one text, in place of which another one has [other_start, other_end)."""

    start: int
    end: int
    other_start: int
    other_end: int


def _matches(text: str) -> Iterator[re.Match[str]]:
    """The lines of a text as LSP counts them, each with its end; none behind the last end."""
    return (match for match in _LINES.finditer(text) if match[0])


def _hunks(found: Sequence[int], n_other: int) -> Iterator[_Hunk]:
    """The differences that a map of lines leaves."""
    start = other_start = 0
    for index, other in enumerate([*found, n_other]):
        if other == NOWHERE:
            continue
        if index > start or other > other_start:
            yield _Hunk(start, index, other_start, other)
        start, other_start = index + 1, other + 1


def _merge(before: _Text, after: _Text, now: _Text) -> tuple[Standing, _Text] | None:
    """The text without the edit; None where it was changed again."""
    known: dict[str, int] = {}
    ids = [each.ids(known) for each in (before, after, now)]
    place = map_lines(ids[1], ids[2])
    lines, ends, kind = list(now.lines), list(now.ends), now.end
    counts = Counter(after.lines), Counter(now.lines)
    n_standing = n_hunks = 0
    for hunk in reversed(list(_hunks(map_lines(ids[1], ids[0]), len(before.lines)))):
        n_hunks += 1
        old = slice(hunk.other_start, hunk.other_end)
        if _is_as_before(place, hunk, before.lines[old], now.lines):
            continue
        if (span := _standing(place, hunk, after.lines, counts, len(now.lines))) is None:
            return None
        n_standing += 1
        lines[span] = before.lines[old]
        ends[span] = [kind or end for end in before.ends[old]]
    if not n_hunks:  # only line ends differ
        return Standing.AS_LEFT, now
    standing = Standing.PARTLY if n_standing < n_hunks else Standing.AS_LEFT
    merged = _Text(tuple(lines), tuple(ends), now.is_reversed)
    if not n_standing:
        return Standing.AS_BEFORE, now
    return standing, _with_last_end(merged, before, after, now, place)


def _behind(place: Sequence[int], start: int) -> int | None:
    """Where the lines behind the one above `start` begin now."""
    if start == 0:
        return 0
    return None if place[start - 1] == NOWHERE else place[start - 1] + 1


def _ahead(place: Sequence[int], end: int, n_now: int) -> int | None:
    """Where the line below `end` is now."""
    if end == len(place):
        return n_now
    return None if place[end] == NOWHERE else place[end]


def _is_as_before(place: Sequence[int], hunk: _Hunk, old: Sequence[str], now: Sequence[str]) -> bool:
    """Whether the lines of the edit are gone, and those that it replaced stand in their place, whatever was typed
    beside them."""
    low, high = _behind(place, hunk.start), _ahead(place, hunk.end, len(now))
    if low is not None and high is not None and now[low:high] == old:
        return True
    if not old or any(index != NOWHERE for index in place[hunk.start : hunk.end]):
        return False
    return (low is not None and now[low : low + len(old)] == old) or (
        high is not None and high >= len(old) and now[high - len(old) : high] == old
    )


def _standing(
    place: Sequence[int], hunk: _Hunk, after: Sequence[str], counts: tuple[Counter[str], Counter[str]], n_now: int
) -> slice | None:
    """Where the lines of the edit stand as it left them; None where they do not. `counts`: how often each line is in
    `after`, and how often now; `n_now`: the lines that there are now."""
    low, high = _behind(place, hunk.start), _ahead(place, hunk.end, n_now)
    if hunk.start == hunk.end:
        return slice(low, low) if low is not None and low == high else None
    first = place[hunk.start]
    size = hunk.end - hunk.start
    if first == NOWHERE or list(place[hunk.start : hunk.end]) != list(range(first, first + size)):
        return None
    is_beside = (hunk.start > 0 and low == first) or (hunk.end < len(place) and high == first + size)
    if is_beside or size == len(place) or any(_tells(line, counts) for line in after[hunk.start : hunk.end]):
        return slice(first, first + size)
    return None


def _tells(line: str, counts: tuple[Counter[str], Counter[str]]) -> bool:
    """Whether there is such a line once in each of the texts, and hardly by chance."""
    return _TELLING.search(line) is not None and all(each[line] == 1 for each in counts)


def _with_last_end(merged: _Text, before: _Text, after: _Text, now: _Text, place: Sequence[int]) -> _Text:
    """The text with an end behind each line but the last, which has one where it has one now, or had one before where
    the edit took it."""
    if not merged.lines:
        return merged
    usual = now.end or before.end or "\n"
    ends = [end or usual for end in merged.ends]
    has_end = bool(now.lines) and bool(now.ends[now.last])
    is_same_line = bool(after.lines) and place[after.last] == now.last
    if is_same_line and before.lines and has_end == bool(after.ends[after.last]):
        has_end = bool(before.ends[before.last])
    if not has_end:
        ends[merged.last] = ""
    return replace(merged, ends=tuple(ends))
