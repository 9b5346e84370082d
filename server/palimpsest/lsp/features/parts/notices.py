"""What the user of one connection was told once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.features.feature import Feature

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.session import FolderSession


class Notices(Feature):
    """What the user knows, so that nothing is said twice."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self._told: dict[Path, tuple[str, ...]] = {}
        """What the user knows about each folder's settings."""
        self._offered: set[ConversationId] = set()
        """Conversations that only search, whose user knows that a model is set up now."""

    def on_session(self, session: FolderSession) -> None:
        """Tells what is to be known about the folder's settings, each thing once as long as it is so: what is so of
        several folders, such as a misspelt variable, once for all of them."""
        told = {note for notes in self._told.values() for note in notes}
        self._told[session.folder.root] = session.notes
        for note in session.notes:
            if note not in told:
                self._server.warn(note)

    def on_left(self, root: Path) -> None:
        self._told.pop(root, None)

    def is_first_offer(self, conversation_id: ConversationId) -> bool:
        """Whether the user was not told yet that a model could answer in the conversation. From now on they were."""
        is_first = conversation_id not in self._offered
        self._offered.add(conversation_id)
        return is_first
