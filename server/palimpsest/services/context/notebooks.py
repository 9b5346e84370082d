"""The notebooks of conversations, read as their messages come, and asked on a thread.

A notebook follows from the visible messages alone. It is made anew where messages were hidden since, so nothing hidden
is ever chosen from it.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from palimpsest.domain.context.cut import MessagePiece, Piece, SummaryPiece
from palimpsest.domain.context.notebook.names import names_in
from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.notebook.selection import IN_BLOCK, IN_LINE, IN_LIVE
from palimpsest.domain.context.notebook.step_note import StepNote, step_note
from palimpsest.domain.context.summaries.hybrid import split_prose
from palimpsest.domain.context.summaries.node import EXTRACTIVE, HYBRID, Summary
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.services.background import Background
from palimpsest.services.context.state import ContextState
from palimpsest.storage.conversation import message_log
from palimpsest.storage.store import Store

MAX_NOTEBOOKS: Final = 32
"""Held in memory; the longest unused makes room."""
KEPT_WHOLE: Final = 1_000
"""The newest messages of a conversation, whose entries are kept as they were read. Of older messages the notebook keeps
what their block tells, once it holds twice as many: reading a message takes about a millisecond, and a conversation of
many thousand messages is opened without reading them all."""
_MANY: Final = 300
"""Messages that a step does not wait for."""

PAGED: Final = (EXTRACTIVE, HYBRID)
"""The kinds of summaries that hold a page."""

T = TypeVar("T")


@dataclass(slots=True)
class _Kept:
    """A notebook with what it was made for."""

    book: Notebook
    tokenizer: str
    last_hidden: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while a thread reads or chooses, also for a caller who is gone."""

    def is_for(self, state: ContextState) -> bool:
        """Whether the notebook holds nothing that the state hides, and counts as the state does."""
        return (self.tokenizer, self.last_hidden) == (state.tokenizer.name, state.last_hidden)

    def answer(
        self, pages: Sequence[Summary], messages: Iterable[StoredMessage], question: Callable[[Notebook], T]
    ) -> T:
        """`pages`: in whose place the oldest entries go, together up to where whole entries begin."""
        with self.lock:
            for each in pages:
                self.book.read_back(each.text, each.start, each.end)
            for message in messages:
                self.book.read(message.id, message.content)
            return question(self.book)


@dataclass(slots=True)
class Notebooks:
    """Of one store's conversations."""

    store: Store
    background: Background
    _kept: dict[ConversationId, _Kept] = field(default_factory=dict)
    """The last used is last."""
    _catching_up: set[ConversationId] = field(default_factory=set)
    """Those whose many unread messages are read in the background."""

    async def ask(self, state: ContextState, question: Callable[[Notebook], T]) -> T:
        """What `question` makes of the conversation's notebook, all messages of the state read; on a thread."""
        kept = self._kept.pop(state.id, None)
        if kept is None or not kept.is_for(state):
            kept = _Kept(Notebook(state.tokenizer.count), state.tokenizer.name, state.last_hidden)
        self._kept[state.id] = kept
        while len(self._kept) > MAX_NOTEBOOKS:
            del self._kept[next(iter(self._kept))]
        pages = _pages(state) if self._is_long(kept, state) else ()
        first = max([kept.book.n_read, *(page.end for page in pages)])
        messages = await self._unread(state, MessageId(first))
        return await asyncio.to_thread(kept.answer, pages, messages, question)

    @staticmethod
    def _is_long(kept: _Kept, state: ContextState) -> bool:
        n_unread = state.n_messages - kept.book.n_read
        return len(kept.book.entries) + n_unread > 2 * KEPT_WHOLE

    async def note(self, state: ContextState, since: int, room_tokens: int) -> StepNote:
        """The note for a step whose new messages are those from `since` on, in `room_tokens` (raw)."""
        if self._n_unread(state) > _MANY:
            self.catch_up(state)
            return StepNote()
        live = {piece.message.id for piece in state.pieces if isinstance(piece, MessagePiece) and piece.preview is None}

        noted = {line for piece in state.pieces if isinstance(piece, MessagePiece) for line in piece.note.splitlines()}

        def choose(book: Notebook) -> StepNote:
            told = told_by(book, state.pieces, in_live=IN_LINE)
            return step_note(book, since, told, live, state.budget_raw, room_tokens, noted)

        return await self.ask(state, choose) if room_tokens > 0 else StepNote()

    def catch_up(self, state: ContextState) -> None:
        """Reads the messages that were not read yet in the background, so that whoever asks later need not wait."""
        if self._n_unread(state) and state.id not in self._catching_up:
            self._catching_up.add(state.id)
            self.background.start(state.id, self._catch_up(state))

    def _n_unread(self, state: ContextState) -> int:
        kept = self._kept.get(state.id)
        return state.n_messages - (0 if kept is None or not kept.is_for(state) else kept.book.n_read)

    async def _catch_up(self, state: ContextState) -> None:
        try:
            await self.ask(state, lambda _: None)
        finally:
            self._catching_up.discard(state.id)

    async def _unread(self, state: ContextState, first: MessageId) -> Sequence[StoredMessage]:
        """The visible messages from `first` on, ascending."""
        if first >= state.n_messages:
            return ()
        ends = [piece.end for piece in state.pieces if isinstance(piece, SummaryPiece)]
        if first >= max([*ends, *(end for _, end in state.cut.left_out)], default=0):
            lives = (piece.message for piece in state.pieces if isinstance(piece, MessagePiece))
            return [message for message in lives if message.id >= first]

        return await self.store.search(message_log.read_visible, state.id, first, MessageId(state.n_messages))


def _pages(state: ContextState) -> Sequence[Summary]:
    """The blocks whose pages stand for all but the newest messages, each cut to where whole entries begin; none where
    other than pages stand for them."""
    end = MessageId(state.n_messages - KEPT_WHOLE)
    blocks = [piece.summary for piece in state.pieces if isinstance(piece, SummaryPiece) and piece.start < end]
    position = 0
    for block in blocks:
        if block.start != position or block.kind not in PAGED:
            return ()
        position = block.end
    return [replace(block, end=min(block.end, end)) for block in blocks] if position >= end else ()


def told_by(book: Notebook, pieces: Iterable[Piece], *, in_live: float = IN_LIVE) -> dict[str, float]:
    """How well the pieces of a context tell each name, by key. `in_live`: how well a message that is sent does."""
    told: dict[str, float] = {}
    for piece in pieces:
        level = IN_BLOCK if isinstance(piece, SummaryPiece) else in_live
        for name in _names_of(book, piece):
            if told.get(name, 0.0) < level:
                told[name] = level
        if isinstance(piece, MessagePiece):
            for text in filter(None, (piece.injection, piece.note)):
                told.update((name, in_live) for name in _names_in(text) if told.get(name, 0.0) < in_live)
    return told


def _names_of(book: Notebook, piece: Piece) -> Iterable[str]:
    if isinstance(piece, SummaryPiece):
        return _names_in_page(piece.summary.text)
    entry = book.entries.get(piece.message.id)
    if piece.preview is None and entry is not None:
        return entry.names
    shown = piece.message.content if piece.preview is None else piece.preview
    texts = [shown.text, *(result.text for result in shown.results), *(call.arguments for call in shown.calls)]
    return frozenset[str]().union(*map(_names_in, texts))


@functools.lru_cache(maxsize=512)
def _names_in(text: str) -> frozenset[str]:
    """Of what stands beside messages or in their place: it is the same at every step until the next cut."""
    return frozenset(names_in(text))


@functools.lru_cache(maxsize=64)
def _names_in_page(text: str) -> frozenset[str]:
    """Without those in the prose of a hybrid summary, which no check can know to be told truly."""
    return frozenset(names_in(split_prose(text)[0]))
