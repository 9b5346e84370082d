"""The words of a text, without case and accents, identifiers and paths taken apart: `retryDelay`, `retry_delay` and
`retry/delay` are all *retry delay*."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_RUN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_APOSTROPHE = re.compile(r"['\u2019]")
_INNER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Za-z]{1,3}$)")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_MARKS = re.compile(r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")


def fold(text: str) -> str:
    """The text without case and accents. Line feeds stay in place; the number of other characters may change."""
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))


def runs(text: str) -> Iterator[str]:
    """Unbroken runs of letters and digits, in order; an underscore ends a run."""
    return (match.group() for match in _RUN.finditer(text))


def pieces(run: str) -> tuple[str, ...]:
    """The folded words in one run, in order: `HTTPServer's` is *http server*."""
    run = _APOSTROPHE.split(run)[0]
    if run.isascii():
        if run.islower() and run.isalpha():
            return (run,)
        return tuple(part.lower() for part in _INNER.split(run) if part)
    if _UNSPACED.search(run):
        # These scripts put no space between words, so pairs of characters replace them.
        return tuple(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return tuple(fold(part) for part in _INNER.split(run) if part)


def all_pieces(text: str) -> list[str]:
    """The folded words of a text, in order, including stop words."""
    return [piece for run in runs(text) for piece in pieces(run)]
