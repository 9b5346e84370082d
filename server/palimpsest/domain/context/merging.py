"""Which blocks a compaction merges, and how large the new ones may be."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.cut import Piece, SummaryPiece, between_verbatim, total_tokens
from palimpsest.domain.messages import MessageId

_LEAST_OF_FAIR: Final = 2 / 3
"""Of what merged blocks would have if all blocks shared the target by what they stand for: with less, all are written
anew."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Pieces [first, after) that become one higher block of `target` raw tokens."""

    first: int
    after: int
    target: int


def plan_merges(pieces: Sequence[Piece], boundary: int, protected: Collection[MessageId], target: int) -> list[Merge]:
    """Which pieces before `boundary` become one higher block each, so that all blocks take about `target` raw tokens
    together, in the order of the pieces.

    Merged are stretches of at least two pieces with a block among them. Where a message of `protected` stands between
    blocks, such as the request of a long turn, one block may be all there is on its other side; it stays as it is, and
    takes its part of the target, until the others would have too little for what they stand for. Then it is written
    anew, and smaller, too.
    """
    stretches = [
        (i, j)
        for i, j in between_verbatim(pieces, boundary, protected)
        if any(isinstance(each, SummaryPiece) for each in pieces[i:j])
    ]
    merged = [(i, j) for i, j in stretches if j - i > 1]
    if not merged:
        return []
    alone = sum(pieces[i].tokens for i, j in stretches if j - i == 1)
    originals = {(i, j): sum(map(_original_tokens, pieces[i:j])) for i, j in stretches}
    fair = target * sum(originals[each] for each in merged) // max(sum(originals.values()), 1)
    if target - alone < _LEAST_OF_FAIR * fair:
        total = max(sum(originals.values()), 1)
        return [Merge(i, j, max(target * originals[i, j] // total, 1)) for i, j in stretches]
    shown = sum(total_tokens(pieces[i:j]) for i, j in merged)
    return [Merge(i, j, max((target - alone) * total_tokens(pieces[i:j]) // shown, 1)) for i, j in merged]


def _original_tokens(piece: Piece) -> int:
    return piece.summary.original_tokens if isinstance(piece, SummaryPiece) else piece.original_tokens
