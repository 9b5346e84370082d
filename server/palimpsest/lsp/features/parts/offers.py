"""The offer to resolve broken-off answers, made at a folder's first use."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.lsp.features.feature import Feature

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.session import FolderSession


class Offers(Feature):
    """Tells the user of one connection about answers that broke off in a folder. Nothing waits for the user's
    choice."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._offered: dict[Path, asyncio.Task[None]] = {}

    def on_session(self, session: FolderSession) -> None:
        """Offers once a folder, while the connection holds it."""
        if session.folder.root in self._offered:
            return
        from palimpsest.lsp.features.recovery_offer import offer

        task = asyncio.create_task(offer(self._server, session), name="offer recovery")
        self._offered[session.folder.root] = task

    def on_left(self, root: Path) -> None:
        """Offers again when the folder is opened again."""
        if (offered := self._offered.pop(root, None)) is not None:
            offered.cancel()

    async def on_stop(self) -> None:
        for task in self._offered.values():
            task.cancel()
