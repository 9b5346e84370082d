"""Resources of MCP servers that a message mentions, as `@SERVER:URI`: each becomes an attachment of the message."""

from __future__ import annotations

import re
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.mcp.content import to_text
from palimpsest.domain.mcp.offered import OfferedResource
from palimpsest.services.chat.attachments import Snapshot, text_snapshot
from palimpsest.services.mcp.server import McpServer
from palimpsest.services.mcp.servers import McpServers

MAX_RESOURCES: Final = 20
"""The most resources of one message. Further ones stay plain text."""
_MENTION: Final = re.compile(r"(?:^|[\s(\[{,;])@([A-Za-z][A-Za-z0-9_-]*):([^\s\"]+)")
_ENDS: Final = ".,;:!?)]}"


def offered_resources(servers: McpServers) -> list[tuple[McpServer, OfferedResource]]:
    """The resources that a message can mention now, by server."""
    return [(server, resource) for server in servers.running() for resource in server.status.offer.resources]


async def mentioned_resources(servers: McpServers, message: str) -> list[Snapshot]:
    """Snapshots of the resources that a message mentions, once each. One that its server lists and cannot be read is a
    problem; anything else that looks like a mention and is none stays plain text."""
    running = {server.config.name: server for server in servers.running()}
    if not running:
        return []
    found: dict[tuple[str, str], Snapshot] = {}
    for name, written in _MENTION.findall(message):
        if (server := running.get(name)) is None or len(found) >= MAX_RESOURCES:
            continue
        listed = {each.uri for each in server.status.offer.resources}
        uri = written if written in listed else written.rstrip(_ENDS)
        if (name, uri) in found:
            continue
        label = f"{name}:{uri}"
        try:
            found[name, uri] = text_snapshot(label, to_text(name, await server.read(uri)))
        except InvalidRequest as error:
            if uri in listed:
                found[name, uri] = Snapshot(label, problem=str(error))
    return list(found.values())
