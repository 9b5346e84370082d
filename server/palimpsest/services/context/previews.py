"""Previews of messages that are too large to be sent whole.

A message is counted, and its preview is made, once, when the message is accepted, so that a request keeps its prefix.
Where summaries cannot make a request fit, the biggest messages are shown as previews as well, by fair share.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.cut import MessagePiece, Piece, total_tokens
from palimpsest.domain.context.previews import SMALLEST_PREVIEW, fair_share, with_preview
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import RecentMessagesTooLarge
from palimpsest.domain.messages import Content, Digest, MessageId, Role
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.services.context.fitting import too_long
from palimpsest.services.context.state import ContextState
from palimpsest.storage.conversation.message_log import Counts

LARGE_PART_SHARE: Final = 0.15
"""Of the budget: a message above it is shown as a preview from the first request on, whatever its bytes."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Messages ready to be stored."""

    contents: tuple[Content, ...]
    tokens: tuple[int, ...]
    """Raw tokens of each, without its pictures."""
    previews: dict[int, Content]
    """By index into `contents`."""
    shown_tokens: tuple[int, ...]
    """Raw tokens each takes in the context."""
    tokenizer: str

    @property
    def counts(self) -> Counts:
        return Counts(self.tokenizer, self.tokens)

    def previews_of(self, stored: Sequence[StoredMessage]) -> dict[MessageId, Content]:
        """The previews by the ids under which the messages were stored."""
        return {stored[index].id: preview for index, preview in self.previews.items()}


async def accept(settings: ContextSettings, state: ContextState, contents: Sequence[Content]) -> Accepted:
    """Counts messages that are about to be stored and decides which of them are too large to be sent whole."""
    tokens = await state.tokenizer.count_contents(contents)
    budget_raw = state.budget_raw
    previews: dict[int, Content] = {}
    images = [state.tokenizer.image_tokens(content) for content in contents]
    shown = [text + more for text, more in zip(tokens, images, strict=True)]
    for index, content in enumerate(contents):
        cap = _preview_cap(settings, content, shown[index], budget_raw)
        if cap is not None:
            message = StoredMessage(state.id, MessageId(state.n_messages + index), content, "", None, Digest(""))
            whole = MessagePiece(message, tokens[index], image_tokens=images[index])
            preview = await asyncio.to_thread(with_preview, whole, cap, state.tokenizer.count)
            if preview.preview is not None:
                previews[index], shown[index] = preview.preview, preview.preview_tokens
    return Accepted(tuple(contents), tuple(tokens), previews, tuple(shown), state.tokenizer.name)


def with_previews(
    settings: ContextSettings, state: ContextState, messages: Sequence[MessagePiece]
) -> list[MessagePiece]:
    """The messages, those that are too large for the state's budget as previews."""
    budget_raw = state.model.estimator.raw_within(state.budget.budget)
    shown: list[MessagePiece] = []
    for each in messages:
        cap = _preview_cap(settings, each.message.content, each.original_tokens + each.image_tokens, budget_raw)
        is_whole = cap is None or each.preview is not None
        shown.append(each if is_whole else with_preview(each, cap or 0, state.tokenizer.count))
    return shown


def _preview_cap(settings: ContextSettings, content: Content, tokens: int, budget_raw: int) -> int | None:
    """The raw tokens a message may take in the context; None when it may stay whole. What the user says stays."""
    if content.role is Role.USER:
        return None
    share = int(LARGE_PART_SHARE * budget_raw)
    n_bytes = max((len(result.text.encode()) for result in content.results), default=0)
    if n_bytes > settings.response_max_bytes:
        return min(share, settings.response_max_bytes // 16)
    return share if tokens > share else None


def hand_over(state: ContextState, pieces: Sequence[Piece], room: int, protected: Collection[MessageId]) -> list[Piece]:
    """The pieces with the biggest live messages as previews, so that all fit `room` raw tokens.

    Raises RecentMessagesTooLarge when that does not help. The running turn's request is never touched.
    """
    count: CountText = state.tokenizer.count
    result = list(pieces)
    share_of = 1.0
    while (total := total_tokens(result)) > room:
        movable = [
            index
            for index, piece in enumerate(result)
            if isinstance(piece, MessagePiece) and piece.message.id not in protected
        ]
        fixed = total - sum(result[index].tokens for index in movable)
        share = int(fair_share([result[index].tokens for index in movable], max(room - fixed, 0)) * share_of)
        if not movable or share < SMALLEST_PREVIEW or share_of < 0.2:
            n_verbatim = sum(isinstance(piece, MessagePiece) for piece in result)

            def upper_of(pieces: Sequence[Piece]) -> int:
                return state.cut.estimator.upper(state.fixed_tokens + total_tokens(pieces))

            limit = state.cut.estimator.upper(state.fixed_tokens + max(room, 0))
            raise RecentMessagesTooLarge(upper_of(result), limit, n_verbatim, too_long(result, upper_of, limit))
        for index in movable:
            piece = result[index]
            if isinstance(piece, MessagePiece) and piece.tokens > share:
                result[index] = with_preview(piece, share, count)
        share_of *= 0.8
    return result
