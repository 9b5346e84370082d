"""Text as what its escapes stand for: those of JSON and of addresses, also one within the other, HTML's, and colors."""

from __future__ import annotations

import bisect
import html
import re
from collections.abc import Callable, Iterable
from typing import Final

_ESCAPE: Final = re.compile(  # begins with a set of characters, for which the search is fast
    r"[\\%&\x1b](?:"
    r"(?:(?<=\x1b)|(?<=\\)\\{0,7}+(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,20}m"
    r"|(?<=\\)\\{0,7}+(?:(?:u00|x)(?P<code>[0-7][0-9A-Fa-f])|(?P<letter>[nrtbf/\"']|\r?\n))"
    r"|(?<=%)(?:25){0,4}(?P<percent>[2-7][0-9A-Fa-f]|0[9ADad])"
    r"|(?<=&)(?P<entity>(?:quot|amp|lt|gt|apos|nbsp|#[0-9]{1,3}|#[xX][0-9A-Fa-f]{1,2});)"
    r")"
)
_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " ", "/": "/", '"': '"', "'": "'"}
"""A line that goes on stands for nothing, like a color."""


def replaced(text: str, find: Callable[[str], Iterable[tuple[int, int, str]]]) -> str:
    """The text with the new words of each stretch (start, end, words) that `find` finds in what the text stands for.
    The same text when it finds none, or when nothing is escaped."""
    view: list[str] = []
    starts, origins = [0], [(0, 0)]
    """Where each stretch begins in what the text stands for, and (beginning, end) in the text; of a plain one the end
    is 0."""
    at = n = 0
    for escape in _ESCAPE.finditer(text):
        meant = _meaning(escape)
        view += (text[at : escape.start()], meant)
        n += escape.start() - at
        starts += (n, n + len(meant))
        at = escape.end()
        origins += ((escape.start(), at), (at, 0))
        n += len(meant)
    if not at:
        return text
    view.append(text[at:])
    told: list[str] = []
    done = 0
    for start, end, words in sorted(find("".join(view))):
        index = bisect.bisect_right(starts, start) - 1
        first = origins[index][0] + (0 if origins[index][1] else start - starts[index])
        index = bisect.bisect_right(starts, end - 1) - 1
        after = origins[index][1] or origins[index][0] + end - starts[index]
        if first >= done:
            told += (text[done:first], words)
            done = after
    return "".join(told) + text[done:]


def _meaning(escape: re.Match[str]) -> str:
    if code := escape["code"] or escape["percent"]:
        return chr(int(code, 16))
    if entity := escape["entity"]:
        return html.unescape(f"&{entity}")
    return _LETTERS.get(escape["letter"] or "", "")
