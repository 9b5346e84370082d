"""What a message in a chat document means beside its words: whether it is a command, and which files it names."""

from __future__ import annotations

import re
from typing import Final

from palimpsest.lsp.features.attachments import snapshots_of
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.chat.attachments import Snapshot
from palimpsest.services.folder.session import FolderSession
from palimpsest.wire.areas.attachments import Attachment, AttachmentType

_COMMAND: Final = re.compile(r"/[A-Za-z]+(?:\s.*)?", re.DOTALL)
_MENTION: Final = re.compile(r"(?:^|[\s(\[{,;])@(?:\"([^\"\n]+)\"|([^\s\"]+))")
_MOST: Final = 20


def is_command(message: str) -> bool:
    """A slash and a word; a path or a slash behind a blank is a message."""
    return _COMMAND.fullmatch(message) is not None


async def attached(ls: PalimpsestServer, session: FolderSession, message: str) -> list[Snapshot]:
    """The files that are mentioned by `@` and can be attached, once each. Any other `@` is just text."""
    named = dict.fromkeys(quoted or plain.rstrip(".,;:!?)]}") for quoted, plain in _MENTION.findall(message))
    wanted = [Attachment(type=AttachmentType.FILE, path=path) for path in named if path][:_MOST]
    return [each for each in await snapshots_of(ls, session, wanted) if each.problem is None] if wanted else []
