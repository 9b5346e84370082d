"""Strategies: which stretches of a context become summaries at a compaction. They plan; `compaction` writes.

A strategy is a function from the pieces to stretches [i, j), oldest first. Their order is a setting. The first whose
plan brings the context down to the target is carried out, so tool calls are compressed before anybody's words are;
where none does, the one that frees most. `goal_batch` is different: it merges older blocks into higher ones when they
have grown too large, after any of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.cut import (
    MessagePiece,
    Piece,
    SummaryPiece,
    keep_from,
    piece_starts,
    prose_tokens,
    runs_to_summarize,
    total_tokens,
)
from palimpsest.domain.messages import MessageId, Role
from palimpsest.domain.strategy_names import SUMMARIZING, StrategyName

_SMALLEST_STRETCH: Final = 200
"""Raw tokens of tool work below which a summary of its own is not worth its frame."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a strategy plans on. Token counts are raw."""

    pieces: Sequence[Piece]
    kept: Collection[MessageId]
    """Messages that stay as they are."""
    keep_tokens: int
    """The newest exchanges up to this size stay verbatim."""
    preserve_recent: int
    tool_age: int
    """Tool calls among this many newest exchanges are not old yet."""
    isolated_min_tokens: int
    """Live messages in front of a block are summarized only when they take more."""


Stretch = tuple[int, int]
Strategy = Callable[[Situation], list[Stretch]]


def threshold(situation: Situation) -> list[Stretch]:
    """Everything live that is older than what stays verbatim."""
    boundary = keep_from(situation.pieces, situation.keep_tokens, situation.preserve_recent)
    return runs_to_summarize(situation.pieces, boundary, situation.kept, situation.isolated_min_tokens)


def tool_calls(situation: Situation) -> list[Stretch]:
    """Old tool calls with what the model said around them, adjacent ones in one stretch. What users said stays."""
    pieces = situation.pieces
    starts = piece_starts(pieces)
    aged = starts[-situation.tool_age] if len(starts) > situation.tool_age else 0
    boundary = min(aged, keep_from(pieces, situation.keep_tokens, situation.preserve_recent))
    users = {
        piece.message.id
        for piece in pieces[:boundary]
        if isinstance(piece, MessagePiece) and piece.message.content.role is Role.USER
    }
    runs = runs_to_summarize(pieces, boundary, users.union(situation.kept), situation.isolated_min_tokens)
    return [(i, j) for i, j in runs if _has_tools(pieces[i:j]) and total_tokens(pieces[i:j]) >= _SMALLEST_STRETCH]


def _has_tools(stretch: Sequence[Piece]) -> bool:
    return any(isinstance(piece, MessagePiece) and piece.message.content.role is Role.TOOL for piece in stretch)


STRATEGIES: Final[Mapping[str, Strategy]] = {"tool_calls": tool_calls, "threshold": threshold}
MERGING: Final[StrategyName] = "goal_batch"
"""Switches the merging of older blocks on; it needs no plan of its own."""
LEAVING_OUT: Final = "leave_out"
"""The oldest messages are not sent any more, where summaries are switched off."""
DISTILLING: Final = "distil"
"""Only the newest messages are sent, in the layout `librarian`."""
HANDING_OVER: Final = "previews"
"""The largest messages are sent as previews."""
REFRESHING: Final = "injections"
"""What was added behind earlier messages is not sent any more."""
EVERY_NAME: Final = SUMMARIZING | {LEAVING_OUT, DISTILLING, HANDING_OVER, REFRESHING}
"""Of what makes a context smaller, as events and statistics say it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The strategy a compaction follows."""

    name: str
    stretches: list[Stretch]


def choose_strategy(names: Sequence[str], situation: Situation, target_tokens: int, ratio: float) -> Choice:
    """The first of `names` whose plan would bring the pieces to `target_tokens`, else the one that frees most. A
    strategy that has nothing to do is not chosen; where none has, the choice has no stretches.

    `ratio`: what a summary is expected to take of its originals.
    """
    total = total_tokens(situation.pieces)
    best, best_gain = Choice("threshold" if "threshold" in names else next(iter(names), MERGING), []), -1.0
    for name in names:
        if (strategy := STRATEGIES.get(name)) is None or not (stretches := strategy(situation)):
            continue
        gain = (1 - ratio) * sum(total_tokens(situation.pieces[i:j]) for i, j in stretches)
        if total - gain <= target_tokens:
            return Choice(name, stretches)
        if gain > best_gain:
            best, best_gain = Choice(name, stretches), gain
    return best


def blocks_tokens(pieces: Sequence[Piece]) -> int:
    """Raw tokens of all blocks together, without the models' texts behind pages."""
    return sum(piece.tokens for piece in pieces if isinstance(piece, SummaryPiece)) - prose_tokens(pieces)
