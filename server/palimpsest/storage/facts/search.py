"""Facts in the index for retrieval: by their words, and by their entities.

Their rows are among those of the passages, with negative row ids, so that one query finds facts and messages and scores
them on one scale. The index holds no text: a fact is removed by repeating its statement.
"""

from __future__ import annotations

from palimpsest.domain.facts.fact import Fact, FactId
from palimpsest.domain.facts.retrieval.words import humped, to_terms
from palimpsest.storage.conversation.passage_search import to_expression
from palimpsest.storage.sql import execute


def columns(fact: Fact) -> tuple[str, str]:
    """The indexed text of a fact: its statement, and its entities and identifiers, taken apart."""
    # As the store keeps them: each once, whatever the case of its ASCII letters, in no order.
    first = {entity.encode("utf-8", "surrogatepass").lower(): entity for entity in reversed(fact.entities)}
    entities = " ".join(first[key] for key in sorted(first))
    return fact.content, f"{entities} {humped(f'{fact.content} {entities}')}".strip()


def add(fact_id: FactId, fact: Fact) -> None:
    """Makes a fact findable. Ids begin with 1."""
    execute("INSERT INTO passage_search (rowid, words, parts, around) VALUES (?, ?, ?, '')", -fact_id, *columns(fact))


def remove(fact_id: FactId, fact: Fact) -> None:
    """Removes a fact from the index that was added as `fact`. Until `passages.settle`, its words are still in the
    file."""
    execute(
        """INSERT INTO passage_search (passage_search, rowid, words, parts, around)
        VALUES ('delete', ?, ?, ?, '')""",
        -fact_id,
        *columns(fact),
    )


def match(text: str, limit: int) -> list[FactId]:
    """The facts in which words of `text` occur, the best first, and of equals the newer first. No character of `text`
    is syntax."""
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
