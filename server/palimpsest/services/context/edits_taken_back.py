"""What a turn is told of edits that the model made and the user took back since: behind the turn's own message, once,
and again where a compaction dropped that and the edits themselves are still told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from palimpsest.domain.approvals import visible
from palimpsest.domain.context.cut import MessagePiece
from palimpsest.services.context.state import ContextState
from palimpsest.storage import file_changes
from palimpsest.storage.store import Store

HEAD: Final = (
    "[Edits taken back]\nThe user accepted these edits of yours and took them back since. Read a file again before you "
    "change it, and do not make such an edit again unless the user asks for it:"
)
MAX_EDITS: Final = 50
"""The most edits that one turn is told of, the newest ones."""


async def news_of_edits(store: Store, state: ContextState) -> str:
    """The edits taken back whose messages the context holds, without those that it tells of already; empty for none."""
    taken_back = await store.read(file_changes.taken_back, state.id)
    if not taken_back:
        return ""
    live = {piece.message.id for piece in _messages(state)}
    told = {line for piece in _messages(state) for line in piece.injection.splitlines()}
    lines = [f"- {visible(each.path)} (edit {each.number})" for each in taken_back if each.message_id in live]
    news = [line for line in lines if line not in told][-MAX_EDITS:]
    return "\n".join([HEAD, *news]) if news else ""


def _messages(state: ContextState) -> Iterator[MessagePiece]:
    return (piece for piece in state.pieces if isinstance(piece, MessagePiece))
