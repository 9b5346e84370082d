"""The provider that answers when no model is set up: it searches, says so, and shows the places that it found.

It uses no network and no model, and makes nothing up: every sentence but the fixed ones (`domain/offline_texts`) comes
from a file, a message or a fact. The editor says once a conversation how to set up a model
(`services/models/offline_notice`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import ConversationId, Role
from palimpsest.domain.models.provider import Finished, StopReason, StreamEvent, TextDelta, TokenUsage
from palimpsest.domain.offline.places import Found, render
from palimpsest.domain.offline.question import search_terms

OFFLINE: Final = "offline"
"""The provider's name, and the model's."""

Find = Callable[[ConversationId, str], Awaitable[Found]]
"""Finds the places of the folder and the conversation that mention the words of a message."""

_BYTES_PER_TOKEN: Final = 4
_PIECE_CHARS: Final = 48


class OfflineProvider:
    """Answers the newest user message of a context with what `find` finds.

    Usage of the answer is counted as UTF-8 bytes / 4, rounded up. No tokens of the request are reported: nobody counted
    them, and a guess would teach the calibration nothing true.
    """

    name: Final = OFFLINE

    def __init__(self, find: Find) -> None:
        self._find = find

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        """Never longer than the context's `max_output_tokens`; OUTPUT_LIMIT when something had to be left out."""
        question = _newest_question(context)
        found = await self._find(context.conversation_id, question) if search_terms(question).telling else None
        answer, is_cut = render(found, context.max_output_tokens * _BYTES_PER_TOKEN)
        for start in range(0, len(answer), _PIECE_CHARS):
            yield TextDelta(answer[start : start + _PIECE_CHARS])
            await asyncio.sleep(0)  # lets others run; there is nothing to wait for
        usage = TokenUsage(output_tokens=-(-len(answer.encode()) // _BYTES_PER_TOKEN))
        yield Finished(StopReason.OUTPUT_LIMIT if is_cut else StopReason.END, usage)


def _newest_question(context: PreparedContext) -> str:
    """The newest message of the user. Summaries and injections have the user's role too, but are not the user's."""
    for segment in reversed(context.segments):
        if segment.type in ("message", "preview"):
            for content in reversed(segment.contents):
                if content.role is Role.USER:
                    return content.text
    return ""
