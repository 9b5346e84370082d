"""What a compaction would do: which pieces it would summarize or leave out, and how large what stays may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from palimpsest.domain.context.compaction_sizes import CompactionSizes, compaction_sizes
from palimpsest.domain.context.cut import MessagePiece, Piece, leave_out, total_tokens
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.context.strategies import Choice, Situation, blocks_tokens, choose_strategy
from palimpsest.domain.context.summaries.pending import PendingSummarization
from palimpsest.domain.messages import MessageId
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.services.context.rules import front_of
from palimpsest.services.context.state import ContextState

ISOLATED_SHARE: Final = 0.05
"""Of the budget: live messages between blocks are summarized only when they take more."""
_TURN: Final = 2
"""Messages of most: a question and its answer."""

Ranges = Sequence[tuple[MessageId, MessageId]]


def pending_summarization(
    settings: ContextSettings, state: ContextState, run: Sequence[Piece], beside: Sequence[Piece]
) -> PendingSummarization:
    """What a summary of the run would be about. `beside`: the pieces among which it would stand, of which the run may
    be part."""
    start, end = run[0].start, run[-1].end
    sizes = sizes_of(settings, state, state.fixed_tokens)
    others = blocks_tokens([piece for piece in beside if piece.end <= start or end <= piece.start])
    share = int(total_tokens(run) * settings.target_ratio)
    return PendingSummarization.of(run, min(share, max(sizes.block, sizes.first - others)))


def distilled(settings: ContextSettings, state: ContextState) -> tuple[list[Piece], Ranges]:
    """The pieces that the layout `librarian` sends, and all that is left out then."""
    current = [piece.without_injection() if isinstance(piece, MessagePiece) else piece for piece in state.pieces]
    kept, more = leave_out(current, 0, settings.preserve_recent, state.kept)
    return kept, joined([*state.cut.left_out, *more]) if more else state.cut.left_out


def joined(ranges: Ranges) -> tuple[tuple[MessageId, MessageId], ...]:
    """The ranges in order, those that touch as one."""
    result: list[tuple[MessageId, MessageId]] = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return tuple(result)


def newest_then(settings: ContextSettings, state: ContextState, threshold: int) -> int:
    """How many of the newest messages will still have to stand verbatim when the threshold is passed: a question at
    least will come before that, and more turns where there is room for such as the last one."""
    turn_tokens = max(total_tokens(state.pieces[-_TURN:]), 1)
    n_turns = max(threshold - state.raw_tokens, 0) // turn_tokens
    preserved = settings.preserve_recent
    return max(preserved - 1 - _TURN * n_turns, min(preserved, _TURN))


def choice_of(settings: ContextSettings, situation: Situation, target: int) -> Choice:
    return choose_strategy(settings.strategies, situation, target, settings.target_ratio)


def sizes_of(settings: ContextSettings, state: ContextState, fixed_tokens: int) -> CompactionSizes:
    return compaction_sizes(state.budget_raw, fixed_tokens, settings.threshold)


def situation_of(
    settings: ContextSettings, state: ContextState, pieces: Sequence[Piece], keep_tokens: int
) -> Situation:
    return Situation(
        pieces,
        state.kept,
        keep_tokens,
        settings.preserve_recent,
        settings.tool_age,
        int(ISOLATED_SHARE * state.budget_raw),
    )


def would_summarize(settings: ContextSettings, state: ContextState) -> list[tuple[int, int]]:
    """The stretches of pieces that a compaction now would make into summaries first."""
    if not settings.infinity:
        return []
    target = int(settings.target * state.budget_raw) - state.fixed_tokens
    keep = sizes_of(settings, state, state.fixed_tokens).keep
    return choice_of(settings, situation_of(settings, state, state.pieces, keep), target).stretches


def leaving_out(
    settings: ContextSettings, state: ContextState, rules: StandingRules, limit_tokens: int
) -> tuple[list[Piece], list[Piece], Ranges]:
    """The pieces now, those that a compaction without summaries would keep, and all that would be left out then."""
    current = [piece.without_injection() if isinstance(piece, MessagePiece) else piece for piece in state.pieces]
    fixed, gone, kept = state.frame_tokens.total, state.cut.left_out, current
    for _ in range(2):  # what is left out may hold rules, which then stand in front and take room
        target = min(int(settings.target * state.budget_raw), state.cut.estimator.raw_within(limit_tokens)) - fixed
        kept, more = leave_out(current, target, settings.preserve_recent, state.kept)
        gone = joined([*state.cut.left_out, *more])
        fixed = state.frame_tokens.total + front_of(state, rules, gone).tokens
    return current, kept, gone
