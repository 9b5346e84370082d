"""The server process: it serves one client over stdin and stdout, and ends with the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from palimpsest.domain.errors import NotFound
from palimpsest.mcp_server.server import build_server
from palimpsest.services.folder.folders import Folders
from palimpsest.services.folder.session import FolderSession


def run(load_folders: Callable[[], Folders], folder: Path) -> int:
    """Serve until the client has left. Returns the exit code. Raises NotFound when there is no such folder."""
    root = folder.resolve()
    if not root.is_dir():
        raise NotFound(f"{root} is not a folder. Name another one.")
    return asyncio.run(_serve(load_folders, root))


async def _serve(load_folders: Callable[[], Folders], root: Path) -> int:
    """The folder is opened by the first call of a tool, so a client that only lists the tools does not wait for it."""
    loading: asyncio.Task[Folders] | None = None

    async def open_folder() -> FolderSession:
        nonlocal loading
        if loading is None:
            loading = asyncio.create_task(asyncio.to_thread(load_folders))
        folders = await asyncio.shield(loading)
        return await folders.get(root)

    try:
        # Takes stdin and stdout for the protocol alone.
        await build_server(open_folder).run_stdio_async()
    finally:
        if loading is not None:
            opened = (await asyncio.gather(loading, return_exceptions=True))[0]
            if isinstance(opened, Folders):
                await opened.close()
    return 0
