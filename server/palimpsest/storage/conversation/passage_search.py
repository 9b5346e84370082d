"""Reading the index of passages: the matches of a question, and the data that scoring needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.facts.fact import FactId
from palimpsest.domain.facts.retrieval.passages import MOST_PASSAGES
from palimpsest.domain.facts.retrieval.words import Terms
from palimpsest.domain.messages import Content, MessageId, Role
from palimpsest.storage.conversation.passages import PROSE
from palimpsest.storage.sql import execute

Stretch = tuple[str, int, int]
"""Messages [first, after) in the rows of a conversation: (conversation, first, after)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage, or a fact, in which words of a question occur."""

    row_id: int
    """The row of the message; 0 for a fact."""
    passage: int
    """The number of the passage in its message, from 0."""
    fact: FactId | None
    score: float
    """Higher is better. Facts and messages have the same scale."""


def matches(terms: Terms, stretches: Sequence[Stretch], limit: int) -> list[Hit]:
    """The best matches first. Messages match only within `stretches`; facts always may."""
    expression = to_expression(terms)
    if not expression:
        return []
    hits = _matches(expression, "", (), limit)
    condition, values = _within(stretches)
    listed = json.dumps([hit.row_id for hit in hits if hit.fact is None])
    inside = execute(
        f"SELECT message FROM indexed_message WHERE message IN (SELECT value FROM json_each(?)) AND ({condition})",
        listed,
        *values,
    )
    known = {row_id for (row_id,) in inside}
    kept = [hit for hit in hits if hit.fact is not None or hit.row_id in known]
    if len(kept) == len(hits) or len(hits) < limit:
        return kept
    # Rows outside of the stretches took places, so each row is looked up before it is scored, which costs as much
    # again.
    rest = f"""AND (rowid < 0 OR EXISTS (SELECT 1 FROM indexed_message
        WHERE message = passage_search.rowid / {MOST_PASSAGES} AND ({condition})))"""
    return _matches(expression, rest, values, limit)


def _matches(expression: str, rest: str, values: Sequence[object], limit: int) -> list[Hit]:
    found = execute(
        f"""SELECT rowid, -bm25(passage_search, 1.0, 0.5, 0.5) AS score FROM passage_search
        WHERE passage_search MATCH ? {rest} ORDER BY score DESC, rowid LIMIT ?""",
        expression,
        *values,
        limit,
    )
    return [_hit(key, score) for key, score in found]


def _hit(key: int, score: float) -> Hit:
    if key < 0:
        return Hit(0, 0, FactId(-key), score)
    row_id, passage = divmod(key, MOST_PASSAGES)
    return Hit(row_id, passage, None, score)


def to_expression(terms: Terms) -> str:
    """An expression that matches any of the words, quoted, so that no word can be syntax. The index adds up the scores
    of the words in an expression, so a word that occurs twice counts twice, and question words count half."""
    telling = [f'"{word}"' for word in terms.telling]
    return " OR ".join([*telling, *telling, *(f'"{word}"' for word in terms.asking)] if terms.asking else telling)


def _within(stretches: Sequence[Stretch]) -> tuple[str, list[object]]:
    """A condition on rows of `indexed_message`, and the values for its placeholders."""
    each = "conversation = ? AND message_id >= ? AND message_id < ?"
    return " OR ".join([f"({each})"] * len(stretches)) or "0", [value for stretch in stretches for value in stretch]


@dataclass(frozen=True, slots=True)
class IndexedMessage:
    """The row of a message in the index."""

    row_id: int
    owner: str
    """The conversation whose rows hold the message."""
    message_id: MessageId
    role: Role
    name: str
    n_words: int
    is_rule: bool
    session: int
    """The id of the first message of its session."""
    day: int | None
    """The day as an ordinal."""


_SELECT: Final = """SELECT message, conversation, message_id, role, name, n_words, is_rule, session, day
    FROM indexed_message"""


def read(row_ids: Iterable[int]) -> list[IndexedMessage]:
    """The rows with those ids, as far as they exist."""
    return _indexed(
        f"{_SELECT} WHERE message IN (SELECT value FROM json_each(?)) AND role <> ''", json.dumps([*row_ids])
    )


def rules(stretches: Sequence[Stretch], limit: int) -> list[IndexedMessage]:
    """The newest messages that set a standing rule."""
    condition, values = _within(stretches)
    return _indexed(f"{_SELECT} WHERE is_rule = 1 AND ({condition}) ORDER BY message_id DESC LIMIT ?", *values, limit)


def said_on(days: Sequence[tuple[int, int]], stretches: Sequence[Stretch], limit: int) -> list[IndexedMessage]:
    """The oldest messages of prose from those days."""
    condition, values = _within(stretches)
    on = " OR ".join(["day BETWEEN ? AND ?"] * len(days)) or "0"
    return _indexed(
        f"{_SELECT} WHERE {PROSE} AND ({condition}) AND ({on}) ORDER BY message_id LIMIT ?",
        *values,
        *(value for span in days for value in span),
        limit,
    )


def names(stretches: Sequence[Stretch]) -> dict[str, int]:
    """The names before a colon with which messages begin, each with its number of messages."""
    condition, values = _within(stretches)
    found = execute(
        f"SELECT name, count(*) FROM indexed_message WHERE name <> '' AND ({condition}) GROUP BY name ORDER BY name",
        *values,
    )
    return {name: int(n_messages) for name, n_messages in found}


def first_and_last_day(stretches: Sequence[Stretch]) -> tuple[int, int] | None:
    """The first and the last day with a message, as ordinals; None when no message has a date."""
    days: list[int] = []
    for owner, _, _ in stretches:
        for order in ("ASC", "DESC"):
            sql = f"""SELECT day FROM indexed_message
                WHERE conversation = ? AND day IS NOT NULL AND {PROSE} ORDER BY day {order} LIMIT 1"""
            days += [day for (day,) in execute(sql, owner)]
    return (min(days), max(days)) if days else None


def _indexed(sql: str, *values: object) -> list[IndexedMessage]:
    return [
        IndexedMessage(row_id, owner, MessageId(message_id), Role(role), name, n_words, bool(is_rule), session, day)
        for row_id, owner, message_id, role, name, n_words, is_rule, session, day in execute(sql, *values)
    ]


def content_of(row_id: int) -> Content:
    """The content of a message of the index."""
    ((text,),) = execute("SELECT content FROM message WHERE id = ?", row_id)
    return Content.from_json(json.loads(text))
