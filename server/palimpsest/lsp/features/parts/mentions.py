"""The files that messages of one connection may mention."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from palimpsest.lsp.features.feature import Feature

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.chat.mentions import Mentions


class KnownMentions(Feature):
    """The mentionable files of each folder. Every key press needs them, so they are kept for a few seconds."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self.known: dict[Path, Mentions] = {}

    def on_left(self, root: Path) -> None:
        self.known.pop(root, None)
