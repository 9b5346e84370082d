"""The reasons for which a proposed fact is refused."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from palimpsest.domain.facts.extraction import statement_forms as forms
from palimpsest.domain.facts.fact import LONGEST_FACT, Candidate, FactType, Origin
from palimpsest.domain.language.lexicon import STOP
from palimpsest.domain.language.words import all_pieces

_FEWEST_WORDS: Final = 3
"""Content words of a statement."""


class Refusal(StrEnum):
    """The reason why a candidate is not kept."""

    NO_EVIDENCE = "it rests on no words"
    TOO_SHORT = "it has fewer than three content words"
    TOO_LONG = "it is a text, not a statement"
    NO_SUBJECT = "only the sentence before tells what it is about"
    NOT_FROM_THE_USER = "only users set rules, and a decision is theirs or agreed with them"
    REPEATED = "another candidate says the same"
    OVERTAKEN = "what was said later contradicts it"
    NO_ROOM = "the folder has as many open facts as it may, all of them worth more"


def refusal(candidate: Candidate) -> Refusal | None:
    """The reason to refuse a candidate whatever else is known; None: it may be kept."""
    fact, evidence = candidate.fact, candidate.evidence
    if not evidence.quote.strip():
        return Refusal.NO_EVIDENCE
    if len(fact.content) > LONGEST_FACT or "\n" in fact.content:
        return Refusal.TOO_LONG
    is_ruled = fact.fact_type is FactType.CONSTRAINT and evidence.origin is Origin.USER
    # "Use tabs" is a rule, however short.
    if not is_ruled and len(set(all_pieces(fact.content)) - STOP) < _FEWEST_WORDS:
        return Refusal.TOO_SHORT
    if fact.fact_type is not FactType.CONSTRAINT and forms.PRONOUN_SUBJECT.match(fact.content):
        return Refusal.NO_SUBJECT
    if fact.fact_type in (FactType.CONSTRAINT, FactType.PINNED) and evidence.origin is not Origin.USER:
        return Refusal.NOT_FROM_THE_USER
    if fact.fact_type is FactType.DECISION and evidence.origin is Origin.TOOL:
        return Refusal.NOT_FROM_THE_USER
    return None
