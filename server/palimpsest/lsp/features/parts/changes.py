"""Our notifications about events in the folders of one connection."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from palimpsest.domain.errors import PalimpsestError
from palimpsest.lsp.features.feature import Feature

if TYPE_CHECKING:
    from palimpsest.domain.messages import ConversationId
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.events import ContextEvent
    from palimpsest.services.folder.session import FolderSession

log = logging.getLogger(__name__)

T = TypeVar("T")


class Changes(Feature):
    """Notifies an editor that has announced it takes our notifications."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._changed: dict[tuple[Path, ConversationId], None] = {}
        """The conversations that have changed since the last notification, in order; likewise `_facts_changed`."""
        self._facts_changed: dict[Path, None] = {}
        self.telling: asyncio.Task[None] | None = None

    def on_context_event(self, session: FolderSession, event: ContextEvent) -> None:
        from palimpsest.lsp.to_wire import to_context_event

        if self._server.hears_changes:
            self._server.protocol.notify("palimpsest/contextEvent", to_context_event(event))

    def on_conversation_changed(self, session: FolderSession, conversation_id: ConversationId) -> None:
        if self._server.hears_changes:
            self._changed[session.folder.root, conversation_id] = None
            self._wake()

    def on_facts_changed(self, session: FolderSession) -> None:
        if self._server.hears_changes:
            self._facts_changed[session.folder.root] = None
            self._wake()

    def _wake(self) -> None:
        if self.telling is None or self.telling.done():
            self.telling = asyncio.create_task(self._tell())

    def on_left(self, root: Path) -> None:
        self._facts_changed.pop(root, None)
        self._changed = {each: None for each in self._changed if each[0] != root}

    async def on_stop(self) -> None:
        if self.telling is not None:
            self.telling.cancel()

    async def _tell(self) -> None:
        """Notifies of changed facts and conversations, once each however often it changed meanwhile."""
        from palimpsest.lsp.features.facts.requests import changed_params
        from palimpsest.lsp.to_wire import to_usage
        from palimpsest.services.context.reports import usage_status
        from palimpsest.wire.areas.usage import ConversationChangedParams, UsageChangedParams

        server = self._server
        folders = await server.folders()
        while (self._facts_changed or self._changed) and not server.is_leaving:
            if self._facts_changed:
                session = await folders.get(_first(self._facts_changed))
                server.protocol.notify("palimpsest/didChangeFacts", await changed_params(server, session))
                continue
            root, conversation_id = _first(self._changed)
            try:
                session = await folders.get(root)
                report = await usage_status(session.contexts, conversation_id)
                seq = await session.conversations.change_seq(conversation_id)
            except PalimpsestError as error:
                log.warning("a change could not be reported: %s", error.kind)
                continue
            server.protocol.notify("palimpsest/didChangeConversation", ConversationChangedParams(conversation_id, seq))
            server.protocol.notify("palimpsest/didChangeUsage", UsageChangedParams(conversation_id, to_usage(report)))


def _first(waiting: dict[T, None]) -> T:
    """Removes and returns the key that was added first."""
    found = next(iter(waiting))
    del waiting[found]
    return found
