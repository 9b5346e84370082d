"""Messages on their way into the store: counted, and large ones with the preview that will be sent in their place.

Both are decided once, when a message is accepted, so that a request keeps its prefix.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.cut import Live
from palimpsest.domain.context.previews import with_preview
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import Content, Digest, MessageId, Role
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.services.context.state import ContextState
from palimpsest.storage.conversation.conversations import Counts

LARGE_PART_SHARE: Final = 0.25
"""Of the budget: a message above it is shown as a preview from the first request on, whatever its bytes."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Messages ready to be stored."""

    contents: tuple[Content, ...]
    tokens: tuple[int, ...]
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
    shown = list(tokens)
    for index, content in enumerate(contents):
        cap = _preview_cap(settings, content, tokens[index], budget_raw)
        if cap is not None:
            message = StoredMessage(state.id, MessageId(state.n_messages + index), content, "", None, Digest(""))
            preview = await asyncio.to_thread(with_preview, Live(message, tokens[index]), cap, state.tokenizer.count)
            if preview.preview is not None:
                previews[index], shown[index] = preview.preview, preview.preview_tokens
    return Accepted(tuple(contents), tuple(tokens), previews, tuple(shown), state.tokenizer.name)


def with_previews(settings: ContextSettings, state: ContextState, messages: Sequence[Live]) -> list[Live]:
    """The messages, those that are too large for the state's budget as previews."""
    budget_raw = state.model.estimator.raw_within(state.budget.budget)
    shown: list[Live] = []
    for each in messages:
        cap = _preview_cap(settings, each.message.content, each.original_tokens, budget_raw)
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
