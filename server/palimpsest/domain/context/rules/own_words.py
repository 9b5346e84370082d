"""The parts of a typed text that are somebody else's words: quoted, or passed on behind a colon.

Only the user's own words take back a rule; words that are merely shown take back nothing.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from typing import Final

from palimpsest.domain.context.rules.languages import LANGUAGES, n_words, plain

_LONGEST_HEAD: Final = 200
_MOST_COLONS: Final = 400
_QUOTES = re.compile(
    r"\"[^\"]{1,4000}\"|\u201c[^\u201c\u201d]{1,4000}\u201d|\u201e[^\u201e\u201c\u201d]{1,4000}[\u201c\u201d]"
    r"|\u00ab[^\u00ab\u00bb]{1,4000}\u00bb|\u00bb[^\u00ab\u00bb]{1,4000}\u00ab"
    r"|\u300c[^\u300c\u300d]{1,4000}\u300d|\u300e[^\u300e\u300f]{1,4000}\u300f"
    r"|(?<![^\W_])\u2018[^\u2018\n]{1,400}\u2019(?![^\W_])"
    r"|(?<![^\s(:])'[^'\n]{1,400}(?:'(?=\w)[^'\n]{0,400}){0,8}'(?!\w)"
    r"|`[^`\n]{1,400}`"
)
_COLON = re.compile(r":(?=\s|$|[\"'\u201c\u201e\u00ab\u2018])|\uff1a")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_SENTENCE_START = re.compile(r"[\n.!?\u3002\uff01\uff1f]")
_FEWEST_WORDS: Final = 3
"""Words of a quote that says something; a shorter one is a name."""


def without_foreign(text: str, start: int, end: int) -> str:
    """A piece of the text of a message with blanks in place of somebody else's words."""
    piece = text[start:end]
    for first, last in _foreign_spans(text):
        if first < end and start < last:
            first, last = max(first - start, 0), min(last - start, len(piece))
            piece = piece[:first] + " " * (last - first) + piece[last:]
    return piece


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether a piece of the text of a message is in quotes or begins within them; backticks are quotes as well."""
    return any(first < start < last or (first == start and end <= last) for first, last in _quotes(text))


@functools.lru_cache(maxsize=2)
def _foreign_spans(text: str) -> tuple[tuple[int, int], ...]:
    """The spans of somebody else's words in a message; remembered for its sentences."""
    return tuple(_find_foreign(text))


@functools.lru_cache(maxsize=2)
def _quotes(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(
        match.span()
        for match in _QUOTES.finditer(text)
        if n_words(match[0]) >= _FEWEST_WORDS and _BLANK_LINE.search(match[0]) is None
    )


def _find_foreign(text: str) -> Iterator[tuple[int, int]]:
    yield from _quotes(text)
    for match in itertools.islice(_COLON.finditer(text), _MOST_COLONS):
        head = text[max(0, match.start() - _LONGEST_HEAD) : match.start()]
        head = plain(_SENTENCE_START.split(head)[-1])
        if any(forms.passed_on.search(head) and not forms.said_myself.search(head) for forms in LANGUAGES):
            line_end = text.find("\n", match.end())
            line_end = len(text) if line_end < 0 else line_end
            blank = _BLANK_LINE.search(text, match.end())
            # What is shown below such a line may be of several paragraphs, and nothing says where it ends.
            is_below = not text[match.end() : line_end].strip()
            yield match.end(), len(text) if is_below or blank is None else blank.start()
