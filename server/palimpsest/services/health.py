"""Looking at a folder's store, and mending it: what `palimpsest doctor` does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from palimpsest.domain.errors import StoreError
from palimpsest.services.clock import utc_now
from palimpsest.storage import backups, repairs
from palimpsest.storage.health import Finding, Verdict, look
from palimpsest.storage.store import DATABASE_NAME, live_servers, open_store
from palimpsest.storage.store_files import TextFile, look_at_files, make_private, text_files

_MENDED_BY: Final = {
    "turns": "turns",
    "journals": "leftovers",
    "token counts": "leftovers",
    "previews": "leftovers",
    "injections": "leftovers",
    "search": "search",
}
"""Checks of the database whose problems can be mended, and what mends them."""
_NOT_ABOVE: Final = ("database", "schema", "integrity")
"""While one of these is not in order, nothing is written."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a look at a store found."""

    directory: Path
    findings: tuple[Finding, ...]
    servers: tuple[str, ...]
    """Those that hold the store now."""
    files: tuple[TextFile, ...]
    """Every file of it that holds text."""
    backup: Path | None = None
    """The copy that was made before something was mended."""

    def has(self, verdict: Verdict) -> bool:
        return any(finding.verdict is verdict for finding in self.findings)


async def examine(directory: Path) -> Report:
    """Everything that is to be said about the store. Changes nothing; servers may go on meanwhile."""
    return await asyncio.to_thread(_examine, directory)


def _examine(directory: Path) -> Report:
    if not directory.is_dir():
        return Report(directory, (Finding("database", Verdict.UNKNOWN, f"There is no store in {directory}."),), (), ())
    try:
        servers = tuple(live_servers(directory))
        findings = [*look_at_files(directory), *look(directory, set(servers).__contains__)]
        return Report(directory, tuple(findings), servers, tuple(text_files(directory)))
    except OSError as error:
        text = f"{directory} could not be looked at ({error.strerror or type(error).__name__})."
        return Report(directory, (Finding("files", Verdict.UNKNOWN, text),), (), ())


async def repair(directory: Path) -> Report:
    """Mends what can be mended without losing anything, after a copy was made, and looks again.

    While a live server holds the store only permissions are mended, and the findings say why. Raises StoreError when
    the store cannot be written.
    """
    before = await examine(directory)
    if _verdict(before, "permissions") is Verdict.PROBLEM and _verdict(before, "owner") is Verdict.OK:
        await asyncio.to_thread(make_private, directory)
    wanted = {_MENDED_BY[each.check] for each in before.findings if each.check in _MENDED_BY and _is_problem(each)}
    backup: Path | None = None
    refusals: list[str] = []
    if wanted and before.servers:
        refusals = [_HELD]
    elif wanted and not all(_verdict(before, check) in (Verdict.OK, None) for check in _NOT_ABOVE):
        refusals = [_UNSOUND]
    elif wanted:
        backup, refusals = await _mend(directory, wanted)
    after = await examine(directory)
    had = {finding.check for finding in before.findings if _is_problem(finding)}
    findings = [
        replace(each, verdict=Verdict.REPAIRED) if each.check in had and each.verdict is Verdict.OK else each
        for each in after.findings
    ]
    findings += [Finding("repair", Verdict.PROBLEM, refusal) for refusal in refusals]
    return replace(after, findings=tuple(findings), backup=backup)


_HELD: Final = "A running server holds this store, so only permissions were mended. Close its windows, then try again."
_UNSOUND: Final = (
    "The file itself is not in order, so nothing in it was mended. `palimpsest rescue` reads what is left."
)


async def _mend(directory: Path, wanted: set[str]) -> tuple[Path | None, list[str]]:
    """The copy that was made, and what could not be done, in sentences."""
    store = await open_store(directory, "FULL")
    try:
        if live_servers(directory) != [store.server_id]:
            return None, [_HELD]
        backup = await asyncio.to_thread(_keep, directory)
        refusals: list[str] = []
        for name, mend in (
            ("turns", lambda: repairs.close_open_turns(store.is_alive, utc_now())),
            ("leftovers", repairs.remove_leftovers),
            ("search", repairs.rebuild_search),
        ):
            if name in wanted:
                try:
                    await store.run(mend)
                except StoreError as error:
                    refusals.append(str(error))
        return backup, refusals
    finally:
        await store.close()


def _keep(directory: Path) -> Path:
    return backups.keep(directory / DATABASE_NAME, "repair")


def _is_problem(finding: Finding) -> bool:
    return finding.verdict is Verdict.PROBLEM


def _verdict(report: Report, check: str) -> Verdict | None:
    return next((finding.verdict for finding in report.findings if finding.check == check), None)
