"""The tools of a folder's servers, as the model may call them.

Each call needs the user's approval, unless the user marked the server as trusted and the server says that the tool only
reads. What a server answers is somebody else's text, and is marked so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.mcp.content import Block, Media, pictures_of, to_text
from palimpsest.domain.mcp.offered import OfferedTool, tool_request
from palimpsest.services.mcp.connection import McpFailure
from palimpsest.services.mcp.servers import McpServers
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.arguments import read_object
from palimpsest.services.tools.toolbox import Tool, ToolOutput, TurnScope
from palimpsest.services.workspace.pictures import Picture, take


@dataclass(frozen=True, slots=True)
class McpTools:
    """The tools that the servers of one folder offer now."""

    servers: McpServers
    approvals: Approvals

    def __call__(self, scope: TurnScope) -> Sequence[Tool]:
        found: list[Tool] = []
        for server in self.servers.running():
            for tool in server.status.offer.tools:
                call = _Call(self, scope, server.config, tool)
                found.append(Tool(tool.schema, call.run, call.is_free))
        return found


@dataclass(frozen=True, slots=True)
class _Call:
    offered: McpTools
    scope: TurnScope
    config: ServerConfig
    tool: OfferedTool

    @property
    def is_free(self) -> bool:
        """Whether it runs without asking."""
        return self.config.is_trusted and self.tool.is_read_only

    async def run(self, text: str) -> ToolOutput:
        name, server_name = self.tool.schema.name, self.config.name
        arguments = read_object(text)
        if not self.is_free:
            shown = json.dumps(arguments, ensure_ascii=False, indent=2)
            await self.offered.approvals.require(self.scope, tool_request(self.config, name, shown))
        # The server is looked up after the wait: it may have been stopped, or be another one.
        server = self.offered.servers.find(self.config)
        if server is None:
            raise InvalidRequest(f"The MCP server {server_name} is not used any more. Go on without it.")
        try:
            answer = await server.call(self.tool, arguments, self._say)
        except McpFailure as failure:
            unknown = (
                ""
                if self.tool.is_read_only
                else " It is unknown whether the call took effect: check before you repeat it."
            )
            return ToolOutput(f"The MCP server {server_name}: {failure}{unknown}", is_error=True)
        taken = await asyncio.to_thread(_pictures, name, answer.blocks)
        text = to_text(server_name, answer.blocks, [media for media, _ in taken])
        return ToolOutput(text, answer.is_error, tuple(picture for _, picture in taken))

    def _say(self, line: str) -> None:
        self.scope.say(f"{line}\n")


MAX_PICTURES: Final = 8
"""The most pictures of one answer that are shown."""


def _pictures(tool_name: str, blocks: Sequence[Block]) -> list[tuple[Media, Picture]]:
    """The pictures of an answer, as far as they are any."""
    found: list[tuple[Media, Picture]] = []
    for number, media in enumerate(pictures_of(blocks)[:MAX_PICTURES], start=1):
        with contextlib.suppress(InvalidRequest):
            found.append((media, take(media.uri or f"{tool_name} {number}", media.data)))
    return found
