"""`palimpsest export` and `palimpsest import`: composes a folder's session for one export or import."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from palimpsest.app.compose import load_folders
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId
from palimpsest.picking import SHOWN_OF_ID, picked
from palimpsest.printing import harmless_json, say
from palimpsest.services.conversation.transfer import Exported, Transfers
from palimpsest.wording import counted

T = TypeVar("T")


def configure_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "conversation",
        nargs="?",
        metavar="CONVERSATION",
        help="its number in the list, its id or title, or how these begin (without one: the list)",
    )
    parser.add_argument("--folder", type=Path, default=Path(), help="its folder (default: this one)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where to; only you can read it (default: stdout)")
    parser.add_argument("--overwrite", action="store_true", help="replace the file when it exists")
    parser.set_defaults(run=export_conversation)


def configure_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="JSON lines, plain or .xz")
    parser.add_argument("--folder", type=Path, default=Path(), help="the folder (default: this one)")
    parser.set_defaults(run=import_conversation)


def export_conversation(arguments: argparse.Namespace) -> int:
    """Writes the conversation that is meant to `output`, or to stdout; lists the conversations when none is named. The
    exit code. Raises PalimpsestError."""

    conversation, output = arguments.conversation, arguments.output

    async def export(transfers: Transfers) -> Exported | None:
        known = [record for record, _ in await transfers.conversations.list()]
        if conversation is None:
            say(*_lines(known))
            return None
        conversation_id = _meant(conversation, known)
        if output is None:
            return await transfers.export(conversation_id)
        return await transfers.export_to(conversation_id, output, overwrites=arguments.overwrite)

    exported = asyncio.run(_with(arguments.folder.resolve(), os.environ, export))
    if exported is not None and output is None:
        sys.stdout.buffer.write(harmless_json(exported.text).encode())
        sys.stdout.flush()
    elif exported is not None:
        say(f"Exported {counted(exported.n_messages, 'message')} ({counted(exported.size_bytes, 'byte')}) to {output}.")
    return 0


def _meant(written: str, known: Sequence[ConversationRecord]) -> ConversationId:
    """Raises NotFound or InvalidRequest where it is not one of them."""
    places = picked(written, [(record.id, record.title) for record in known])
    if not places:
        raise NotFound(f"No conversation of this folder is called {written!r}. `palimpsest export` lists them.")
    if len(places) > 1:
        lines = "\n".join(line for place, line in enumerate(_lines(known)) if place in places)
        raise InvalidRequest(f"Several conversations begin so. Name one of them by its number or id:\n{lines}")
    return known[places[0]].id


def _lines(known: Sequence[ConversationRecord]) -> list[str]:
    """The conversations as a person may name them, in the order and with the numbers of `/list`."""
    return [
        f"{number:>3}  {record.id[:SHOWN_OF_ID]}  {record.title or 'untitled'}"
        f" ({counted(record.n_messages, 'message')})"
        for number, record in enumerate(known, 1)
    ] or ["There is no conversation in this folder."]


def import_conversation(arguments: argparse.Namespace) -> int:
    """Imports the file and prints the conversation's id. The exit code. Raises PalimpsestError."""
    root, file = arguments.folder.resolve(), arguments.file
    imported = asyncio.run(_with(root, os.environ, lambda transfers: transfers.import_file(file)))
    say(imported.note, imported.record.id)
    return 0


async def _with(root: Path, environ: Mapping[str, str], do: Callable[[Transfers], Awaitable[T]]) -> T:
    folders = load_folders(environ)
    try:
        session = await folders.get(root)
        return await do(Transfers(session.conversations))
    finally:
        await folders.close()
