"""Figures about a conversation's context: re-cuts, the cost of summaries, and both over time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.messages import ConversationId
from palimpsest.storage.context.cuts import RecutReport
from palimpsest.storage.sql import execute

REFUSED: Final = "refused"
"""Stands for the kind of texts that could not be used."""


@dataclass(frozen=True, slots=True)
class SummaryCost:
    """What the summaries of one kind took to write."""

    kind: str
    n_summaries: int
    input_tokens: int
    output_tokens: int
    duration_ms: int


def recut_reports(conversation_id: ConversationId) -> list[tuple[CutCause, RecutReport]]:
    """Every re-cut of the conversation with its cause, oldest first."""
    rows = execute(
        """SELECT cause, saved, tokens_before, tokens_after, duration_ms FROM cut
        WHERE conversation = ? ORDER BY version""",
        conversation_id,
    )
    return [(CutCause(cause), RecutReport(json.loads(saved), *numbers)) for cause, saved, *numbers in rows]


@dataclass(frozen=True, slots=True)
class ContextMoment:
    """A request, or a re-cut, as the time line of a context shows it."""

    at: str
    tokens: int
    """Of a request, as its service counted them, or else as they were estimated; of a context behind its re-cut."""
    cause: CutCause | None
    """Why the cut was taken anew; None: it is a request."""
    tokens_before: int | None
    """Of a re-cut."""


def moments(conversation_id: ConversationId, n_most: int) -> list[ContextMoment]:
    """The newest, oldest first. By the clock, because requests and re-cuts are numbered apart: for showing only."""
    found = execute(
        """SELECT at, tokens, cause, tokens_before FROM (
            SELECT step.started_at AS at, step.id AS number, NULL AS cause, NULL AS tokens_before, COALESCE(
                NULLIF(input_tokens + cache_read_tokens + cache_write_tokens, 0), estimated_tokens
            ) AS tokens FROM step JOIN turn ON turn.id = step.turn WHERE turn.conversation = ?
            UNION ALL
            SELECT created_at, version, cause, tokens_before, tokens_after FROM cut WHERE conversation = ?
        ) ORDER BY at DESC, cause IS NULL DESC, number DESC LIMIT ?""",
        *(conversation_id, conversation_id, n_most),
    )
    newest = [
        ContextMoment(at, tokens, None if cause is None else CutCause(cause), before)
        for at, tokens, cause, before in found
    ]
    return newest[::-1]


def summary_costs(conversation_id: ConversationId) -> list[SummaryCost]:
    """By kind, those that were never adopted included, and last what was refused: they were paid for."""
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
    """What a model took for a text that could not be used."""
    execute(
        """INSERT INTO refused_summary (conversation, input_tokens, output_tokens, duration_ms, created_at)
        VALUES (?, ?, ?, ?, ?)""",
        *(conversation_id, input_tokens, output_tokens, duration_ms, now),
    )
