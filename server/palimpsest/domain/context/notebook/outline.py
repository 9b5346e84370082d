"""The outline of a text that is too large to be sent whole."""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection
from typing import Final

from palimpsest.domain.context.notebook.fragments import SEPARATOR, pieces_of
from palimpsest.domain.context.notebook.names import names_in
from palimpsest.domain.context.tokens import CountText

_TROUBLE_SHARE, _LINES_SHARE = 0.25, 0.7
_LINE_CHARS: Final = 240
_SEARCHED_CHARS: Final = 400
_MOST_PASSED_OVER: Final = 20
"""Lines of trouble that do not fit: after so many the room counts as used up."""


def outline(text: str, room: int, told: Collection[str], trouble: re.Pattern[str], count: CountText) -> list[str]:
    """Lines for what is left out of a message, in at most about `room` raw tokens: those that `trouble` finds, those
    that name the most of what `told` (keys) does not name, and the names that are left."""
    have = set(told)
    lines = _trouble_lines(text, room * _TROUBLE_SHARE, trouble, count)
    room -= sum(count(line) + 1 for line in lines)
    for line in lines:
        have.update(names_in(line))
    found = [(part, within, count(part) + 2) for part, within, _ in pieces_of(text)]
    heap = [(-len(within.keys() - have) / size, i) for i, (_, within, size) in enumerate(found)]
    heapq.heapify(heap)
    for_lines, chosen, seen = room * _LINES_SHARE, list[int](), set(lines)
    while heap:
        _, index = heapq.heappop(heap)
        part, within, size = found[index]
        n_new = len(within.keys() - have)
        if not n_new or part in seen or size > for_lines:
            continue
        if heap and n_new / size < -heap[0][0]:
            heapq.heappush(heap, (-n_new / size, index))
            continue
        for_lines, room = for_lines - size, room - size
        chosen.append(index)
        seen.add(part)
        have.update(within)
    if chosen:
        lines.append(SEPARATOR.join(found[index][0] for index in sorted(chosen)))
    rest: list[str] = []
    for _, within, _ in found:
        for folded, name in within.items():
            if folded not in have and (size := count(name) + 1) < room:
                rest.append(name)
                room -= size
                have.add(folded)
    if rest:
        lines.append(f"also {', '.join(rest)}")
    return lines


def _trouble_lines(text: str, room: float, trouble: re.Pattern[str], count: CountText) -> list[str]:
    lines: list[str] = []
    n_passed_over = 0
    for raw in text.splitlines():
        if trouble.search(raw[:_SEARCHED_CHARS]) is None:
            continue
        line = " ".join(raw[: 4 * _LINE_CHARS].split())[:_LINE_CHARS]
        if line in lines:
            continue
        if (size := count(line) + 1) <= room:
            lines.append(line)
            room -= size
        elif (n_passed_over := n_passed_over + 1) == _MOST_PASSED_OVER:
            break
    return lines
