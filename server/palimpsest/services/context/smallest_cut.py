"""The smallest cut: nothing stands verbatim but the running request, and what was said last as far as it fits.

For a request that no usual compaction makes room for. It is quoted, not written by a model, so it takes no time and its
size is certain: what `fitting` found to fit comes out no larger here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from palimpsest.domain.context.cut import MessagePiece, Piece, running_request, total_tokens
from palimpsest.domain.context.rules.rule_set import standing_rules
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.context.summaries.pending import PendingSummarization
from palimpsest.domain.errors import RecentMessagesTooLarge
from palimpsest.domain.messages import MessageId
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.services.context.fitting import LEAST_LINES, foldable, least, smallest_block, too_long
from palimpsest.services.context.operations import Operation
from palimpsest.services.context.previews import hand_over
from palimpsest.services.context.rules import front_of
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.summaries.summarizers import ExtractiveSummarizer
from palimpsest.services.context.summaries.writer import SummaryWriter

_SHARES: Final = (1.0, 0.25, 0.0)
"""Of what the blocks may take by the estimator: what they are given, until the whole fits by what was measured."""


async def smallest_cut(
    settings: ContextSettings,
    writer: SummaryWriter,
    state: ContextState,
    rules: StandingRules,
    limit_tokens: int,
    operation: Operation,
) -> tuple[list[Piece], tuple[tuple[MessageId, MessageId], ...]]:
    """The pieces, and the ranges [start, end) that are not sent any more where summaries are switched off.

    Raises RecentMessagesTooLarge when even they do not fit.
    """
    current = [piece.without_injection() if isinstance(piece, MessagePiece) else piece for piece in state.pieces]
    request = running_request(current)
    with_rules = {MessageId(entry.id.message_id) for entry in rules.kept.open_entries()}
    fixed = request.union(with_rules)
    stretches = foldable(current)
    if not settings.infinity:
        front, _, gone = least(settings, state, rules)
        left = {index for i, j in stretches for index in range(i, j)}
        kept = [piece for index, piece in enumerate(current) if index not in left]
        return await _shown(state, front.tokens, kept, fixed, limit_tokens), gone
    front = front_of(state, rules, state.cut.left_out)
    quoting = replace(writer, summarizer=ExtractiveSummarizer())
    smallest = [smallest_block(state, current[i:j], rules.kept).tokens for i, j in stretches]
    verbatim = total_tokens(current) - sum(total_tokens(current[i:j]) for i, j in stretches)
    room = state.cut.estimator.raw_within(limit_tokens) - state.frame_tokens.total - front.tokens - verbatim
    spare = max(room - sum(smallest), 0)
    tries = len(_SHARES)
    for number, share in enumerate(_SHARES, 1):
        pieces: list[Piece] = []
        done = 0
        for i, j in stretches:
            ruled = state.tokenizer.count(standing_rules(rules.kept, current[i].start, current[j - 1].end))
            target = ruled + LEAST_LINES // 2 + int(share * spare / len(stretches))
            pending = PendingSummarization.of(current[i:j], target)
            new = await quoting.write(state, pending, rules.kept, operation)
            pieces += [*current[done:i], *(current[i:j] if new is None else [new])]
            done = j
        pieces += current[done:]
        try:
            return await _shown(state, front.tokens, pieces, fixed, limit_tokens), ()
        except RecentMessagesTooLarge:
            if number == tries:
                raise
    raise AssertionError("the last try returns or raises")


async def _shown(
    state: ContextState, front_tokens: int, pieces: Sequence[Piece], fixed: frozenset[MessageId], limit_tokens: int
) -> list[Piece]:
    """The pieces, messages that are not `fixed` as previews where that makes them fit by what was measured."""
    front = replace(state.front, tokens=front_tokens)
    upper = state.estimate_of(front, pieces).upper
    if upper <= limit_tokens:
        return list(pieces)
    before = state.frame_tokens.total + front_tokens
    room = limit_tokens * (before + total_tokens(pieces)) // upper - before
    shown = await asyncio.to_thread(hand_over, state, pieces, room, fixed)
    upper = state.estimate_of(front, shown).upper
    if upper > limit_tokens:
        n_verbatim = sum(isinstance(piece, MessagePiece) for piece in shown)
        longest = too_long(shown, lambda each: state.estimate_of(front, each).upper, limit_tokens)
        raise RecentMessagesTooLarge(upper, limit_tokens, n_verbatim, longest)
    return shown
