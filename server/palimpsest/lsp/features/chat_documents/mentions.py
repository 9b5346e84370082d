"""Slash commands and mentioned files in the message of a chat document."""

from __future__ import annotations

import re
from typing import Final

from palimpsest.lsp.features.attachments import snapshots_of
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.chat.attachments import Snapshot
from palimpsest.services.chat.resources import mentioned_resources
from palimpsest.services.folder.session import FolderSession
from palimpsest.wire.areas.attachments import Attachment, AttachmentType

_COMMAND: Final = re.compile(r"/(?:[A-Za-z]+|[A-Za-z][A-Za-z0-9_-]*:\S+)(?:\s.*)?", re.DOTALL)
_MENTION: Final = re.compile(r"(?:^|[\s(\[{,;])@(?:\"([^\"\n]+)\"|([^\s\"]+))")
_MOST: Final = 20


def is_command(message: str) -> bool:
    """Whether the message is a slash and a word, or the prompt of an MCP server, `/SERVER:PROMPT`. A path, or a slash
    behind a blank, is an ordinary message."""
    return _COMMAND.fullmatch(message) is not None


async def attached(ls: PalimpsestServer, session: FolderSession, message: str) -> list[Snapshot]:
    """Snapshots of the files and resources mentioned by `@`, once each, at most 20 of each kind. A mention that cannot
    be attached stays plain text."""
    named = dict.fromkeys(quoted or plain.rstrip(".,;:!?)]}") for quoted, plain in _MENTION.findall(message))
    wanted = [Attachment(type=AttachmentType.FILE, path=path) for path in named if path][:_MOST]
    found = await snapshots_of(ls, session, wanted) if wanted else []
    found += await mentioned_resources(session.folder.mcp, message)
    return [each for each in found if each.problem is None]
