"""A summary that is asked for and not written yet: writing it and adopting it are two things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from palimpsest.domain.context.cut import MessagePiece, Piece, SummaryPiece, total_tokens
from palimpsest.domain.messages import Content, MessageId


@dataclass(frozen=True, slots=True)
class SummarizationScope:
    """The contiguous messages that a summary is to stand for. Ids have gaps where messages were rolled back."""

    ids: tuple[MessageId, ...]
    """Of the live messages among them, ascending."""
    range: tuple[MessageId, MessageId]
    """[start, end)."""


@dataclass(frozen=True, slots=True)
class PendingSummarization:
    """What a summarizer needs to know. Token counts are raw."""

    scope: SummarizationScope
    pieces: tuple[Piece, ...]
    """Whole exchanges and whole lower summaries, oldest first."""
    original_tokens: int
    """Of the messages the summary will stand for, those under lower summaries included."""
    target_tokens: int
    """The size to aim at."""

    @classmethod
    def of(cls, pieces: Sequence[Piece], target_tokens: int) -> Self:
        """For at least one piece."""
        live = tuple(piece for piece in pieces if isinstance(piece, MessagePiece))
        lower = sum(piece.summary.original_tokens for piece in pieces if isinstance(piece, SummaryPiece))
        return cls(
            SummarizationScope(tuple(piece.message.id for piece in live), (pieces[0].start, pieces[-1].end)),
            tuple(pieces),
            lower + sum(piece.original_tokens for piece in live),
            target_tokens,
        )

    @property
    def messages(self) -> tuple[tuple[MessageId, Content], ...]:
        """The live messages with their ids, whole, oldest first."""
        return tuple(
            (piece.message.id, piece.message.content) for piece in self.pieces if isinstance(piece, MessagePiece)
        )

    @property
    def shown_tokens(self) -> int:
        """What the pieces take in the context now: a summary must be smaller."""
        return total_tokens(self.pieces)


def first_run(ids: Sequence[MessageId]) -> tuple[MessageId, MessageId] | None:
    """[start, end) of the first contiguous run among the ids, in any order and with repeats; None for no ids."""
    ordered = sorted(set(ids))
    if not ordered:
        return None
    n_run = 1
    while n_run < len(ordered) and ordered[n_run] == ordered[n_run - 1] + 1:
        n_run += 1
    return ordered[0], MessageId(ordered[n_run - 1] + 1)
