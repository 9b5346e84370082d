"""The titles of conversations: from their first message, and of forks."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection
from typing import Final

_MOST_CHARS: Final = 60
_JOINERS: Final = "\u200c\u200d"
"""Invisible characters that words of some scripts, and emoji, need."""
_UNSEEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
_FORK: Final = re.compile(r" \((?:fork(?: [0-9]{1,9})?|apart)\)\Z")


def title_of(text: str) -> str:
    """A conversation's title from its first message: the first line with text, at most 60 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _MOST_CHARS else line[: _MOST_CHARS - 1].rstrip() + "…"


def fork_title(title: str, taken: Collection[str]) -> str:
    """The title of a fork of a conversation with that title: `Title (fork)`, or `Title (fork 2)` and so on where that
    is among `taken`. Empty for an empty one, which the next message of the user fills."""
    original = unforked(title)
    if not original:
        return ""
    names = (f"{original} (fork)" if n == 1 else f"{original} (fork {n})" for n in itertools.count(1))
    return next(name for name in names if name not in taken)


def apart_title(title: str) -> str:
    """The title of the fork into which messages of a shared conversation moved apart."""
    return f"{unforked(title)} (apart)" if title else ""


def arrived_title(title: str) -> str:
    """A title that somebody else wrote, on one line and without characters that nobody sees."""
    return "".join(" " if unicodedata.category(c) in _UNSEEN and c not in _JOINERS else c for c in title)


def unforked(title: str) -> str:
    """The title that a fork's title was made of; any other title as it is."""
    return _FORK.sub("", title)
