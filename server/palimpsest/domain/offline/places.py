"""The places that a search found: the choice of those to show, and the answer that shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.offline_texts import EMPTY, FOUND, HELLO, NOTHING, PARTIAL

MARK, UNMARK = "\2", "\3"
"""Around each word of a line that matches."""
MOST_FILES: Final = 5
_QUOTED_LINES: Final = 4
_QUOTED_CHARS: Final = 200
"""Characters of a line that are shown, around its first match."""
_NEXT: Final = 0.5
"""The weight of a passage in the score of its file, relative to the next better passage of the file."""
_MOST_PASSAGES: Final = 4
"""Passages of a file that count for its score."""
_SECONDARY: Final = 0.7
"""The weight of files that mention everything and explain nothing: tests and data."""
_LEAST: Final = 0.4
"""Files with a smaller share of the best score are not shown."""
_TESTS: Final = re.compile(r"(?:^|/)(?:tests?|e2e|spec|fixtures|benchmarks?)/|(?:^|/)test_|[._](?:test|spec)\.")
_DATA: Final = (".json", ".lock")


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage of a file that matches."""

    row_id: int
    path: str
    """Relative to the workspace folder, with `/`."""
    line: int
    """The number of its first line, from 1."""
    score: float
    """The greater the better."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place to show."""

    label: str
    """`docs/ops.md:12`, `message 4` or `fact 7`."""
    lines: tuple[str, ...]
    note: str = ""
    """Text after the label."""
    path: str | None = None
    """The file that holds the lines; None for a message or a fact."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search."""

    places: tuple[Place, ...]
    """Best first."""
    n_files: int
    """The number of files that were searched."""
    is_partial: bool = False
    """Whether the folder is so large that not all of it was searched."""


def best_of_each_file(hits: Iterable[Hit], *, wants_tests: bool) -> list[Hit]:
    """The best passage of each file, the best file first."""
    by_path: dict[str, list[Hit]] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        by_path.setdefault(hit.path, []).append(hit)
    scores = {path: _score(of_file, wants_tests=wants_tests) for path, of_file in by_path.items()}
    best = max(scores.values(), default=0.0)
    paths = sorted((path for path in scores if scores[path] >= best * _LEAST), key=lambda path: -scores[path])
    return [by_path[path][0] for path in paths]


def _score(hits: Sequence[Hit], *, wants_tests: bool) -> float:
    score = sum(hit.score * _NEXT**n for n, hit in enumerate(hits[:_MOST_PASSAGES]))
    path = hits[0].path
    is_secondary = path.endswith(_DATA) or (not wants_tests and _TESTS.search(path) is not None)
    return score * _SECONDARY if is_secondary else score


def file_place(hit: Hit, marked: Sequence[str]) -> Place:
    """The place of the best lines of a passage. `marked` are the lines of the whole passage."""
    first, lines = quote(marked)
    return Place(f"{hit.path}:{hit.line + first}", lines, path=hit.path)


def quote(marked: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """The position of the first line of the quote, and the quote: at most four lines, each cut to 200 characters. It
    begins at the marked line from which on four lines hold the most different words; without marked words it begins at
    the first line that is not blank."""
    words = [{word.casefold() for word in re.findall(f"{MARK}([^{UNMARK}]*){UNMARK}", line)} for line in marked]
    starts = [n for n, found in enumerate(words) if found] or [n for n, line in enumerate(marked) if line.strip()]
    first = max(starts, key=lambda n: (len(set().union(*words[n : n + _QUOTED_LINES])), -n), default=0)
    window = range(first, min(first + _QUOTED_LINES, len(marked)))
    last = max((n for n in window if marked[n].strip()), default=first)
    return first, tuple(_cut(line) for line in marked[first : last + 1])


def without_marks(line: str) -> str:
    return line.replace(MARK, "").replace(UNMARK, "")


def _cut(line: str) -> str:
    at = max(line.find(MARK), 0)
    plain = without_marks(line)
    if len(plain) <= _QUOTED_CHARS:
        return plain
    start = max(0, min(at - _QUOTED_CHARS // 4, len(plain) - _QUOTED_CHARS))
    end = start + _QUOTED_CHARS
    return f"{'…' if start else ''}{plain[start:end]}{'…' if end < len(plain) else ''}"


def render(found: Found | None, limit_bytes: int) -> tuple[str, bool]:
    """The answer in Markdown, in at most `limit_bytes` of UTF-8, and whether a part was left out. `found` is None when
    the message has no word to look for."""
    parts = _parts(found)
    answer, is_cut = _fit(next(parts), limit_bytes)
    for part in parts:
        if len(f"{answer}{part}".encode()) > limit_bytes:
            return answer, True
        answer += part
    return answer, is_cut


def _parts(found: Found | None) -> Iterator[str]:
    """The parts of an answer. All but the first are shown whole or not at all."""
    if found is None:
        yield f"{HELLO}\n"
        return
    yield f"{FOUND if found.places else NOTHING if found.n_files else EMPTY}\n"
    yield from map(_quote, found.places)
    if found.is_partial:
        yield f"\n{PARTIAL}\n"


def _quote(place: Place) -> str:
    """A block quote under the label. Lines of a file are fenced, so that Markdown shows them as they are."""
    lines: Sequence[str] = place.lines
    if place.path is not None:
        fence = "`" * max(3, _longest_run(lines) + 1)
        lines = [fence, *lines, fence]
    body = "".join(f"> {line}\n" if line else ">\n" for line in lines)
    ticks = "`" * (_longest_run([place.label]) + 1)
    return f"\n{ticks}{place.label}{ticks}{place.note}\n\n{body}"


def _longest_run(lines: Iterable[str]) -> int:
    """The length of the longest run of backticks."""
    return max((len(run) for line in lines for run in re.findall("`+", line)), default=0)


def _fit(text: str, limit_bytes: int) -> tuple[str, bool]:
    data = text.encode()
    return data[:limit_bytes].decode(errors="ignore"), len(data) > limit_bytes
