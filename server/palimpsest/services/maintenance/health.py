"""Looking at a folder's store, and mending it: what `palimpsest doctor` does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from palimpsest.domain.errors import StoreError
from palimpsest.machine import utc_now
from palimpsest.storage import backups
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.maintenance import repairs
from palimpsest.storage.maintenance.health import Finding, Verdict, look
from palimpsest.storage.maintenance.hidden_words import HiddenWords
from palimpsest.storage.maintenance.store_files import TextFile, look_at_files, make_private, text_files
from palimpsest.storage.server_locks import live_servers
from palimpsest.storage.store import open_store

_MENDED_BY: Final = {
    "hidden words": "opening",
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
    """Mends what can be mended without losing anything, after a copy was made, and looks again. A store of an older
    schema is brought up to date first. Words that were purged or rolled back go out of use, as at any opening.

    While a live server holds the store only permissions are mended, and the findings say why. Raises StoreError when
    the store cannot be written.
    """
    before = await examine(directory)
    if _verdict(before, "permissions") is Verdict.PROBLEM and _verdict(before, "owner") is Verdict.OK:
        await asyncio.to_thread(make_private, directory)
    is_older = _verdict(before, "schema") is Verdict.UNKNOWN and _verdict(before, "integrity") is Verdict.OK
    is_wanted = is_older or any(each.check in _MENDED_BY and _is_problem(each) for each in before.findings)
    backup: Path | None = None
    did: list[str] = []
    refusals: list[str] = []
    if is_wanted and before.servers:
        refusals = [_HELD]
    elif is_older:
        try:
            backup, did, refusals = await _mend(directory)
        except StoreError as error:
            refusals = [str(error)]
    elif is_wanted and not all(_verdict(before, check) in (Verdict.OK, None) for check in _NOT_ABOVE):
        refusals = [_UNSOUND]
    elif is_wanted:
        backup, did, refusals = await _mend(directory)
    after = await examine(directory)
    had = {finding.check for finding in before.findings if _is_problem(finding)} | ({"schema"} if is_older else set())
    findings = [
        replace(each, verdict=Verdict.REPAIRED) if each.check in had and each.verdict is Verdict.OK else each
        for each in after.findings
    ]
    findings += [Finding("repair", Verdict.REPAIRED, sentence) for sentence in did]
    findings += [Finding("repair", Verdict.PROBLEM, refusal) for refusal in refusals]
    return replace(after, findings=tuple(findings), backup=backup)


_HELD: Final = "A running server holds this store, so only permissions were mended. Close its windows, then try again."
_UNSOUND: Final = (
    "The file itself is not in order, so nothing in it was mended. `palimpsest rescue` reads what is left."
)


async def _mend(directory: Path) -> tuple[Path | None, list[str], list[str]]:
    """The copy that was made; what was done that a check does not say; and what could not be done, in sentences."""
    store = await open_store(directory, "FULL")
    try:
        did = _taken_back(store.mended)
        if live_servers(directory) != [store.server_id]:
            return None, did, [_HELD]
        found = (await examine(directory)).findings
        wanted = {_MENDED_BY[each.check] for each in found if each.check in _MENDED_BY and _is_problem(each)}
        # Made only now: a copy must not keep what was purged.
        backup = await asyncio.to_thread(_keep, directory) if wanted else None
        refusals: list[str] = []
        for name, mend in (
            ("turns", lambda: repairs.close_open_turns(store.writer(utc_now()))),
            ("leftovers", repairs.remove_leftovers),
            ("search", repairs.rebuild_search),
        ):
            if name in wanted:
                try:
                    await store.run(mend)
                except StoreError as error:
                    refusals.append(str(error))
        return backup, did, refusals
    finally:
        await store.close()


def _taken_back(words: HiddenWords) -> list[str]:
    counted = (
        (words.summaries, "Summaries that took in rolled-back messages, and are used no more: {}."),
        (
            words.of_purged,
            "Facts of purged messages that were removed, with the copies of the store that held them: {}.",
        ),
        (words.of_hidden, "Facts of rolled-back messages that were closed: {}."),
    )
    return [sentence.format(len(each)) for each, sentence in counted if each]


def _keep(directory: Path) -> Path:
    return backups.keep(directory / DATABASE_NAME, "repair")


def _is_problem(finding: Finding) -> bool:
    return finding.verdict is Verdict.PROBLEM


def _verdict(report: Report, check: str) -> Verdict | None:
    return next((finding.verdict for finding in report.findings if finding.check == check), None)
