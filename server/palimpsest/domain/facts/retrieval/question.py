"""Reads a question: its words, the side whose turns it is about, and the days that it points at.

The rules are for English. The side tells most, and the guess may be wrong: it is a preference, never a filter.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from palimpsest.domain.facts.retrieval.words import Terms, to_terms


class Side(StrEnum):
    """The side whose turns are wanted, when it is no speaker by name."""

    USER = "user"
    ASSISTANT = "assistant"
    NONE = "none"
    """No preference."""


@dataclass(frozen=True, slots=True)
class Named:
    """The turns of one speaker of a conversation whose messages begin with names."""

    name: str


About = Side | Named


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a question."""

    terms: Terms
    about: About
    certainty: float
    """The certainty of `about`, 0 to 1."""
    days: tuple[tuple[int, int], ...]
    """Spans of days that it points at, as ordinals, both ends included."""
    today: int | None
    """An ordinal; None when the date is unknown."""


def read(
    text: str, today: int | None, years: Collection[int], names: Collection[str], about: About | None = None
) -> Reading:
    """`names`: the speakers of a conversation whose messages begin with names, else empty. `years`: the years of the
    messages; a month without a year means each of them. `about`: None for a guess."""
    if about is None:
        guessed, certainty = guess(text, names)
    else:
        guessed, certainty = about, 1.0
    return Reading(to_terms(text), guessed, certainty, tuple(days_of(text, today, years)), today)


_FIRST_PERSON: Final = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.I)
_REQUEST: Final = re.compile(r"\b(?:can|could|will|would) you\b", re.I)
_SUMMARY: Final = re.compile(r"\b(?:summar(?:y|ies|i[sz]\w+)|overview|recap)\b", re.I)
_SAID: Final = re.compile(
    r"\byou (?:(?:had|have|also|already|just|once|earlier|previously) )*"
    r"(?:advised?|creat\w+|describ\w+|explain\w*|g[ai]ve|given|list\w*|mention\w*|outlin\w+|propos\w+|provid\w+"
    r"|recommend\w*|refer\w*|said|say|shar\w+|suggest\w*|tell|told|were|wrote|written?)\b"
    r"|\byour (?:advice|answers?|explanations?|lists?|recommend\w+|repl(?:y|ies)|responses?|suggest\w+)\b"
    r"|\b(?:did|do|had|have|were) you\b"
    r"|\bour (?:earlier|last|previous) (?:chat|conversation|discussion|session)\b"
    r"|\bremind me (?:of the|what|which)\b"
    r"|\bwe (?:agreed|decided|discussed|outlined|talked)\b",
    re.I,
)
"""Questions about what the assistant said, or both did."""


def guess(text: str, names: Collection[str]) -> tuple[About, float]:
    """The side or the speaker that a question is about, with the certainty of the guess."""
    if names:
        mentioned = [name for name in names if re.search(rf"\b{re.escape(name)}\b", text, re.I)]
        return (Named(mentioned[0]), 1.0) if len(mentioned) == 1 else (Side.NONE, 0.0)
    if _SAID.search(_REQUEST.sub(" ", text)) or _SUMMARY.search(text):
        return Side.NONE, 0.0
    return Side.USER, 1.0 if _FIRST_PERSON.search(text) else 0.5


MONTHS: Final = tuple("january february march april may june july august september october november december".split())
_NUMBERS: Final = {
    word: number
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"a": 1, "an": 1, "couple": 2, "few": 3}
_UNIT_DAYS: Final = {"day": 1, "night": 1, "weekend": 5, "week": 7, "month": 30, "year": 365}
_ISO: Final = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?!\d)")
_MONTH: Final = re.compile(
    rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?\b(?P<month>{'|'.join(MONTHS)})\b"
    r"(?: (?P<behind>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? (?P<year>\d{4})\b)?"
)
_MONTH_OF_MAY: Final = re.compile(r"\b(?:after|before|by|during|early|in|last|late|mid|of|since|this|until) may\b")
_AGO: Final = re.compile(rf"\b(\d{{1,4}}|{'|'.join(_NUMBERS)})(?: of)? (day|week|month|year)s? ago\b")
_LAST: Final = re.compile(r"\blast (night|weekend|week|month|year)\b")
_DECAY_BEFORE, _DECAY_AFTER = 3.0, 10.0
"""Days: people tell of an event on the day or later, rarely before."""


def days_of(text: str, today: int | None, years: Collection[int]) -> Iterator[tuple[int, int]]:
    """The spans of days that a question names, as ordinals; `today` counts "two weeks ago"."""
    lowered = text.lower()
    for match in _ISO.finditer(lowered):
        if (day := _ordinal(int(match[1]), int(match[2]), int(match[3]))) is not None:
            yield day, day
    for match in _MONTH.finditer(lowered):
        day_of_month = match["before"] or match["behind"]
        if match["month"] == "may" and not (day_of_month or match["year"] or _MONTH_OF_MAY.search(lowered)):
            continue
        for year in [int(match["year"])] if match["year"] else sorted(years):
            day = _ordinal(year, MONTHS.index(match["month"]) + 1, int(day_of_month or 1))
            if day is not None:
                yield day, day if day_of_month else day + 30
    if today is None:
        return
    for match in _AGO.finditer(lowered):
        number = int(match[1]) if match[1].isdigit() else _NUMBERS[match[1]]
        unit = _UNIT_DAYS[match[2]]
        yield today - number * unit - unit // 3, today - number * unit + unit // 3
    for match in _LAST.finditer(lowered):
        yield today - 2 * _UNIT_DAYS[match[1]], today
    if "yesterday" in lowered:
        yield today - 1, today


def _ordinal(year: int, month: int, day: int) -> int | None:
    try:
        return datetime.date(year, month, day).toordinal()
    except ValueError:
        return None


def nearness(day: int, spans: Collection[tuple[int, int]]) -> float:
    """The nearness of a day to spans of days: 1 inside, towards 0 away from them."""
    return max(
        (
            math.exp((day - first) / _DECAY_BEFORE)
            if day < first
            else math.exp((last - day) / _DECAY_AFTER)
            if day > last
            else 1.0
            for first, last in spans
        ),
        default=0.0,
    )


def day_of(timestamp: str) -> int | None:
    """The ordinal of the day of an ISO 8601 time; None when it does not begin with one."""
    match = _DATE.match(timestamp)
    return None if match is None else _ordinal(int(match[1]), int(match[2]), int(match[3]))
