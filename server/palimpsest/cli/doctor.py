"""`palimpsest doctor`, `backup`, `rescue` and `adopt`: a folder's store on the command line."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from palimpsest.app.compose import load_folders
from palimpsest.app.folder_settings import FolderSettingsReader
from palimpsest.app.places import read_places, store_directory, user_file
from palimpsest.app.trusted_folders import trusted_folders
from palimpsest.domain.errors import StoreError
from palimpsest.printing import complain, say, say_json
from palimpsest.services.folder.adoption import Adopted, adopt
from palimpsest.services.folder.folders import EditorsWord
from palimpsest.services.maintenance import health
from palimpsest.services.maintenance import rescue as saving
from palimpsest.services.maintenance.health import Report
from palimpsest.storage.backups import copy_store
from palimpsest.storage.maintenance.health import Verdict
from palimpsest.storage.maintenance.store_files import TextFile
from palimpsest.wording import counted

FINE: Final = 0
PROBLEMS: Final = 1
NOT_LOOKED_AT: Final = 2


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="the folder (default: this one)")
    parser.add_argument("--repair", action="store_true", help="mend what can be mended without losing anything")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.set_defaults(run=doctor)


def configure_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="the folder (default: this one)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the copy (default: beside the store)")
    parser.set_defaults(run=back_up)


def configure_rescue(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the damaged database; it is not changed")
    parser.add_argument("--output", type=Path, metavar="FOLDER", required=True, help="the folder to make and write to")
    parser.set_defaults(run=rescue)


def configure_adopt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", type=Path, metavar="OLD_STORE", help="the store of the folder before; it stays")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="the folder now (default: this one)")
    parser.set_defaults(run=adopt_store)


def find_store(folder: Path, environ: Mapping[str, str]) -> Path:
    """Where the store of a folder is, or would be. Raises InvalidRequest when the settings cannot be meant."""
    root = folder.resolve()
    reader = FolderSettingsReader(user_file(), environ, trusted_folders())
    return store_directory(read_places(reader.read(root, EditorsWord()).settings).stores, root)


def doctor(arguments: argparse.Namespace) -> int:
    """Prints what is to be said about the folder's store. The exit code: 0 fine, 1 problems, 2 could not look."""
    directory = find_store(arguments.folder, os.environ)
    try:
        report = asyncio.run(health.repair(directory) if arguments.repair else health.examine(directory))
    except StoreError as error:
        complain(str(error))
        return NOT_LOOKED_AT
    if arguments.json:
        say_json(_to_json(report), indent=2)
    else:
        say(*_lines(report))
    if report.has(Verdict.PROBLEM):
        return PROBLEMS
    return NOT_LOOKED_AT if report.has(Verdict.UNKNOWN) else FINE


def back_up(arguments: argparse.Namespace) -> int:
    """Copies the folder's store. The exit code. Raises PalimpsestError."""
    copy = copy_store(find_store(arguments.folder, os.environ), arguments.output)
    say(f"Copied {counted(copy.stat().st_size, 'byte')} to {copy}.")
    return FINE


def rescue(arguments: argparse.Namespace) -> int:
    """Saves what a damaged database holds. The exit code: 1 when that is nothing. Raises PalimpsestError."""
    saved = asyncio.run(saving.rescue(arguments.file, arguments.output))
    lines = [f"Saved {counted(saved.n_messages, 'message')} of {counted(len(saved.files), 'conversation')}."]
    if saved.files:
        lines.append(f"Bring them back, in this order, with `palimpsest import FILE`, from {arguments.output}:")
        lines += [f"  {path.name}" for path in saved.files]
    if saved.n_emptied:
        lines.append(f"The text of {saved.n_emptied} of the messages is lost; they are hidden.")
    if saved.n_plain:
        lines.append(f"{saved.n_plain} of the conversations have no summaries any more; the messages are there.")
    if saved.n_loose:
        lines.append(
            f"What {counted(saved.n_loose, 'message')} followed from is lost. Their text is in {saving.REST_NAME}."
        )
    say(*lines)
    return FINE if saved.n_messages or saved.n_loose else PROBLEMS


def adopt_store(arguments: argparse.Namespace) -> int:
    """Brings what is in another store to the folder. The exit code: 1 when something stayed there. Raises
    PalimpsestError."""
    old, root = arguments.store, arguments.folder.resolve()
    adopted = asyncio.run(_adopt(old, root, os.environ))
    brought = f"{counted(adopted.n_conversations, 'conversation')} and {counted(adopted.n_pins, 'pin')}"
    lines = [f"Brought {brought} to {root}."]
    if adopted.n_present:
        lines.append(f"{adopted.n_present} of the conversations were there already.")
    if adopted.refused:
        lines.append(f"Not sound, so not brought: {', '.join(adopted.refused)}. `palimpsest rescue` may save them.")
    lines.append(f"{old} stays as it was. What it cost to get the answers is told only there.")
    say(*lines)
    return PROBLEMS if adopted.refused else FINE


async def _adopt(old: Path, root: Path, environ: Mapping[str, str]) -> Adopted:
    folders = load_folders(environ)
    try:
        return await adopt(old, (await folders.get(root)).conversations, root)
    finally:
        await folders.close()


def _lines(report: Report) -> list[str]:
    lines = [f"{each.verdict.value:9} {each.check}: {each.text}" for each in report.findings]
    lines.append(f"The store {report.directory} is held by {counted(len(report.servers), 'running server')}.")
    if report.backup is not None:
        lines.append(f"Before anything was mended, a copy was made: {report.backup}")
    lines += [f"{each.size_bytes:>12} bytes of text in {each.path}" for each in _text_files(report)]
    return lines


def _to_json(report: Report) -> dict[str, object]:
    return {
        "store": str(report.directory),
        "findings": [{"check": f.check, "verdict": f.verdict.value, "text": f.text} for f in report.findings],
        "servers": list(report.servers),
        "files": [{"path": str(each.path), "bytes": each.size_bytes} for each in _text_files(report)],
        "backup": None if report.backup is None else str(report.backup),
    }


def _text_files(report: Report) -> list[TextFile]:
    """Those of the store, and what was typed in the terminal."""
    import platformdirs

    typed = platformdirs.user_state_path("palimpsest", appauthor=False) / "history"
    more = [TextFile(typed, typed.stat().st_size)] if typed.is_file() else []
    return [*report.files, *more]
