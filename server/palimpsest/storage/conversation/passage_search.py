"""Reads the index of passages: what matches a question, and what scoring needs of it."""

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
"""Messages [first, after) that a conversation holds: (conversation, first, after)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage, or a fact, in which words of a question occur."""

    row_id: int
    """Of the message; 0 for a fact."""
    passage: int
    """Counted from 0."""
    fact: FactId | None
    score: float
    """The greater the better; facts and messages have one scale."""


def matches(terms: Terms, stretches: Sequence[Stretch], limit: int) -> list[Hit]:
    """Best first. `stretches` are the messages that may match; facts always may."""
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
    # Others' messages took places: now each row is looked up before it is scored, which costs as much again.
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
    """Any of the words, quoted, so that no word can be syntax. The index adds up the words of an expression, so one
    that stands twice counts twice: asking words count half."""
    telling = [f'"{word}"' for word in terms.telling]
    return " OR ".join([*telling, *telling, *(f'"{word}"' for word in terms.asking)] if terms.asking else telling)


def _within(stretches: Sequence[Stretch]) -> tuple[str, list[object]]:
    """A condition on rows of `indexed_message`, and its values."""
    each = "conversation = ? AND message_id >= ? AND message_id < ?"
    return " OR ".join([f"({each})"] * len(stretches)) or "0", [value for stretch in stretches for value in stretch]


@dataclass(frozen=True, slots=True)
class IndexedMessage:
    """What the index knows of a message."""

    row_id: int
    owner: str
    """The conversation that holds it."""
    message_id: MessageId
    role: Role
    name: str
    n_words: int
    is_rule: bool
    session: int
    """The id of the message that begins it."""
    day: int | None
    """As an ordinal."""


_SELECT: Final = """SELECT message, conversation, message_id, role, name, n_words, is_rule, session, day
    FROM indexed_message"""


def read(row_ids: Iterable[int]) -> list[IndexedMessage]:
    """Those of the rows that are there."""
    return _indexed(
        f"{_SELECT} WHERE message IN (SELECT value FROM json_each(?)) AND role <> ''", json.dumps([*row_ids])
    )


def rules(stretches: Sequence[Stretch], limit: int) -> list[IndexedMessage]:
    """Messages that set a standing rule, the newest."""
    condition, values = _within(stretches)
    return _indexed(f"{_SELECT} WHERE is_rule = 1 AND ({condition}) ORDER BY message_id DESC LIMIT ?", *values, limit)


def said_on(days: Sequence[tuple[int, int]], stretches: Sequence[Stretch], limit: int) -> list[IndexedMessage]:
    """Messages of prose from those days, the oldest."""
    condition, values = _within(stretches)
    on = " OR ".join(["day BETWEEN ? AND ?"] * len(days)) or "0"
    return _indexed(
        f"{_SELECT} WHERE {PROSE} AND ({condition}) AND ({on}) ORDER BY message_id LIMIT ?",
        *values,
        *(value for span in days for value in span),
        limit,
    )


def names(stretches: Sequence[Stretch]) -> dict[str, int]:
    """The names before a colon with which messages begin, each with the number of its messages."""
    condition, values = _within(stretches)
    found = execute(
        f"SELECT name, count(*) FROM indexed_message WHERE name <> '' AND ({condition}) GROUP BY name ORDER BY name",
        *values,
    )
    return {name: int(n_messages) for name, n_messages in found}


def first_and_last_day(stretches: Sequence[Stretch]) -> tuple[int, int] | None:
    """As ordinals; None when no message has a date."""
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
    """What stands in a message that was read here."""
    ((text,),) = execute("SELECT content FROM message WHERE id = ?", row_id)
    return Content.from_json(json.loads(text))
