"""Facts in the index that retrieval reads: by their words, and by the things they are about.

They stand among the passages, with negative row ids, so that facts and messages are found in one look and scored by one
scale. The index has no text: a fact is taken out by saying again what it says.
"""

from __future__ import annotations

from palimpsest.domain.facts.fact import Fact, FactId
from palimpsest.domain.facts.retrieval.words import humped, to_terms
from palimpsest.storage.conversation.passage_search import to_expression
from palimpsest.storage.sql import execute


def columns(fact: Fact) -> tuple[str, str]:
    """What is indexed of a fact: what it says, and its entities and identifiers, taken apart."""
    # As the store keeps them: each once, whatever the case of its ASCII letters, in no order.
    first = {entity.encode("utf-8", "surrogatepass").lower(): entity for entity in reversed(fact.entities)}
    entities = " ".join(first[key] for key in sorted(first))
    return fact.content, f"{entities} {humped(f'{fact.content} {entities}')}".strip()


def add(fact_id: FactId, fact: Fact) -> None:
    """Makes a fact findable. Ids begin with 1."""
    execute("INSERT INTO passage_search (rowid, words, parts, around) VALUES (?, ?, ?, '')", -fact_id, *columns(fact))


def remove(fact_id: FactId, fact: Fact) -> None:
    """Takes a fact out that is in, and was added as `fact`. Until `passages.settle`, its words still stand in the
    file."""
    execute(
        """INSERT INTO passage_search (passage_search, rowid, words, parts, around)
        VALUES ('delete', ?, ?, ?, '')""",
        -fact_id,
        *columns(fact),
    )


def match(text: str, limit: int) -> list[FactId]:
    """The facts in which words of `text` occur, best first, of equals the newer first. No character of `text` has a
    meaning."""
    expression = to_expression(to_terms(text))
    if not expression:
        return []
    found = execute(
        """SELECT rowid FROM passage_search WHERE passage_search MATCH ? AND rowid < 0
        ORDER BY bm25(passage_search, 1.0, 0.5, 0.5), rowid LIMIT ?""",
        expression,
        limit,
    )
    return [FactId(-key) for (key,) in found]
