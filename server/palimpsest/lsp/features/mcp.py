"""`mcp/servers`, `mcp/approve`, `mcp/restart`."""

from __future__ import annotations

from palimpsest.lsp.places import folder_uri
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.mcp.prompts import Offered
from palimpsest.services.mcp.servers import McpServers as Servers
from palimpsest.wire.areas.mcp import (
    McpApproveParams,
    McpRestartParams,
    McpServerInfo,
    McpServers,
    McpServersParams,
    McpState,
)


async def list_servers(ls: PalimpsestServer, params: McpServersParams) -> McpServers:
    session = await ls.session(params.folder)
    await session.folder.mcp.refresh()
    return to_servers(ls, session)


async def approve(ls: PalimpsestServer, params: McpApproveParams) -> McpServers:
    session = await ls.session(params.folder)
    await session.folder.mcp.answer(params.name, params.fingerprint, is_approved=params.is_approved)
    return to_servers(ls, session)


async def restart(ls: PalimpsestServer, params: McpRestartParams) -> McpServers:
    session = await ls.session(params.folder)
    await session.folder.mcp.restart(params.name)
    return to_servers(ls, session)


def to_servers(ls: PalimpsestServer, session: FolderSession) -> McpServers:
    """The servers of the folder, as they are now."""
    servers = session.folder.mcp
    return McpServers(folder_uri(ls, session), _infos(servers), list(servers.problems))


def _infos(servers: Servers) -> list[McpServerInfo]:
    running = {each.config.name: each for each in servers.running()}
    return [
        McpServerInfo(
            name,
            McpState(status.state.value),
            status.config.origin.value,
            status.sentence,
            status.config.shown,
            status.config.fingerprint,
            [each.schema.name for each in status.offer.tools],
            [f"{name}:{each.uri}" for each in status.offer.resources],
            [Offered(running[name], each).usage for each in status.offer.prompts if name in running],
            list(status.offer.problems),
        )
        for status in servers.statuses()
        for name in [status.config.name]
    ]
