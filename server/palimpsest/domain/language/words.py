"""Words in the form in which the offline answers compare them: folded, split, stemmed.

Two texts share a word when its stems are equal after removing case and accents and splitting identifiers and paths
(`retryDelay`, `retry_delay` and `retry/delay` are all *retry delay*).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Protocol

from palimpsest.domain.language.lexicon import IRREGULAR, KINDS, PHRASES, STOP
from palimpsest.domain.language.thesaurus import ALIKE

_RUN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_APOSTROPHE = re.compile(r"['\u2019]")
_INNER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Za-z]{1,3}$)")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_MARKS = re.compile(r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_SECONDS: Final = frozenset(phrase.split()[1] for phrase in PHRASES)


class Stemmer(Protocol):
    """The part of snowballstemmer that is used. An instance has state, so threads must not share it."""

    def stemWord(self, word: str) -> str: ...


def new_stemmer() -> Stemmer:
    """A new English stemmer. The first call loads the library."""
    import snowballstemmer

    stemmer: Stemmer = snowballstemmer.stemmer("english")
    return stemmer


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


def base(word: str) -> str:
    """The base form of an irregular word; other words unchanged."""
    return IRREGULAR.get(word, word)


def phrase(first: str, second: str, stemmer: Stemmer) -> str | None:
    """The one word with the meaning of two neighboring pieces, such as *login* for *logged in*; else None."""
    if second not in _SECONDS:
        return None
    return PHRASES.get(f"{base(first)} {second}") or PHRASES.get(f"{stemmer.stemWord(first)} {second}")


def words(text: str) -> tuple[str, ...]:
    """The stems of a text's content words, in order, with repetitions, without stop words."""
    stemmer = new_stemmer()
    return tuple(stemmer.stemWord(base(piece)) for piece in all_pieces(text) if piece not in STOP)


@lru_cache(maxsize=1)
def stand_ins() -> Mapping[str, frozenset[str]]:
    """The stems of near synonyms, by stem."""
    stemmer = new_stemmer()
    result: dict[str, set[str]] = {}
    for group in ALIKE:
        stems = {stemmer.stemWord(base(word)) for word in group.split()}
        for stem in stems:
            result.setdefault(stem, set()).update(stems - {stem})
    return {stem: frozenset(others) for stem, others in result.items()}


@lru_cache(maxsize=1)
def kinds() -> Mapping[str, frozenset[str]]:
    """The stems of things of a kind, by the kind's stem."""
    stemmer = new_stemmer()
    return {stemmer.stemWord(kind): frozenset(map(stemmer.stemWord, things.split())) for kind, things in KINDS.items()}
