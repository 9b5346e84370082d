"""Streams to the editor: partial results of a turn, and work-done progress while a summary is written."""

from __future__ import annotations

from lsprotocol import types as lsp

from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.turns.journal import Numbered
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_delta
from palimpsest.services.events import ContextEvent, FolderEvent
from palimpsest.wire.areas.turns import TurnDelta
from palimpsest.wire.areas.usage import SUMMARIZING
from palimpsest.wire.codec.convert import to_json
from palimpsest.wording import counted

Token = int | str


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


class SummaryProgress:
    """Work-done progress for the summaries of one conversation. It begins with the first summary; a no-op without a
    token."""

    def __init__(self, ls: PalimpsestServer, token: Token | None, conversation_id: str) -> None:
        self._ls, self._token, self._conversation_id = ls, token, conversation_id
        self._has_begun = False

    def hear(self, event: FolderEvent) -> None:
        if not isinstance(event, ContextEvent) or event.conversation_id != self._conversation_id:
            return
        if event.strategy not in SUMMARIZING:
            return
        is_progress = event.type is ContextEventType.SUMMARIZATION_PROGRESS
        # A summary that was being written when the request came reports progress without a start.
        if (is_progress or event.type is ContextEventType.SUMMARIZATION_START) and not self._has_begun:
            self._has_begun = True
            self._report(lsp.WorkDoneProgressBegin(title="Summarizing older messages", percentage=0))
        if is_progress and event.total_items:
            done = event.items_processed or 0
            message = f"{done} of {counted(event.total_items, 'message')}"
            self._report(lsp.WorkDoneProgressReport(message=message, percentage=100 * done // event.total_items))

    def end(self) -> None:
        """Ends a progress that was begun. Call it before the answer is sent."""
        if self._has_begun:
            self._report(lsp.WorkDoneProgressEnd(message="The context is ready."))

    def _report(self, value: lsp.WorkDoneProgressBegin | lsp.WorkDoneProgressReport | lsp.WorkDoneProgressEnd) -> None:
        if self._token is not None:
            self._ls.progress(lsp.ProgressParams(self._token, value))
