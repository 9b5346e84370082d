"""Finds the lines of a file that a statement is about, when it names neither lines nor a present symbol.

A change elsewhere in the file must not flag a fact about one thing in it, so the whole file is the last resort: for a
statement that names nothing with one place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from palimpsest.domain.facts.extraction.names import is_file_name
from palimpsest.domain.facts.fact import Span
from palimpsest.domain.facts.staleness.anchor import squeezed
from palimpsest.domain.facts.staleness.file_lines import split_lines
from palimpsest.domain.facts.staleness.symbols import enclosing_symbol, find_symbol
from palimpsest.domain.language.lexicon import STOP
from palimpsest.domain.language.words import all_pieces

_TICKED: Final = re.compile(r"`([^`\n]{2,200})`")
_NAME: Final = re.compile(
    r"\b[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)+|\b\w*_\w+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]\w*[A-Z]\w*"
    r"|\b[A-Z][A-Z0-9]{2,}\b|\b[A-Za-z_]\w*(?=\(\))"
)
"""A certain name: dotted, snake or camel case, capitals, or with brackets behind it."""
_WORD: Final = re.compile(r"(?<![\w./-])[A-Za-z_]\w{2,}(?![\w/-]|\.\w)")
_PATH: Final = re.compile(r"(?:[\w@~.-]*/)+[\w@.-]*|\b[\w-]+(?:\.[\w-]+)+")
_LONGEST_SAID: Final = 2_000
_MOST_NAMES: Final = 12
_MOST_LINES: Final = 10_000
"""A longer file is not compared line by line with the words of a statement."""
_LONGEST_LINE: Final = 400
_MOST_MENTIONS: Final = 500
"""A name with more mentions in a file tells no place, and each mention takes time."""
_SHORTEST_CODE: Final = 6
_MOST_PLACES_OF_NAME: Final = 3
_FEWEST_SHARED: Final = 2
_CLOSE: Final = 0.85


def said_place(path: str, text: str, said: str) -> tuple[Span, str] | None:
    """The place, and its symbol when it is the whole of one. None when nothing tells one place in the file.

    In order: quoted code that occurs once; the first name that is defined in the file, or occurs in few lines; a
    definition whose name is a word of the statement; the line that shares the most telling words.
    """
    said = said[:_LONGEST_SAID]
    lines = split_lines(text)
    return (
        _by_code(path, text, lines, said)
        or _by_name(path, text, lines, said)
        or _by_word(path, text, said)
        or _by_words(path, text, lines, said)
    )


def _by_code(path: str, text: str, lines: Sequence[str], said: str) -> tuple[Span, str] | None:
    quoted = [match[1] for match in _TICKED.finditer(said)] + said.split("\n")
    for code in map(squeezed, quoted):
        if len(code) < _SHORTEST_CODE or not re.search(r"[\s=({\[<]", code) or not re.search(r"\w", code):
            continue
        found = [number for number, line in enumerate(lines, 1) if code in squeezed(line[:_LONGEST_LINE])]
        if len(found) == 1:
            section = enclosing_symbol(path, text, found[0]) if code.startswith("#") else None
            return section or (Span(found[0], found[0]), "")
    return None


def _by_name(path: str, text: str, lines: Sequence[str], said: str) -> tuple[Span, str] | None:
    names = [name for name in list(_names(said))[:_MOST_NAMES] if _is_looked_for(name, text)]
    for name in names:
        if (span := find_symbol(path, text, name)) is not None:
            return span, name
    for name in names:
        whole = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
        found = [number for number, line in enumerate(lines, 1) if name in line and whole.search(line[:_LONGEST_LINE])]
        if 0 < len(found) <= _MOST_PLACES_OF_NAME:
            return _one_of(path, text, found)
    return None


def _is_looked_for(name: str, text: str) -> bool:
    return 0 < text.count(re.split(r"[.:]", name)[-1] or name) <= _MOST_MENTIONS


def _without_paths(said: str) -> str:
    """The statement without paths: they name the file, not a place in it."""
    return _PATH.sub(lambda found: " " if "/" in found[0] or is_file_name(found[0]) else found[0], said)


def _names(said: str) -> Iterator[str]:
    """The names of the statement, each once, without paths."""
    bare = _without_paths(said)
    ticked = (match[1].removesuffix("()") for match in _TICKED.finditer(bare))
    found = dict.fromkeys(name for name in ticked if re.fullmatch(r"[\w$.:#-]+", name))
    found.update(dict.fromkeys(match[0] for match in _NAME.finditer(bare)))
    return (name for name in found if len(name) > 1 and any(map(str.isalpha, name)))


def _by_word(path: str, text: str, said: str) -> tuple[Span, str] | None:
    """The definition of the only word that is defined in the file."""
    words = dict.fromkeys(word for word in _WORD.findall(_without_paths(said)) if word.lower() not in STOP)
    looked_for = [word for word in list(words)[:40] if _is_looked_for(word, text)]
    found = [(span, word) for word in looked_for if (span := find_symbol(path, text, word)) is not None]
    return found[0] if len(found) == 1 else None


def _by_words(path: str, text: str, lines: Sequence[str], said: str) -> tuple[Span, str] | None:
    """The line that shares at least two telling words with the statement, and clearly more than the others."""
    wanted = set(all_pieces(_without_paths(said))) - STOP
    if len(wanted) < _FEWEST_SHARED or len(lines) > _MOST_LINES:
        return None
    shared = {
        number: common
        for number, line in enumerate(lines, 1)
        if len(common := wanted & set(all_pieces(line[:_LONGEST_LINE]))) >= _FEWEST_SHARED
    }
    often = Counter(word for common in shared.values() for word in common)
    scores = {number: sum(1 / often[word] for word in common) + len(common) for number, common in shared.items()}
    best = max(scores.values(), default=0.0)
    close = [number for number, score in scores.items() if score >= _CLOSE * best]
    return _one_of(path, text, close) if 0 < len(close) <= _MOST_PLACES_OF_NAME else None


def _one_of(path: str, text: str, numbers: Sequence[int]) -> tuple[Span, str] | None:
    """The line itself; for several lines the symbol around all of them."""
    if len(numbers) == 1:
        return Span(numbers[0], numbers[0]), ""
    around = {enclosing_symbol(path, text, number) for number in numbers}
    return next(iter(around)) if len(around) == 1 else None
