"""Whether a conversation's next request can be sent: the one decision that admission, dry runs and turns share.

A request that fits is sent as it stands. One that does not is compacted, and how far that can go is known before
anything is written: the running request verbatim, for all before it one block with the standing rules and a few lines,
or nothing where summaries are switched off. What is too large even then can never be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from palimpsest.domain.context.cut import (
    MessagePiece,
    Piece,
    SummaryPiece,
    between_verbatim,
    keep_from,
    running_request,
    total_tokens,
)
from palimpsest.domain.context.previews import SMALLEST_PREVIEW
from palimpsest.domain.context.request_layout import Front
from palimpsest.domain.context.rules.rule_set import RuleSet, standing_rules
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.context.summaries.node import AUTHOR, EXTRACTIVE, Summary
from palimpsest.domain.errors import RecentMessagesTooLarge, TooLong
from palimpsest.domain.messages import MessageId, Role, SummaryId
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.services.context.rules import front_of
from palimpsest.services.context.state import ContextState, block

LEAST_LINES: Final = 100
"""Raw tokens: what the smallest block holds beside the standing rules and its frame, at most."""


class Fit(Enum):
    """Of a request and its limit."""

    WHOLE = auto()
    """As it stands."""
    COMPACTED = auto()
    """After a compaction."""
    NEVER = auto()
    """Not even in its smallest form."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """The decision, with its numbers: the model's tokens by the upper estimate."""

    fit: Fit
    upper_tokens: int
    """As it stands."""
    least_tokens: int
    """In its smallest form."""
    limit_tokens: int
    n_verbatim: int
    """Messages that stand in every form of it."""
    too_long: TooLong | None = None
    """The message that is alone why it can never be sent."""

    def problem(self) -> RecentMessagesTooLarge | None:
        """Why it can never be sent; None when it can."""
        if self.fit is not Fit.NEVER:
            return None
        return RecentMessagesTooLarge(self.least_tokens, self.limit_tokens, self.n_verbatim, self.too_long)

    def check(self) -> None:
        """Raises RecentMessagesTooLarge when it can never be sent."""
        if (problem := self.problem()) is not None:
            raise problem


def fitting(
    settings: ContextSettings, state: ContextState, rules: StandingRules, limit_tokens: int, more_tokens: int = 0
) -> Fitting:
    """How the state's next request fits the limit. `more_tokens` (raw) are told behind the user's message while it
    stands as it is."""
    upper = for_next_request(state, limit_tokens).with_more(more_tokens).estimate.upper
    if upper <= limit_tokens:
        return Fitting(Fit.WHOLE, upper, upper, limit_tokens, len(state.pieces) - state.n_blocks)
    now = replace(state, cut=replace(state.cut, estimator=state.model.estimator))
    front, pieces, _ = least(settings, now, rules)
    n_verbatim = sum(isinstance(piece, MessagePiece) for piece in pieces)
    smallest = now.estimate_of(front, pieces).upper
    if smallest <= limit_tokens:
        return Fitting(Fit.COMPACTED, upper, smallest, limit_tokens, n_verbatim)
    longest = too_long(pieces, lambda each: now.estimate_of(front, each).upper, limit_tokens)
    return Fitting(Fit.NEVER, upper, smallest, limit_tokens, n_verbatim, longest)


def for_next_request(state: ContextState, limit_tokens: int) -> ContextState:
    """The state as its next request is counted: by the estimator of the cut, unless by what was learned
    meanwhile the request would not fit: then by the model's own."""
    now = replace(state, cut=replace(state.cut, estimator=state.model.estimator))
    return state if now.cut.estimator.upper(state.raw_tokens) <= limit_tokens else now


def as_planned(state: ContextState, limit_tokens: int) -> int:
    """The limit for a compaction that is planned by the estimator, so that the request fits `limit_tokens` by what was
    measured."""
    planned = state.model.estimator.upper(state.raw_tokens)
    return limit_tokens * planned // max(state.estimate.upper, 1)


def too_long(pieces: Sequence[Piece], upper_of: Callable[[Sequence[Piece]], int], limit_tokens: int) -> TooLong | None:
    """The user's message without which a request of these pieces would fit; None where there is no such one.

    `upper_of`: the upper estimate of a request of such pieces, with all that is sent beside them. Estimates of parts do
    not add up to that of the whole, so what the message takes is what the request takes more with it, and what is free
    for it does not depend on how long it is.
    """
    said = [piece for piece in pieces if isinstance(piece, MessagePiece) and piece.message.content.role is Role.USER]
    if not said:
        return None
    longest = max(said, key=lambda piece: piece.tokens)
    rest = upper_of([piece for piece in pieces if piece is not longest])
    tokens, room = upper_of(pieces) - rest, limit_tokens - rest
    if not 0 < room < tokens:
        return None
    return TooLong(longest.message.id, longest is pieces[-1], tokens, room)


def least(
    settings: ContextSettings, state: ContextState, rules: StandingRules
) -> tuple[Front, list[Piece], tuple[tuple[MessageId, MessageId], ...]]:
    """The smallest form of the state's next request: its front, its pieces, each block as large as it can be, and the
    ranges [start, end) that would be left out for it."""
    current = [piece.without_injection() if isinstance(piece, MessagePiece) else piece for piece in state.pieces]
    request, stretches = running_request(current), foldable(current)
    if not settings.infinity:
        gone = tuple((current[i].start, current[j - 1].end) for i, j in stretches)
        left = {index for i, j in stretches for index in range(i, j)}
        kept = [piece for index, piece in enumerate(current) if index not in left]
        return front_of(state, rules, (*state.cut.left_out, *gone)), _shortened(kept, request), gone
    pieces: list[Piece] = []
    done = 0
    for i, j in stretches:
        pieces += _shortened(current[done:i], request)
        smallest = smallest_block(state, current[i:j], rules.kept)
        pieces += [smallest] if smallest.tokens < total_tokens(current[i:j]) else current[i:j]
        done = j
    pieces += _shortened(current[done:], request)
    return front_of(state, rules, state.cut.left_out), pieces, ()


def foldable(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """Stretches [i, j) of the pieces that the smallest form of a request does without: all but the running request and
    the newest exchange."""
    return between_verbatim(pieces, keep_from(pieces, 0, 1), running_request(pieces))


def smallest_block(state: ContextState, run: Sequence[Piece], kept: RuleSet) -> SummaryPiece:
    """A block for the run that holds no more than its standing rules and some lines, which are not written yet."""
    start, end = run[0].start, run[-1].end
    level = 1 + max((piece.summary.level for piece in run if isinstance(piece, SummaryPiece)), default=0)
    text = standing_rules(kept, start, end)
    summary = Summary(SummaryId(0), start, end, level, EXTRACTIVE, text, total_tokens(run), AUTHOR, "")
    empty = block(summary, state.tokenizer)
    return replace(empty, tokens=empty.tokens + LEAST_LINES)


def _shortened(pieces: Sequence[Piece], request: frozenset[MessageId]) -> list[Piece]:
    """The pieces, those that may be shown as previews as small ones."""
    smallest = 2 * SMALLEST_PREVIEW
    return [
        replace(piece, preview=piece.message.content, preview_tokens=smallest, image_tokens=0)
        if isinstance(piece, MessagePiece) and piece.message.id not in request and piece.tokens > smallest
        else piece
        for piece in pieces
    ]
