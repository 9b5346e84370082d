"""Streams to the editor: partial results of a turn, and work-done progress while a request is prepared."""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.turns.journal import Numbered
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_delta
from palimpsest.services.events import ContextEvent, FolderEvent, RulesProgress
from palimpsest.wire.areas.turns import TurnDelta
from palimpsest.wire.areas.usage import SUMMARIZING
from palimpsest.wire.codec.convert import to_json
from palimpsest.wording import counted

Token = int | str
_SUMMARIZING: Final = (ContextEventType.SUMMARIZATION_START, ContextEventType.SUMMARIZATION_PROGRESS)


class DeltaStream:
    """Sends the deltas of one turn on a partial result token. A no-op without a token."""

    def __init__(self, ls: PalimpsestServer, token: Token | None) -> None:
        self._ls, self._token = ls, token

    def send(self, delta: TurnDelta) -> None:
        """Sends a delta as JSON values, without the converter: there are many deltas."""
        if self._token is not None:
            self._ls.protocol.notify("$/progress", {"token": self._token, "value": to_json(delta)})

    def show(self, numbered: Numbered) -> None:
        if (delta := to_delta(numbered)) is not None:
            self.send(delta)


class ContextProgress:
    """Work-done progress for what the next request of one conversation waits for: summaries, and the end of a long
    conversation that is looked through for rules. It begins with the first of these; a no-op without a token."""

    def __init__(self, ls: PalimpsestServer, token: Token | None, conversation_id: str) -> None:
        self._ls, self._token, self._conversation_id = ls, token, conversation_id
        self._has_begun = False

    def hear(self, event: FolderEvent) -> None:
        if isinstance(event, RulesProgress) and event.conversation_id == self._conversation_id:
            self._show("looking for your rules", event.n_read, event.n_messages)
        elif isinstance(event, ContextEvent) and event.conversation_id == self._conversation_id:
            # A summary that was being written when the request came reports progress without a start.
            if event.strategy in SUMMARIZING and event.type in _SUMMARIZING:
                self._show("summarizing older messages", event.items_processed or 0, event.total_items)

    def end(self) -> None:
        """Ends a progress that was begun. Call it before the answer is sent."""
        if self._has_begun:
            self._report(lsp.WorkDoneProgressEnd(message="The context is ready."))

    def _show(self, what: str, n_done: int, n_messages: int | None) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._report(lsp.WorkDoneProgressBegin(title="Preparing the context", message=what, percentage=0))
        if n_messages:
            message = f"{what}, {n_done:,} of {counted(n_messages, 'message')}"
            self._report(lsp.WorkDoneProgressReport(message=message, percentage=100 * n_done // n_messages))

    def _report(self, value: lsp.WorkDoneProgressBegin | lsp.WorkDoneProgressReport | lsp.WorkDoneProgressEnd) -> None:
        if self._token is not None:
            self._ls.progress(lsp.ProgressParams(self._token, value))
