"""The text of a fact: a line for a model, and a sign for people."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.facts.fact import FactType, SourceState, StoredFact

_SIGNS: Final = {
    FactType.ENTITY: "📁",
    FactType.DECISION: "🔧",
    FactType.CONSTRAINT: "📏",
    FactType.CODE_STATE: "📝",
    FactType.PINNED: "📌",
}
_STALE_SIGN: Final = "⚠️"
STALE: Final = "may be out of date"


def for_model(fact: StoredFact) -> str:
    """One line for a model."""
    where = ", ".join(place_text(source) for source in fact.sources)
    remarks = [f"rests on {where}"] if where else []
    if fact.is_stale:
        remarks.append(f"{STALE}: {', '.join(fact.stale_sources)} changed since")
    if not fact.is_open:
        remarks.append("no longer holds")
    behind = f" ({'; '.join(remarks)})" if remarks else ""
    return f"- {fact.fact.fact_type.value.replace('_', ' ')}: {by_author(fact)}{fact.fact.content}{behind}"


def by_author(fact: StoredFact) -> str:
    """What stands in front of a statement of a colleague, wherever a model reads it; empty for the user's own."""
    return "" if fact.author is None else f"{fact.author} noted, on another checkout: "


def author_remark(fact: StoredFact) -> str:
    """What people read behind a statement of a colleague; empty for the user's own."""
    return "" if fact.author is None else f" (noted by {fact.author})"


def sign_of(fact: StoredFact) -> str:
    """A warning sign when the fact is stale, else the sign of its type."""
    return _STALE_SIGN if fact.is_stale else _SIGNS[fact.fact.fact_type]


def place_text(source: SourceState) -> str:
    """The place as people write it: `src/a.py:3-9`."""
    span = source.place.span
    if span is None:
        return source.place.path
    return f"{source.place.path}:{span.start}" + (f"-{span.end}" if span.end != span.start else "")
