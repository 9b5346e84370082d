"""`palimpsest doctor`, `backup`, `rescue` and `adopt`: a folder's store on the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from palimpsest.app import load_folders, read_places, store_directory, user_file
from palimpsest.domain.errors import StoreError
from palimpsest.folder_settings import FolderSettingsReader
from palimpsest.printing import complain, say, say_json
from palimpsest.services.folder.adoption import Adopted, adopt
from palimpsest.services.folder.folders import EditorsWord
from palimpsest.services.maintenance import health
from palimpsest.services.maintenance import rescue as saving
from palimpsest.services.maintenance.health import Report
from palimpsest.storage.maintenance.health import Verdict
from palimpsest.storage.maintenance.store_files import TextFile
from palimpsest.storage.store import copy_store
from palimpsest.trust import trusted_folders
from palimpsest.wording import counted

FINE: Final = 0
PROBLEMS: Final = 1
NOT_LOOKED_AT: Final = 2


def find_store(folder: Path, environ: Mapping[str, str]) -> Path:
    """Where the store of a folder is, or would be. Raises InvalidRequest when the settings cannot be meant."""
    root = folder.resolve()
    reader = FolderSettingsReader(user_file(), environ, trusted_folders())
    return store_directory(read_places(reader.read(root, EditorsWord()).settings).stores, root)


def doctor(folder: Path, environ: Mapping[str, str], *, repairs: bool, as_json: bool) -> int:
    """Prints what is to be said about the folder's store. The exit code: 0 fine, 1 problems, 2 could not look."""
    directory = find_store(folder, environ)
    try:
        report = asyncio.run(health.repair(directory) if repairs else health.examine(directory))
    except StoreError as error:
        complain(str(error))
        return NOT_LOOKED_AT
    if as_json:
        say_json(_to_json(report), indent=2)
    else:
        say(*_lines(report))
    if report.has(Verdict.PROBLEM):
        return PROBLEMS
    return NOT_LOOKED_AT if report.has(Verdict.UNKNOWN) else FINE


def back_up(folder: Path, output: Path | None, environ: Mapping[str, str]) -> int:
    """Copies the folder's store. The exit code. Raises PalimpsestError."""
    copy = copy_store(find_store(folder, environ), output)
    say(f"Copied {counted(copy.stat().st_size, 'byte')} to {copy}.")
    return FINE


def rescue(damaged: Path, output: Path) -> int:
    """Saves what a damaged database holds. The exit code: 1 when that is nothing. Raises PalimpsestError."""
    saved = asyncio.run(saving.rescue(damaged, output))
    lines = [f"Saved {counted(saved.n_messages, 'message')} of {counted(len(saved.files), 'conversation')}."]
    if saved.files:
        lines.append(f"Bring them back, in this order, with `palimpsest import FILE`, from {output}:")
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


def adopt_store(old: Path, folder: Path, environ: Mapping[str, str]) -> int:
    """Brings what is in another store to the folder. The exit code: 1 when something stayed there. Raises
    PalimpsestError."""
    adopted = asyncio.run(_adopt(old, folder.resolve(), environ))
    brought = f"{counted(adopted.n_conversations, 'conversation')} and {counted(adopted.n_pins, 'pin')}"
    lines = [f"Brought {brought} to {folder.resolve()}."]
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
