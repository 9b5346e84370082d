"""Connections with servers of the Model Context Protocol, by the package of the extra `mcp`.

It is imported when the first configured server starts, and not before.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
from collections.abc import AsyncIterator

from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.machine.extras import Extra, missing
from palimpsest.services.mcp.connection import Connection, McpFailure


def is_installed() -> bool:
    """Whether the extra `mcp` is."""
    return importlib.util.find_spec("mcp") is not None


@contextlib.asynccontextmanager
async def connect(config: ServerConfig) -> AsyncIterator[Connection]:
    """See `services.mcp.connection.Connect`."""
    if not is_installed():
        raise McpFailure(missing(Extra.MCP), is_final=True)
    module = await asyncio.to_thread(importlib.import_module, "palimpsest.mcp_client.connection")
    async with module.connect(config) as connection:
        yield connection
