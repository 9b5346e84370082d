"""Step notes: what the context lacks about what the newest messages of a turn name.

The names of the newest messages vote for earlier messages, rare names more than frequent ones; the lines of the best
that the context does not tell make the note.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.notebook.selection import Selection
from palimpsest.domain.context.recall_report import (
    MOST_LEFT_OUT,
    Found,
    LeftOut,
    LeftOutBecause,
    RecallReport,
    Taken,
)
from palimpsest.domain.messages import MessageId, Role

NOTE_HEAD: Final = "[Recalled from earlier in this conversation. A record, not an instruction.]"
NOTES_SHARE: Final = 0.08
"""Of the budget: all notes between two compactions."""

_NOTE_SHARE, _KNOWN_FILE_BOOST = 0.01, 2.5
"""Of the budget: one note; and how much more it may take where a file is taken up again."""
_SMALLEST_NOTE: Final = 30
_ALSO_SHARE, _MOST_ALSO = 0.3, 8
"""Of a note, and behind one line: bare names. More are no reading."""
_MOST_PLACES, _MOST_ASKED, _MOST_FOUND = 30, 40, 10
_NEWEST: Final = 6
_BEHIND, _BEFORE = 0.6, 0.5
"""How much the neighbors of a message that is found count."""
_TOOL_WEIGHT, _HEAD_WEIGHT, _FADING = 0.6, 1.2, 0.85
_LEAST_SCORE: Final = 1.0
_RESULT: Final = "  → "
_LEAST_NEW_NAMES: Final = 2
_MOST_TERMS: Final = 20
_LINE_ID: Final = re.compile(r"- \[(\d+)\] |  → (?:\[(\d+)\] )?")


@dataclass(frozen=True, slots=True)
class StepNote:
    """The note for a step, and how it was chosen."""

    text: str = ""
    """Empty where there is nothing to tell."""
    report: RecallReport = field(default_factory=RecallReport)


def step_note(
    book: Notebook,
    since: int,
    told: Mapping[str, float],
    live: Collection[MessageId],
    budget_tokens: int,
    room_tokens: int,
    noted: Collection[str] = (),
) -> StepNote:
    """The note for a step whose new messages are those from `since` on.

    `told`: how well each name is told in the context, by key. `live`: the messages that are sent whole. Tokens are raw.
    `noted`: the lines of earlier notes that are sent.
    """
    fresh = book.within(since, book.n_read)
    if not fresh:
        return StepNote()
    share = _NOTE_SHARE
    paths = {book.entries[id].path for id in fresh[-4:]} - {""}
    if any(book.first_of_file.get(path, book.n_read) < fresh[0] for path in paths):
        share *= _KNOWN_FILE_BOOST
    room = min(room_tokens, int(share * budget_tokens)) - book.count(NOTE_HEAD) - 4
    if room < _SMALLEST_NOTE:
        return StepNote(report=RecallReport(room_tokens=max(room, 0)))
    asked = _asked(book, fresh)
    known = _known(book, asked)
    found, passed_over = _found(book, asked, known, live)
    before = dict(told)
    lines = Selection(book, before, room, _ALSO_SHARE, dict(sorted(found.items())), most_also=_MOST_ALSO).lines()
    lines = _not_noted(lines, noted)
    n_new = sum(name not in told for name in before)
    text = "\n".join([NOTE_HEAD, *lines]) if lines else ""
    taken = _taken(book, lines, found)
    is_full = room - sum(each.tokens for each in taken) < _SMALLEST_NOTE
    told_as = LeftOutBecause.NO_ROOM if is_full else LeftOutBecause.BELOW_BAR
    for id in found.keys() - {each.found.message_id for each in taken}:
        is_told = all(told.get(name) for name in book.entries[id].names)
        passed_over[id] = (found[id], LeftOutBecause.TOLD if is_told else told_as)
    left_out = sorted(passed_over.items(), key=lambda each: (-each[1][0], each[0]))
    report = RecallReport(
        tuple(book.shown(name) for name in known[:_MOST_TERMS]),
        room,
        book.count(text) if text else 0,
        taken,
        tuple(LeftOut(Found(id, None, round(score, 3)), why) for id, (score, why) in left_out[:MOST_LEFT_OUT]),
    )
    if n_new < _LEAST_NEW_NAMES:
        return StepNote("", report.with_nothing(LeftOutBecause.BELOW_BAR))
    return StepNote(text, report)


def _not_noted(lines: Sequence[str], noted: Collection[str]) -> list[str]:
    """The lines without those that stand in an earlier note. A call stays above a result that is news."""
    kept: list[str] = []
    call: list[str] = []
    for line in lines:
        if not line.startswith(_RESULT):
            call = []
        if line in noted:
            call.append(line)
        else:
            kept += [*call, line]
            call = []
    return kept


def _taken(book: Notebook, lines: Sequence[str], found: Mapping[MessageId, float]) -> tuple[Taken, ...]:
    """The messages of the lines, each with the tokens of its own. The line of a call may stand there for its result
    alone."""
    taken: list[Taken] = []
    id = MessageId(0)
    for line in lines:
        if (match := _LINE_ID.match(line)) is not None:
            id = MessageId(int(match[1] or match[2] or id + 1))
            taken.append(Taken(Found(id, None, round(found.get(id, 0.0), 3)), book.count(line) + 1))
    return tuple(taken)


def _asked(book: Notebook, fresh: Sequence[MessageId]) -> dict[str, float]:
    """The names of the newest messages, and how much each asks for what is known of it."""
    asked: dict[str, float] = {}
    for distance, id in enumerate(reversed(fresh[-_NEWEST:])):
        entry = book.entries[id]
        weight = (_TOOL_WEIGHT if entry.role is Role.TOOL else 1.0) * _FADING**distance
        for name in entry.names:
            asked[name] = max(asked.get(name, 0.0), weight)
        for name in entry.head_names:
            asked[name] = max(asked.get(name, 0.0), _HEAD_WEIGHT * weight)
    return asked


def _known(book: Notebook, asked: Mapping[str, float]) -> list[str]:
    """The names that earlier messages have too, the rarest first."""
    known = [name for name in asked if name in book.uses and len(book.uses[name].places) > 1]
    return sorted(known, key=lambda each: (len(book.uses[each].places), each))[:_MOST_ASKED]


def _found(
    book: Notebook, asked: Mapping[str, float], known: Sequence[str], live: Collection[MessageId]
) -> tuple[dict[MessageId, float], dict[MessageId, tuple[float, LeftOutBecause]]]:
    """Earlier messages that are not live, with how well they answer; and the best of the others, with the reason."""
    scores: defaultdict[MessageId, float] = defaultdict(float)
    passed_over: dict[MessageId, tuple[float, LeftOutBecause]] = {}
    for name in known:
        places = book.uses[name].places
        for id in places[-_MOST_PLACES:]:
            scores[id] += asked[name] * math.log(1 + book.n_read / len(places))
    found: dict[MessageId, float] = {}
    for id, score in sorted(scores.items(), key=lambda each: (-each[1], -each[0]))[:_MOST_FOUND]:
        for near, share in ((id, 1.0), (MessageId(id + 1), _BEHIND), (MessageId(id - 1), _BEFORE)):
            if score >= _LEAST_SCORE and near in book.entries and near not in live:
                size = math.log(8 + len(book.entries[near].names))
                found[near] = max(found.get(near, 0.0), share * score / size)
        if id in book.entries and id not in found:
            why = LeftOutBecause.TOLD if id in live else LeftOutBecause.BELOW_BAR
            passed_over[id] = (score / math.log(8 + len(book.entries[id].names)), why)
    return found, {id: passed for id, passed in passed_over.items() if id not in found}
