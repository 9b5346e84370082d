"""Our notifications about shared conversations and the way to the hub."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.domain.errors import PalimpsestError
from palimpsest.lsp.features.feature import Feature

if TYPE_CHECKING:
    from palimpsest.domain.messages import ConversationId
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.events import MovedApart
    from palimpsest.services.folder.session import FolderSession
    from palimpsest.wire.areas.sharing import HubStatus

log = logging.getLogger(__name__)


class SharingNews(Feature):
    """Notifies an editor that has announced it takes our notifications."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._told: dict[Path, HubStatus] = {}
        """What the editor was told of each folder last."""
        self._telling: set[asyncio.Task[None]] = set()

    def on_hub_changed(self, session: FolderSession) -> None:
        from palimpsest.lsp.features.sharing import to_status

        if not self._server.hears_changes:
            return
        status, root = to_status(self._server, session), session.folder.root
        if self._told.get(root) != status:
            self._told[root] = status
            self._server.protocol.notify("palimpsest/didChangeHub", status)

    def on_presence_changed(self, session: FolderSession, conversation_id: ConversationId) -> None:
        from palimpsest.lsp.to_wire import to_writer
        from palimpsest.wire.areas.sharing import PresenceChangedParams

        if self._server.hears_changes:
            writing = session.folder.sharing.writing(conversation_id)
            params = PresenceChangedParams(conversation_id, None if writing is None else to_writer(writing))
            self._server.protocol.notify("palimpsest/didChangePresence", params)

    def on_moved_apart(self, session: FolderSession, event: MovedApart) -> None:
        if self._server.hears_changes:
            task = asyncio.create_task(self._tell_moved(session, event))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _tell_moved(self, session: FolderSession, event: MovedApart) -> None:
        from palimpsest.wire.areas.sharing import MovedApartParams

        try:
            pages = [await session.conversations.read(each, None, 1) for each in (event.conversation_id, event.fork_id)]
        except PalimpsestError as error:
            log.warning("messages that moved apart could not be reported: %s", error.kind)
            return
        titles = [each.record.title for each in pages]
        params = MovedApartParams(event.conversation_id, titles[0], event.fork_id, titles[1], event.at)
        self._server.protocol.notify("palimpsest/didMoveApart", params)

    def on_left(self, root: Path) -> None:
        self._told.pop(root, None)

    async def on_stop(self) -> None:
        for each in self._telling:
            each.cancel()
