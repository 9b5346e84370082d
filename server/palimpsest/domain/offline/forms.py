"""What form an answer has to have: *how many* asks for a number, *why* for a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from palimpsest.domain.language.words import fold


class Expects(Enum):
    """The form an answer has, as far as the question tells."""

    ANYTHING = auto()
    AMOUNT = auto()
    MEASURE = auto()
    """An amount with a unit, of whatever kind."""
    LENGTH = auto()
    WEIGHT = auto()
    TEMPERATURE = auto()
    DURATION = auto()
    FREQUENCY = auto()
    PERSON = auto()
    TIME = auto()
    PLACE = auto()
    REASON = auto()

    @property
    def is_strict(self) -> bool:
        """Whether a text without that form cannot be the answer at all."""
        return self in _STRICT

    def fits(self, text: str) -> bool:
        """Whether a text has the form."""
        if self is Expects.PERSON:  # names are told by their capitals
            return _NAME.search(text) is not None
        folded = fold(text)
        return all(pattern.search(folded) for pattern in _PATTERNS.get(self, ()))


HOW = re.compile(
    r"\bhow (many|much|few|often|frequently|long|old|big|large|small|far|high|tall|deep|wide|fast|soon|late|early|"
    r"heavy|hot|cold|warm|close)\b"
)
"""Folded. The word after *how* belongs to the form asked for, not to the subject."""


def expected(folded: str) -> Expects:
    """The form that a folded question asks for."""
    how = HOW.search(folded)
    if how is not None:
        return _HOW_FORMS.get(how[1], Expects.MEASURE)
    first = _FIRST_QUESTION_WORD.search(folded)
    return _FORMS.get(first[1], Expects.TIME) if first else Expects.ANYTHING


_HOW_FORMS: Final[Mapping[str, Expects]] = {
    "many": Expects.AMOUNT,
    "much": Expects.AMOUNT,
    "few": Expects.AMOUNT,
    "often": Expects.FREQUENCY,
    "frequently": Expects.FREQUENCY,
    "far": Expects.LENGTH,
    "tall": Expects.LENGTH,
    "deep": Expects.LENGTH,
    "wide": Expects.LENGTH,
    "heavy": Expects.WEIGHT,
    "hot": Expects.TEMPERATURE,
    "cold": Expects.TEMPERATURE,
    "warm": Expects.TEMPERATURE,
    "old": Expects.DURATION,
    "soon": Expects.DURATION,
}
_FIRST_QUESTION_WORD = re.compile(
    r"\b(who|whom|whose|when|where|why|(?:which|what)(?: (?:day|weekday|date|time|month|year))?)\b"
)
_FORMS: Final[Mapping[str, Expects]] = {
    "what": Expects.ANYTHING,
    "which": Expects.ANYTHING,
    "who": Expects.PERSON,
    "whom": Expects.PERSON,
    "whose": Expects.PERSON,
    "where": Expects.PLACE,
    "why": Expects.REASON,
}
"""By the first question word; `when` and `which day` and the like ask for a time."""

_AMOUNT = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|eighteen|"
    r"twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|half|dozen|quarter|twice|once|"
    r"double|triple|never|always|unlimited|forever|indefinitely|no limit|as many|as much|free|nothing|several|a few|"
    r"a couple|plenty|until|as long as|permanently|"
    r"(?:only|just|exactly|most|least|than|for|in|is|are|of|up to|and|or|costs?|takes?) one|"
    r"an? (?:second|minute|hour|day|week|month|year|night))\b"
)
_SPANS: Final = (
    "ms|s|secs?|seconds?|mins?|minutes?|h|hours?|days?|weeks?|months?|years?|centur(?:y|ies)|seasons?|terms?|forever|until|"
    "indefinitely|duration|age"
)
_LENGTHS: Final = "mm|cm|km|m|met(?:er|re)s?|kilomet(?:er|re)s?|miles?|inch(?:es)?|foot|feet|yards?|pixels?|px|floors?"
_WEIGHTS: Final = "g|kg|grams?|kilos?|kilograms?|tons?|tonnes?|pounds?|lbs?|ounces?|weight"
_DEGREES: Final = "c|f|k|degrees?|celsius|kelvin|fahrenheit|temperature"
_SIZES: Final = (
    "bytes?|[kmgt]i?b|lines?|char(?:acter)?s?|pages?|words?|percent|times?|[kmg]?hz|volts?|watts?|[kmg]bps|size|"
    "length|limit"
)


def _unit(units: str) -> re.Pattern[str]:
    """Also as the tail of an identifier or right after a number."""
    return re.compile(rf"(?:\d|\b|_)(?:{units})(?:\b|_)")


_PATTERNS: Final[Mapping[Expects, tuple[re.Pattern[str], ...]]] = {
    Expects.AMOUNT: (_AMOUNT,),
    Expects.MEASURE: (_AMOUNT, _unit("|".join((_SPANS, _LENGTHS, _WEIGHTS, _DEGREES, _SIZES)))),
    Expects.LENGTH: (_AMOUNT, _unit(_LENGTHS)),
    Expects.WEIGHT: (_AMOUNT, _unit(_WEIGHTS)),
    Expects.TEMPERATURE: (_AMOUNT, _unit(_DEGREES)),
    Expects.DURATION: (_AMOUNT, _unit(_SPANS)),
    Expects.FREQUENCY: (
        re.compile(
            r"\b(?:every|each|daily|hourly|weekly|monthly|yearly|nightly|annually|once|twice|per|times|interval|always|"
            r"never|on (?:mon|tues|wednes|thurs|fri|satur|sun)days?|cron)\b|"
            r"_(?:interval|minutes|seconds|hours|days|s|ms)\b"
        ),
    ),
    Expects.TIME: (
        re.compile(
            r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april|may|june|july|august|"
            r"september|october|november|december|when|whenever|after|before|every|each|until|once|during|daily|hourly|"
            r"nightly|weekly|monthly|yearly|morning|noon|evening|night|midnight|spring|summer|autumn|winter|today|"
            r"tomorrow|yesterday|never|always|as soon as|immediately|at once|next|last|on start|at start)\b"
        ),
    ),
    Expects.PLACE: (
        re.compile(
            r"^\s*(?:def|class|fn|func|function|struct|enum|trait|interface|type)\b|[/\\@]|\w\.\w"
            r"|\b(?:in|on|at|under|below|inside|beside|behind|near|next to|from|to|into|by)\b"
        ),
    ),
    Expects.REASON: (
        re.compile(
            r"\b(?:because|since|so|to avoid|due to|reasons?|otherwise|in order|as|therefore|prevents?|caused?|thus|"
            r"hence|too|avoids?|to \w+|or else|for)\b|[:,;]"
        ),
    ),
}
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+|[@#]\w|\b(?:team|group|office|desk|crew|department|staff|we|I)\b")
_STRICT: Final = frozenset(
    (
        Expects.AMOUNT,
        Expects.MEASURE,
        Expects.LENGTH,
        Expects.WEIGHT,
        Expects.TEMPERATURE,
        Expects.DURATION,
    )
)
