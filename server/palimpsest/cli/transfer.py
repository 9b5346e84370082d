"""`palimpsest export` and `palimpsest import`: one conversation of a folder."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from palimpsest.app.compose import load_folders
from palimpsest.cli.doctor import has_store
from palimpsest.cli.parser import examples, takes_folder
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId
from palimpsest.picking import SHOWN_OF_ID, picked
from palimpsest.printing import harmless_json, say
from palimpsest.services.conversation.pending_work import do_pending_work
from palimpsest.services.conversation.transfer import Exported, Transfers
from palimpsest.wording import counted

T = TypeVar("T")


def configure_export(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a conversation to a file, or print it. `palimpsest import` reads it again, here or on another machine. "
        "Without CONVERSATION, the conversations of the folder are listed."
    )
    parser.epilog = examples(
        "palimpsest export                              # list the conversations",
        "palimpsest export 3 --output tax-rates.jsonl   # the third of the list",
    )
    parser.add_argument(
        "conversation", nargs="?", metavar="CONVERSATION", help="its number in the list, or how its title or id begins"
    )
    takes_folder(parser, name="--folder")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="the file to write, which only you can read (default: print it)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the file if there is one")
    parser.set_defaults(run=export_conversation)


def configure_import(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Add a conversation to a folder: one that `palimpsest export` or `palimpsest rescue` wrote, or messages that "
        "were recorded elsewhere, one JSON object per line with a role and a content. The conversations that are there "
        "stay as they are."
    )
    parser.epilog = examples("palimpsest import tax-rates.jsonl --folder ~/src/shop")
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to read: JSON lines, also compressed as .xz")
    takes_folder(parser, name="--folder")
    parser.set_defaults(run=import_conversation)


def export_conversation(arguments: argparse.Namespace) -> int:
    """Write a conversation to a file or to stdout, or list the conversations when none is named. Return the exit code.
    Raises PalimpsestError."""

    conversation, output = arguments.conversation, arguments.output

    async def export(transfers: Transfers) -> Exported | None:
        known = [record for record, _ in await transfers.conversations.list()]
        if conversation is None:
            say(*_lines(known))
            return None
        conversation_id = meant(conversation, known)
        if output is None:
            return await transfers.export(conversation_id)
        return await transfers.export_to(conversation_id, output, overwrites=arguments.overwrite)

    if not has_store(arguments.folder, os.environ):
        if conversation is not None:
            meant(conversation, ())
        say(*_lines(()))
        return 0
    exported = asyncio.run(_with(arguments.folder.resolve(), os.environ, export))
    if exported is not None and output is None:
        sys.stdout.buffer.write(harmless_json(exported.text).encode())
        sys.stdout.flush()
    elif exported is not None:
        say(f"Exported {counted(exported.n_messages, 'message')} ({counted(exported.size_bytes, 'byte')}) to {output}.")
    return 0


def meant(written: str, known: Sequence[ConversationRecord]) -> ConversationId:
    """Raises NotFound for no conversation, InvalidRequest for several."""
    places = picked(written, [(record.id, record.title) for record in known])
    if not places:
        raise NotFound(f"This folder has no conversation {written!r}. `palimpsest export` lists the conversations.")
    if len(places) > 1:
        lines = "\n".join(line for place, line in enumerate(_lines(known)) if place in places)
        raise InvalidRequest(f"Several conversations match {written!r}. Name one by its number or id:\n{lines}")
    return known[places[0]].id


def _lines(known: Sequence[ConversationRecord]) -> list[str]:
    """The conversations with their numbers and ids, in the order of `/list`."""
    return [
        f"{number:>3}  {record.id[:SHOWN_OF_ID]}  {record.title or 'untitled'}"
        f" ({counted(record.n_messages, 'message')})"
        for number, record in enumerate(known, 1)
    ] or ["There are no conversations in this folder."]


def import_conversation(arguments: argparse.Namespace) -> int:
    """Import a file and print the id of the new conversation. Return the exit code. Raises PalimpsestError."""
    root, file = arguments.folder.resolve(), arguments.file
    imported = asyncio.run(_with(root, os.environ, lambda transfers: transfers.import_file(file)))
    say(imported.note, imported.record.id)
    return 0


async def _with(root: Path, environ: Mapping[str, str], do: Callable[[Transfers], Awaitable[T]]) -> T:
    folders = load_folders(environ)
    try:
        session = await folders.get(root)
        done = await do(Transfers(session.conversations))
        await do_pending_work(session.folder.store)
        return done
    finally:
        await folders.close()
