"""The state that one connection keeps for a feature, with hooks for events."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.domain.messages import ConversationId
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.events import ContextEvent, MovedApart
    from palimpsest.services.folder.folders import Folders
    from palimpsest.services.folder.session import FolderSession


class Feature:
    """A part of a connection (`server.part`). A subclass overrides the hooks that it needs.

    The connection calls each hook on its parts in one order, `on_stop` in the reverse order. Only `settled` and
    `on_stop` await anything: while another hook goes through the parts, nothing else happens on the loop.
    """

    def __init__(self, server: PalimpsestServer) -> None:
        """Creates the part with its connection, before `initialize` is answered. No service is imported yet."""
        self._server = server

    async def settled(self) -> None:
        """Returns when this part allows the use of services. Awaited before each use."""

    def on_folders(self, folders: Folders) -> None:
        """Called before each use of the services, so it must be cheap."""

    def roots(self) -> Iterable[Path]:
        """The folders that the connection must hold for this part even when the editor has closed them."""
        return ()

    def on_session(self, session: FolderSession) -> None:
        """Called at each use of a folder that the connection holds, so it must be cheap. `session.folder` is another
        object when the folder was opened anew since the last call."""

    def on_context_event(self, session: FolderSession, event: ContextEvent) -> None:
        """Called for each event of a context in a folder that the connection uses."""

    def on_conversation_changed(self, session: FolderSession, conversation_id: ConversationId) -> None:
        """Called when messages, model or cut of a conversation in such a folder have changed."""

    def on_facts_changed(self, session: FolderSession) -> None:
        """Called when facts of such a folder, or the condition of their places, have changed."""

    def on_moved_apart(self, session: FolderSession, event: MovedApart) -> None:
        """Called when messages of a shared conversation in such a folder moved into a fork."""

    def on_hub_changed(self, session: FolderSession) -> None:
        """Called when the way of such a folder to the hub is in another state."""

    def on_mcp_changed(self, session: FolderSession) -> None:
        """Called when an MCP server of such a folder is in another state, or offers something else."""

    def on_presence_changed(self, session: FolderSession, conversation_id: ConversationId) -> None:
        """Called when somebody else began or ended to write a shared conversation of such a folder."""

    def on_left(self, root: Path) -> None:
        """Called when the connection no longer holds the folder. It may come back."""

    async def on_stop(self) -> None:
        """Called when the connection ends. No handler runs any more, but messages still reach the editor."""
