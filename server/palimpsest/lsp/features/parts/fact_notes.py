"""The diagnostics that were sent to the editor of one connection, and their updates.

Editors that can pull are asked to pull again. Others are sent the changed documents one by one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from palimpsest.lsp.abilities import pulls_diagnostics, refreshes_diagnostics, refreshes_lenses
from palimpsest.lsp.features.feature import Feature
from palimpsest.lsp.places import kept_sessions
from palimpsest.lsp.runtime.documents import open_document

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.session import FolderSession

_DEBOUNCE_S: Final = 0.15
"""The seconds from the last key press to a push."""


class FactNotes(Feature):
    """Updates the diagnostics of one connection's editor."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._told: dict[str, str] = {}
        """The digest of the diagnostics last pushed, by document."""
        self._touched: set[str] = set()
        self.pushing: asyncio.Task[None] | None = None
        self._is_stopped = False

    def touch(self, uri: str) -> None:
        """Reports that the document may have changed."""
        if not pulls_diagnostics(self._server) and uri.startswith("file:"):
            self._touched.add(uri)
            self._wake(_DEBOUNCE_S)

    def on_facts_changed(self, session: FolderSession) -> None:
        if self._is_stopped:
            return
        if not pulls_diagnostics(self._server):
            documents = self._server.workspace.text_documents.values()
            self._touched |= self._told.keys() | {each.uri for each in documents}
            self._touched.add(session.folder.root.as_uri())
            self._wake(0)
        elif refreshes_diagnostics(self._server):
            self._server.workspace_diagnostic_refresh(None)
        if refreshes_lenses(self._server):
            self._server.workspace_code_lens_refresh(None)

    def _wake(self, delay_s: float) -> None:
        if self.pushing is None or self.pushing.done():
            self.pushing = asyncio.create_task(self._push(delay_s))

    async def _push(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        while self._touched and not self._is_stopped:
            touched, self._touched = self._touched, set()
            sessions = await kept_sessions(self._server)
            if not sessions:
                await asyncio.wait({self._server.start_loading()})  # no request has waited for the services
            from palimpsest.lsp.features.contributions import diagnostics_of, digest_of
            from palimpsest.lsp.features.facts.diagnostics import stale_documents

            for session in sessions:
                if session.folder.root.as_uri() in touched:
                    touched |= await stale_documents(self._server, session)
            for uri in sorted(touched):
                items = await diagnostics_of(self._server, uri)
                digest = digest_of(items)
                if digest == self._told.get(uri, digest_of([])) or self._is_stopped:
                    continue
                self._told[uri] = digest
                document = open_document(self._server.workspace, uri)
                version = None if document is None else document.version
                self._server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, items, version))

    async def on_stop(self) -> None:
        self._is_stopped = True
        if self.pushing is not None:
            self.pushing.cancel()
            await asyncio.gather(self.pushing, return_exceptions=True)
