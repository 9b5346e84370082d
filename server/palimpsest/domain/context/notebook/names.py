"""Exact names in a text: paths, identifiers, options, hexadecimal ids, numbers.

A name has a key, under which its spellings meet (`./lib/a.py` and `lib/A.py`), and the form in which a text shows it.
"""

from __future__ import annotations

import re
from typing import Final

NAME: Final = re.compile(
    r"(?<!\w)(?=[\w.~@/-])"  # so does each of the others begin, which are tried only there
    r"(?:(?<![\w.~@/-])(?:[\w.~@-]*+/)+[\w.@-]+"
    r"|\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w+)+(?:\(\)|\b)"
    r"|\b[A-Za-z]\w*_\w+\b"
    r"|\b[a-z]+(?:[A-Z][a-z0-9]+)+\w*\b|\b(?:[A-Z][a-z0-9]+){2,}\b"
    r"|\b[0-9a-f]{7,40}\b|\b\d{3,}\b|(?<![\w-])--?[a-z][a-z-]{3,}|\b[a-z]+(?:-[a-z0-9]+)+\b)"
)
WORD: Final = re.compile(r"[^\W\d_]{2,}")
READ_CHARS: Final = 60_000
"""Of one text: the characters that are read for names; of a longer text, half from each end."""

_ESCAPE: Final = re.compile(r"((?<![A-Za-z])[A-Z]:(?:\\{1,2}[^\\\s\"']+)+)|\\+([nrt\"])")
"""A path of Windows, or an escape of a quoted text, of one that quotes another as well."""
_SHORTEST, _LONGEST = 4, 120
"""Characters of a key."""
_TAG = re.compile(r"</[\w.-]+>?|<!?(?!\w*_)[\w.-]+(?=[\s>/])")
"""Of a markup. What has an underscore is a place to fill in, such as `<task_id>`."""
_NUMBER, _HEX, _KEBAB = re.compile(r"\d+$"), re.compile(r"[0-9a-f]{7,40}$"), re.compile(r"[a-z]+(?:-[a-z0-9]+)+$")
_NUMBER_WORTH, _HEX_WORTH, _KEBAB_WORTH = 0.4, 0.5, 0.7


def key(name: str) -> str:
    """What the spellings of one name share."""
    return name.strip("./-").lower()


def unescaped(text: str) -> str:
    """The text with line breaks where a quoted text in it has escapes for them, so that no escape joins a name."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: match[1] or {"t": " ", '"': '"'}.get(match[2], "\n"), text)


def is_name(name: str) -> bool:
    """Whether a match of `NAME` is long enough to name something, and short enough to be no data."""
    return _SHORTEST <= len(key(name)) <= _LONGEST


def names_in(text: str) -> dict[str, str]:
    """The names of a text in its order, by key, each as the text first shows it. Tags of a markup are no names."""
    found: dict[str, str] = {}
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
    text = unescaped(text)
    for name in NAME.findall(_TAG.sub(" ", text) if "<" in text else text):
        if is_name(name):
            found.setdefault(key(name), name)
    return found


def n_words(text: str) -> int:
    """How many words a text has beside its names."""
    return len(WORD.findall(NAME.sub(" ", unescaped(text))))


def form_worth(folded: str) -> float:
    """How much a key is worth by its form, from 0 to 1: numbers, hexadecimal ids and hyphenated words are used again
    less often than identifiers and paths."""
    if _NUMBER.match(folded):
        return _NUMBER_WORTH
    if _HEX.match(folded):
        return _HEX_WORTH
    return _KEBAB_WORTH if _KEBAB.match(folded) else 1.0


def shortened_path(path: str) -> str:
    """The last two names of a long path, for a second mention."""
    parts = path.rstrip("/").split("/")
    return f"…/{'/'.join(parts[-2:])}" if len(parts) > 3 else path
