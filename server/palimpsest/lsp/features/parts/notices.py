"""The notices that the user of one connection has been shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.lsp.features.feature import Feature

if TYPE_CHECKING:
    from palimpsest.domain.messages import ConversationId
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.events import MovedApart
    from palimpsest.services.folder.session import FolderSession


class Notices(Feature):
    """Shows each notice once."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._told: dict[Path, tuple[str, ...]] = {}
        """The notices about each folder's settings that the user has been shown."""
        self._offered: set[ConversationId] = set()
        """Conversations without a model whose user has been told that a model is available now."""

    def on_session(self, session: FolderSession) -> None:
        """Shows the notices about the folder's settings, each once while it holds. A notice that holds for several
        folders, such as a misspelled variable, is shown once for all of them."""
        told = {note for notes in self._told.values() for note in notes}
        self._told[session.folder.root] = session.notes
        for note in session.notes:
            if note not in told:
                self._server.warn(note)

    def on_moved_apart(self, session: FolderSession, event: MovedApart) -> None:
        if self._server.hears_changes:
            return  # `parts/sharing_news` tells the editor, which shows it with both titles
        self._server.warn(
            "Somebody else wrote a shared conversation while the hub was away from here. What you wrote meanwhile is "
            'kept in a fork of it, whose title ends in "(apart)".'
        )

    def on_left(self, root: Path) -> None:
        self._told.pop(root, None)

    def is_first_offer(self, conversation_id: ConversationId) -> bool:
        """Whether this is the first call for the conversation: the user must be told that a model can answer in it."""
        is_first = conversation_id not in self._offered
        self._offered.add(conversation_id)
        return is_first
