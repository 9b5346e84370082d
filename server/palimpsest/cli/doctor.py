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
from palimpsest.cli.parser import examples, takes_folder
from palimpsest.domain.errors import StoreError
from palimpsest.printing import complain, say, say_json
from palimpsest.services.folder.adoption import Adopted, adopt
from palimpsest.services.folder.folders import EditorsWord
from palimpsest.services.maintenance import health
from palimpsest.services.maintenance import rescue as saving
from palimpsest.services.maintenance.health import Report
from palimpsest.storage.backups import copy_store
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.maintenance.health import Verdict
from palimpsest.storage.maintenance.store_files import TextFile
from palimpsest.wording import counted

FINE: Final = 0
PROBLEMS: Final = 1
NOT_LOOKED_AT: Final = 2


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check that the conversations of a folder are stored undamaged, and that only you can read the files. Nothing "
        "is changed without --repair. The exit code is 0 when all is well, 1 for problems, and 2 when something could "
        "not be checked."
    )
    parser.epilog = examples("palimpsest doctor ~/src/shop")
    takes_folder(parser)
    parser.add_argument(
        "--repair",
        action="store_true",
        help="copy the database, then repair what can be repaired without losing anything",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as a JSON object")
    parser.set_defaults(run=doctor)


def configure_backup(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Copy the database in which the conversations of a folder are kept. It may be in use meanwhile. The name of "
        "the copy is printed."
    )
    parser.epilog = examples("palimpsest backup ~/src/shop --output shop.db")
    takes_folder(parser)
    parser.add_argument("--output", type=Path, metavar="FILE", help="the copy (default: a file beside the database)")
    parser.set_defaults(run=back_up)


def configure_rescue(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Save the messages that a damaged database still holds, as files that `palimpsest import` reads. The database "
        "itself is not changed. `palimpsest doctor` tells you whether a database is damaged, and where it is."
    )
    parser.epilog = examples("palimpsest rescue damaged.db --output rescued")
    parser.add_argument("file", type=Path, metavar="FILE", help="the damaged database")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", required=True, help="a new folder for the files with conversations"
    )
    parser.set_defaults(run=rescue)


def configure_adopt(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Bring over the conversations of a folder that you moved or renamed: they are kept under the path that it had. "
        "When you open the folder at its new path, Palimpsest offers the same, and names OLD_STORE. Nothing there is "
        "changed."
    )
    parser.add_argument(
        "store",
        type=Path,
        metavar="OLD_STORE",
        help="where the conversations of the old path are kept: the directory that `palimpsest doctor OLD_PATH` prints",
    )
    takes_folder(parser)
    parser.set_defaults(run=adopt_store)


def find_store(folder: Path, environ: Mapping[str, str]) -> Path:
    """The directory of a folder's store, which need not exist yet. Raises InvalidRequest for invalid settings."""
    root = folder.resolve()
    reader = FolderSettingsReader(user_file(), environ, trusted_folders())
    return store_directory(read_places(reader.read(root, EditorsWord()).settings).stores, root)


def has_store(folder: Path, environ: Mapping[str, str]) -> bool:
    """Whether there is a store of the folder, which a look at it would make. Raises InvalidRequest for invalid
    settings."""
    return (find_store(folder, environ) / DATABASE_NAME).exists()


def doctor(arguments: argparse.Namespace) -> int:
    """Print the findings about a folder's store. Return the exit code: 0 for none, 1 for problems, 2 when the
    store could not be examined."""
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
    """Copy a folder's store. Return the exit code. Raises PalimpsestError."""
    copy = copy_store(find_store(arguments.folder, os.environ), arguments.output)
    say(f"Copied {counted(copy.stat().st_size, 'byte')} to {copy}.")
    return FINE


def rescue(arguments: argparse.Namespace) -> int:
    """Save the messages of a damaged database. Return the exit code: 1 when there are none. Raises PalimpsestError."""
    saved = asyncio.run(saving.rescue(arguments.file, arguments.output))
    lines = [f"Saved {counted(saved.n_messages, 'message')} in {counted(len(saved.files), 'conversation')}."]
    if saved.files:
        lines.append(f"Import these files from {arguments.output} in this order, with `palimpsest import FILE`:")
        lines += [f"  {path.name}" for path in saved.files]
    if saved.n_emptied:
        lines.append(f"The text of {counted(saved.n_emptied, 'message')} is lost. These messages are hidden.")
    if saved.n_plain:
        lines.append(f"{counted(saved.n_plain, 'conversation')} lost the summaries, but not the messages.")
    if saved.n_loose:
        lines.append(
            f"{counted(saved.n_loose, 'message')} could not be placed in a conversation. "
            f"The text is in {saving.REST_NAME}."
        )
    say(*lines)
    return FINE if saved.n_messages or saved.n_loose else PROBLEMS


def adopt_store(arguments: argparse.Namespace) -> int:
    """Copy the conversations of another store to a folder. Return the exit code: 1 when one could not be copied.
    Raises PalimpsestError."""
    old, root = arguments.store, arguments.folder.resolve()
    adopted = asyncio.run(_adopt(old, root, os.environ))
    copied = (
        f"{counted(adopted.n_conversations, 'conversation')}, {counted(adopted.n_pins, 'pin')} and "
        f"{counted(adopted.n_facts, 'fact')} of your own"
    )
    lines = [f"Copied {copied} to {root}."]
    if adopted.n_present:
        lines.append(f"{counted(adopted.n_present, 'conversation')} had been copied before.")
    if adopted.refused:
        lines.append(
            f"These are damaged and were not copied: {', '.join(adopted.refused)}. `palimpsest rescue` may save them."
        )
    lines.append(f"{old} is unchanged. The costs of the answers are recorded only there.")
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
    lines.append(f"Servers that use the store {report.directory}: {len(report.servers)}")
    if report.backup is not None:
        lines.append(f"A copy from before the repair: {report.backup}")
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
    """The text files of the store, and the terminal's input history."""
    import platformdirs

    typed = platformdirs.user_state_path("palimpsest", appauthor=False) / "history"
    more = [TextFile(typed, typed.stat().st_size)] if typed.is_file() else []
    return [*report.files, *more]
