"""The files that messages in a folder may mention."""

from __future__ import annotations

from pathlib import Path

from palimpsest.lsp.features.parts.mentions import KnownMentions
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.chat.mentions import Mentions
from palimpsest.services.workspace.files import WorkspaceFiles


def mentions_of(ls: PalimpsestServer, root: Path) -> Mentions:
    """The mentionable files of a folder, kept until the connection leaves it."""
    known = ls.part(KnownMentions).known
    if root not in known:
        known[root] = Mentions(WorkspaceFiles(root))
    return known[root]
