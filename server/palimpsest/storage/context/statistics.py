"""Figures about a conversation's context: the compactions, the cost of summaries, and the size over time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.messages import ConversationId
from palimpsest.storage.context.cuts import CompactionReport
from palimpsest.storage.sql import execute

REFUSED: Final = "refused"
"""The kind under which refused texts are counted."""


@dataclass(frozen=True, slots=True)
class SummaryCost:
    """The cost of the summaries of one kind."""

    kind: str
    n_summaries: int
    input_tokens: int
    output_tokens: int
    duration_ms: int


def compaction_reports(conversation_id: ConversationId) -> list[tuple[CutCause, CompactionReport]]:
    """Every compaction of the conversation with its cause, oldest first."""
    rows = execute(
        """SELECT cause, saved, tokens_before, tokens_after, duration_ms FROM cut
        WHERE conversation = ? ORDER BY version""",
        conversation_id,
    )
    return [(CutCause(cause), CompactionReport(json.loads(saved), *numbers)) for cause, saved, *numbers in rows]


@dataclass(frozen=True, slots=True)
class ContextMoment:
    """A point on the time line of a context: a request or a compaction."""

    at: str
    tokens: int
    """The size of a request, as its service counted it or else as it was estimated, or the size of the context behind a
    compaction."""
    cause: CutCause | None
    """Why the cut was chosen anew; None for a request."""
    tokens_before: int | None
    """The size of the context before a compaction; None for a request."""
    cached_tokens: int | None = None
    """Of a request: what its service read from its cache; None when the service did not count the request."""
    model: str | None = None
    """The model that a compaction was made for; None for a request."""


@dataclass(frozen=True, slots=True)
class SentTokens:
    """The tokens of the requests that services counted."""

    n_requests: int
    input_tokens: int
    """Cached or not."""
    cached_tokens: int
    """What the services read from their caches."""
    output_tokens: int


def sent_tokens(conversation_id: ConversationId) -> SentTokens:
    """The tokens of all requests of the conversation."""
    row = execute(
        """SELECT COUNT(*), COALESCE(SUM(input_tokens + cache_read_tokens + cache_write_tokens), 0),
        COALESCE(SUM(cache_read_tokens), 0), COALESCE(SUM(output_tokens), 0)
        FROM step JOIN turn ON turn.id = step.turn
        WHERE turn.conversation = ? AND input_tokens + cache_read_tokens + cache_write_tokens > 0""",
        conversation_id,
    ).fetchone()
    return SentTokens(*row)


def moments(conversation_id: ConversationId, n_most: int) -> list[ContextMoment]:
    """The newest points, oldest first. Requests and compactions are ordered by the clock, because their numbers cannot
    be compared: good enough to show, and for nothing else."""
    found = execute(
        """SELECT at, tokens, cause, tokens_before, cached, of_model FROM (
            SELECT step.started_at AS at, step.id AS number, NULL AS cause, NULL AS tokens_before, COALESCE(
                NULLIF(input_tokens + cache_read_tokens + cache_write_tokens, 0), estimated_tokens
            ) AS tokens,
            CASE WHEN input_tokens + cache_read_tokens + cache_write_tokens > 0 THEN cache_read_tokens END AS cached,
            NULL AS of_model
            FROM step JOIN turn ON turn.id = step.turn WHERE turn.conversation = ?
            UNION ALL
            SELECT created_at, version, cause, tokens_before, tokens_after, NULL, model FROM cut WHERE conversation = ?
        ) ORDER BY at DESC, cause IS NULL DESC, number DESC LIMIT ?""",
        *(conversation_id, conversation_id, n_most),
    )
    newest = [
        ContextMoment(at, tokens, None if cause is None else CutCause(cause), before, cached, model)
        for at, tokens, cause, before, cached, model in found
    ]
    return newest[::-1]


def summary_costs(conversation_id: ConversationId) -> list[SummaryCost]:
    """The costs by kind, with those of summaries that were never adopted; the cost of refused texts comes last."""
    costs = execute(
        """SELECT kind, COUNT(*), SUM(input_tokens), SUM(output_tokens), SUM(duration_ms) FROM summary
        WHERE conversation = ? GROUP BY kind ORDER BY kind""",
        conversation_id,
    )
    refused = execute(
        """SELECT COUNT(*), SUM(input_tokens), SUM(output_tokens), SUM(duration_ms) FROM refused_summary
        WHERE conversation = ?""",
        conversation_id,
    )
    return [*(SummaryCost(*row) for row in costs), *(SummaryCost(REFUSED, *row) for row in refused if row[0])]


def write_refused(
    conversation_id: ConversationId, input_tokens: int, output_tokens: int, duration_ms: int, now: str
) -> None:
    """Stores the cost of a text by a model that was refused as a summary."""
    execute(
        """INSERT INTO refused_summary (conversation, input_tokens, output_tokens, duration_ms, created_at)
        VALUES (?, ?, ?, ?, ?)""",
        *(conversation_id, input_tokens, output_tokens, duration_ms, now),
    )
