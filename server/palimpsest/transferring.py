"""`palimpsest export` and `palimpsest import`: composes a folder's session for one export or import."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from palimpsest.app import load_folders
from palimpsest.domain.messages import ConversationId
from palimpsest.printing import harmless_json, say
from palimpsest.services.transfers import Transfers

T = TypeVar("T")


def export_conversation(
    conversation: str, folder: Path, output: Path | None, environ: Mapping[str, str], *, overwrites: bool
) -> int:
    """Writes the conversation to `output`, or to stdout. The exit code. Raises PalimpsestError."""
    conversation_id = ConversationId(conversation)
    if output is None:
        exported = asyncio.run(_with(folder.resolve(), environ, lambda transfers: transfers.export(conversation_id)))
        sys.stdout.buffer.write(harmless_json(exported.text).encode())
        sys.stdout.flush()
        return 0
    exported = asyncio.run(
        _with(
            folder.resolve(),
            environ,
            lambda transfers: transfers.export_to(conversation_id, output, overwrites=overwrites),
        )
    )
    say(f"{exported.n_messages} messages ({exported.size_bytes} bytes) were exported to {output}.")
    return 0


def import_conversation(file: Path, folder: Path, environ: Mapping[str, str]) -> int:
    """Imports the file and prints the conversation's id. The exit code. Raises PalimpsestError."""
    imported = asyncio.run(_with(folder.resolve(), environ, lambda transfers: transfers.import_file(file)))
    say(imported.note, imported.record.id)
    return 0


async def _with(root: Path, environ: Mapping[str, str], do: Callable[[Transfers], Awaitable[T]]) -> T:
    folders = load_folders(environ)
    try:
        session = await folders.get(root)
        return await do(Transfers(session.conversations))
    finally:
        await folders.close()
