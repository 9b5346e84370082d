"""The sentences that a context tells: what is recalled is held against them, so that nothing is told twice.

A sentence counts as told where a text has it as a whole: as a sentence of a message, as a part of a line of a page, or
behind a label such as `user:`. A sentence that a page cuts short does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_PARTS: Final = re.compile(r"\s[|·]\s|\\n(?:\\t)?")
"""Between the parts of a line of a page."""
_MARKS: Final = re.compile(r"(?:(?:[-*•>→|·…#]+|\d+[.)]|\[\d+\])(?:\s+|\Z))+")
"""What a line begins with that says nothing: bullets, arrows, numbers of lists and ids of messages."""
_LABEL: Final = ": "
_MOST_LABELS: Final = 3
"""Of one part."""
_SAYS: Final = re.compile(r"(?:(?<![^\W_])[^\W_]{2,}+\W.*?){2}[^\W_]{2}|[^\x00-\x7f]{6}")
"""A sentence of three words, or of a script that has no spaces. A shorter one tells nothing alone. A word is read from
its beginning to its end and never again: one of 5,000 characters, as in encoded data, would take half a second."""
_GAP: Final = "…"


@dataclass(frozen=True)
class Told:
    """What the texts of a context tell. Reading them takes time in proportion to their length, at the first
    question."""

    texts: Sequence[str] = ()

    def untold(self, text: str) -> str:
        """What the context does not tell of `text`: `text` itself where it tells none of it, `…` in place of the
        sentences that it tells otherwise; empty where nothing is left that tells something alone."""
        shown: list[str] = []
        is_any_told, is_all_told, is_anything_left = False, True, False
        for sentence in _sentences(text):
            plain = _plain(sentence)
            says = _SAYS.search(plain) is not None
            is_told = plain in self._told
            is_all_told = is_all_told and is_told
            if says and is_told:
                is_any_told = True
                if shown[-1:] != [_GAP]:
                    shown.append(_GAP)
            else:
                shown.append(sentence)
                is_anything_left = is_anything_left or says
        if is_all_told:
            return ""
        if not is_any_told:
            return text
        return " ".join(shown) if is_anything_left else ""

    @cached_property
    def _told(self) -> frozenset[str]:
        return frozenset(unit for text in self.texts for unit in _units(text))


def _sentences(text: str) -> Iterator[str]:
    return (sentence for each in _END.split(text) if (sentence := " ".join(each.split())))


def _units(text: str) -> Iterator[str]:
    for sentence in _sentences(text):
        yield _plain(sentence)
        for part in _labelled(_PARTS.split(sentence)):
            yield _plain(part)


def _labelled(parts: Iterable[str]) -> Iterator[str]:
    """Each part, and what stands in it behind a label."""
    for part in parts:
        yield part
        rest = part
        for _ in range(_MOST_LABELS):
            _, label, rest = rest.partition(_LABEL)
            if not label:
                break
            yield rest


def _plain(sentence: str) -> str:
    """The sentence without what does not count: marks before it, and the signs that end it, but for a question's."""
    match = _MARKS.match(sentence)
    return (sentence[match.end() :] if match else sentence).rstrip(" .!…").rstrip()
