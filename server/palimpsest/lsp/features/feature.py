"""What one connection holds of a feature for as long as it lasts, and when it is told of something."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.events import FolderEvent
    from palimpsest.services.folder.folders import Folders
    from palimpsest.services.folder.session import FolderSession


class Feature:
    """A part of a connection (`server.part`). A hook that it does not need it leaves as it is here.

    The connection holds its parts in one order and calls each hook in that order, `on_stop` in the reverse one. But for
    `settled` and `on_stop` a hook awaits nothing: between the first part that hears of something and the last one,
    nothing else happens on the loop.
    """

    def __init__(self, server: PalimpsestServer) -> None:
        """Made with the connection, before `initialize` is answered: no service is there yet, and none is imported."""
        self._server = server

    async def settled(self) -> None:
        """Returns when the services may be used as far as this part is concerned. Awaited before each use."""

    def on_folders(self, folders: Folders) -> None:
        """The services are about to be used. Called each time, so it must be cheap."""

    def roots(self) -> Iterable[Path]:
        """Folders that the connection must hold for this part although the editor may have closed them."""
        return ()

    def on_session(self, session: FolderSession) -> None:
        """The connection uses a folder that it holds. Called each time, so it must be cheap. The folder may have been
        opened anew since the last time (`session.folder` is another object then)."""

    def on_event(self, session: FolderSession, event: FolderEvent) -> None:
        """Something happened in a folder that the connection uses."""

    def on_left(self, root: Path) -> None:
        """The connection holds the folder no more. It may come back."""

    async def on_stop(self) -> None:
        """The connection ends. No handler runs any more, and the editor can still be told something."""
