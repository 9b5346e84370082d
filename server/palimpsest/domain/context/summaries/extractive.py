"""The summarizer that needs no model: it quotes, it never rephrases.

A block has five stores: what the user said (rules first), what was done and how it came out, what was answered,
excerpts of code and of what tools were given and printed, and the exact names that stand in none of these. Lines
carry the id of the message they come from. Made of messages, of lower extractive summaries, or of both; a lower one
is read back line by line, so merging loses lines but never changes one.

Behind what the user said, lines are kept that together say something about the most of the names that matter: a name
alone says nothing about what it names.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import Final

from palimpsest.domain.context.cut import MessagePiece, Piece, SummaryPiece
from palimpsest.domain.context.summaries.evidence import ANSWERED, DONE, EXCERPTS, SAID, STORED, Evidence, Line, squeeze
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.context.tokens import CountText
from palimpsest.wording import counted

AUTHOR: Final = "palimpsest"
KIND: Final = "extractive"

_NAMES: Final = "Names"
_SAID_SHARE, _ANSWERED_SHARE, _NAMES_SHARE = 0.40, 0.20, 0.22
"""Of the target, at most; the rest is for what was done, and what one store does not use goes to the others."""
_LINE_OVERHEAD: Final = 6
_LONGEST_NAME: Final = 120
_SHORT_LINE: Final = 100
"""Characters. A line does not gain by being shorter still."""
_NAMED: Final = 0.4
"""What a line that only names something is worth beside one that says something about it."""
_FORGETTING: Final = 2.0
"""How much more the newest line is worth than the oldest."""
_LEAST_NEWS: Final = 0.05
_DONE_FIRST, _EXCERPTS_FIRST = 2.0, 1.0
"""The news of lines of these stores that come before what is left of the others."""


def summarize_extractively(pieces: Sequence[Piece], target_tokens: int, count: CountText) -> str:
    """A summary of the pieces of about `target_tokens` raw tokens, at most a little over; never empty.

    Deterministic.
    """
    evidence = Evidence()
    for piece in pieces:
        match piece:
            case SummaryPiece():
                _read_back(piece.summary, evidence)
            case MessagePiece():
                evidence.read(piece.message.id, piece.message.content)
    worth = {name: math.log2(1 + n) for name, n in evidence.names.items() if 4 <= len(name) <= _LONGEST_NAME}
    for_names = min(target_tokens * _NAMES_SHARE, sum(map(len, worth)))
    said = _heaviest(evidence.lines[SAID], target_tokens * _SAID_SHARE, count)
    room = target_tokens - for_names - sum(count(line.text) + _LINE_OVERHEAD for line in said)
    told: dict[str, float] = {}
    for line in said:
        _tell(line, told)
    stores = evidence.lines[DONE], evidence.lines[ANSWERED], evidence.lines[EXCERPTS]
    done, answered, excerpts = (_Telling(lines, worth, count) for lines in stores)
    answered.choose(target_tokens * _ANSWERED_SHARE, told)
    done.choose(room - answered.used, told, least=_DONE_FIRST)
    excerpts.choose(room - answered.used - done.used, told, least=_EXCERPTS_FIRST)
    answered.choose(room - done.used - excerpts.used, told)
    done.choose(room - answered.used - excerpts.used, told)
    sections = {SAID: said, DONE: done.chosen, ANSWERED: answered.chosen, EXCERPTS: excerpts.chosen}
    parts = [
        "\n".join([f"## {heading}", *(f"- [{line.message_id}] {line.text}" for line in lines)])
        for heading, lines in sections.items()
        if lines
    ]
    left = room + for_names - done.used - answered.used - excerpts.used
    if names := _list_names(worth, "\n".join(parts), left, count):
        parts.append(f"## {_NAMES}\n{names}")
    return "\n".join(parts) or f"{counted(len(pieces), 'message')} without text."


def _read_back(summary: Summary, evidence: Evidence) -> None:
    """The lines of a lower summary. One that names no message is of the first that the summary stands for."""
    heading = ANSWERED
    for line in summary.text.splitlines():
        if line.startswith("## "):
            # A model's own headings are no store of ours: what stands under them was answered.
            heading = line[3:] if line[3:] in (SAID, DONE, ANSWERED, EXCERPTS, _NAMES) else ANSWERED
        elif heading == _NAMES:
            evidence.count_printed(name for name in line.split("; ") if name)
        elif (stored := STORED.match(line)) is not None:
            evidence.read_back(heading, int(stored[1]), stored[2])
        elif line.strip():
            evidence.read_back(ANSWERED, summary.start, squeeze(line))


def _heaviest(lines: Sequence[Line], room: float, count: CountText) -> list[Line]:
    """The heaviest lines that fit, the newer first among equals; returned in order."""
    by_weight = sorted(enumerate(lines), key=lambda item: (item[1].weight, item[0]), reverse=True)
    chosen: list[int] = []
    seen: set[str] = set()
    for index, line in by_weight:
        if line.text in seen:
            continue
        size = count(line.text) + _LINE_OVERHEAD
        if size > room:
            continue
        seen.add(line.text)
        chosen.append(index)
        room -= size
    return [lines[index] for index in sorted(chosen)]


def _tell(line: Line, told: dict[str, float]) -> None:
    for name in line.names:
        told[name] = max(told.get(name, 0.0), _level(line))


def _level(line: Line) -> float:
    return 1.0 if line.is_telling else _NAMED


class _Telling:
    """Lines of which those are chosen that, for their length, tell most that no chosen line tells."""

    def __init__(self, lines: Sequence[Line], worth: Mapping[str, float], count: CountText) -> None:
        self._lines = lines
        self._worth = worth
        self._count = count
        self._chosen: set[int] = set()
        self.used = 0
        """Tokens of the chosen ones."""

    @property
    def chosen(self) -> list[Line]:
        """In their order."""
        return [self._lines[index] for index in sorted(self._chosen)]

    def choose(self, room: float, told: dict[str, float], least: float = _LEAST_NEWS) -> None:
        """More lines, as many as fit into `room` with those chosen before, whose news is `least` or more.

        `told`: for each name how well the chosen lines of all stores tell it; grows. What a line is worth only falls
        while others are chosen, so the best is found without looking at all again.
        """
        seen = {line.text for line in self.chosen}
        heap = [(-self._gain(index, told), -index) for index in range(len(self._lines)) if index not in self._chosen]
        heapq.heapify(heap)
        while heap:
            expected, minus_index = heapq.heappop(heap)
            index, line = -minus_index, self._lines[-minus_index]
            if line.text in seen or self._news(line, told) < least:
                continue
            gain = -self._gain(index, told)
            if gain > expected:
                heapq.heappush(heap, (gain, minus_index))
                continue
            size = self._count(line.text) + _LINE_OVERHEAD
            if self.used + size <= room:
                _tell(line, told)
                seen.add(line.text)
                self._chosen.add(index)
                self.used += size

    def _news(self, line: Line, told: Mapping[str, float]) -> float:
        level = _level(line)
        names = (self._worth.get(name, 0.0) * max(0.0, level - told.get(name, 0.0)) for name in line.names)
        return line.weight + sum(names)

    def _gain(self, index: int, told: Mapping[str, float]) -> float:
        line = self._lines[index]
        recent = 1.0 + _FORGETTING * index / len(self._lines)
        return self._news(line, told) * recent / math.sqrt(max(len(line.text), _SHORT_LINE))


def _list_names(worth: Mapping[str, float], said: str, room: float, count: CountText) -> str:
    """Names that stand nowhere else in the block, the worthiest first, as many as fit."""
    listed: list[str] = []
    for name in sorted(worth, key=lambda each: worth[each], reverse=True):
        if name not in said:
            size = count(name) + 1
            if size > room:
                break
            room -= size
            listed.append(name)
    return "; ".join(listed)
