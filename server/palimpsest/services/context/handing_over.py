"""Makes what must be sent fit when summarising cannot: the biggest messages are shown as previews, by fair share."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from palimpsest.domain.context.cut import Live, Piece, total_tokens
from palimpsest.domain.context.previews import SMALLEST_PREVIEW, fair_share, with_preview
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.errors import RecentMessagesTooLarge
from palimpsest.domain.messages import MessageId
from palimpsest.services.context.fitting import too_long
from palimpsest.services.context.state import ContextState


def hand_over(state: ContextState, pieces: Sequence[Piece], room: int, protected: Collection[MessageId]) -> list[Piece]:
    """The pieces with the biggest live messages as previews, so that all fit `room` raw tokens.

    Raises RecentMessagesTooLarge when that does not help. The running turn's request is never touched.
    """
    count: CountText = state.tokenizer.count
    result = list(pieces)
    share_of = 1.0
    while (total := total_tokens(result)) > room:
        movable = [
            index for index, piece in enumerate(result) if isinstance(piece, Live) and piece.message.id not in protected
        ]
        fixed = total - sum(result[index].tokens for index in movable)
        share = int(fair_share([result[index].tokens for index in movable], max(room - fixed, 0)) * share_of)
        if not movable or share < SMALLEST_PREVIEW or share_of < 0.2:
            n_verbatim = sum(isinstance(piece, Live) for piece in result)

            def upper_of(pieces: Sequence[Piece]) -> int:
                return state.cut.estimator.upper(state.fixed_tokens + total_tokens(pieces))

            limit = state.cut.estimator.upper(state.fixed_tokens + max(room, 0))
            raise RecentMessagesTooLarge(upper_of(result), limit, n_verbatim, too_long(result, upper_of, limit))
        for index in movable:
            piece = result[index]
            if isinstance(piece, Live) and piece.tokens > share:
                result[index] = with_preview(piece, share, count)
        share_of *= 0.8
    return result
