"""Our notifications about MCP servers, and the sentences about those that need the user."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.lsp.features.feature import Feature

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.session import FolderSession


class McpNews(Feature):
    """Notifies an editor that has announced it takes our notifications, and tells every user once of a server that was
    given up, or waits for an approval."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._told: dict[Path, set[tuple[str, str, str]]] = {}
        """What the user was told of each folder: a server, its configuration, its state."""
        self._telling: dict[Path, asyncio.Handle] = {}
        """Notifications that are about to be sent: what changes at once is told once."""

    def on_session(self, session: FolderSession) -> None:
        if session.folder.root not in self._told:
            self._told[session.folder.root] = set()
            if session.folder.mcp.statuses():
                self.on_mcp_changed(session)

    def on_mcp_changed(self, session: FolderSession) -> None:
        root = session.folder.root
        if root not in self._telling:
            self._telling[root] = asyncio.get_running_loop().call_soon(self._tell, session)

    def _tell(self, session: FolderSession) -> None:
        from palimpsest.lsp.features.mcp import to_servers
        from palimpsest.services.mcp.server import ServerState

        root = session.folder.root
        self._telling.pop(root, None)
        if self._server.is_leaving or root not in self._told:
            return
        if self._server.hears_changes:
            self._server.protocol.notify("palimpsest/didChangeMcpServers", to_servers(self._server, session))
        for status in session.folder.mcp.statuses():
            config, state = status.config, status.state
            key = (config.name, config.fingerprint, state.value)
            if state is ServerState.READY:
                self._told[root].discard((config.name, config.fingerprint, ServerState.FAILED.value))
            if state not in (ServerState.FAILED, ServerState.UNAPPROVED) or key in self._told[root]:
                continue
            self._told[root].add(key)
            if state is ServerState.FAILED:
                self._server.warn(f"The MCP server {config.name} does not run. {status.sentence}")
            else:
                self._server.warn(
                    f"{config.origin.value} of {root.name} asks for the MCP server {config.name}. Nothing was started. "
                    "To look at its command, and to allow or refuse it, type `/mcp` in a chat."
                )

    def on_left(self, root: Path) -> None:
        self._told.pop(root, None)

    async def on_stop(self) -> None:
        for handle in self._telling.values():
            handle.cancel()
