"""The check and the repair of a folder's store (`palimpsest doctor`)."""

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
    "frames": "leftovers",
    "unused contents": "leftovers",
    "search": "search",
}
"""The repair for each check whose problems can be repaired."""
_NOT_ABOVE: Final = ("database", "schema", "integrity")
"""Nothing is written while one of these checks fails."""


@dataclass(frozen=True, slots=True)
class Report:
    """The findings about a store."""

    directory: Path
    findings: tuple[Finding, ...]
    servers: tuple[str, ...]
    """The servers that use the store now."""
    files: tuple[TextFile, ...]
    """Every file of the store with text in it."""
    backup: Path | None = None
    """The copy from before the repair; None when there was no repair."""

    def has(self, verdict: Verdict) -> bool:
        return any(finding.verdict is verdict for finding in self.findings)


async def examine(directory: Path) -> Report:
    """Check the store. Changes nothing; servers may go on using it."""
    return await asyncio.to_thread(_examine, directory)


def _examine(directory: Path) -> Report:
    if not directory.is_dir():
        return Report(directory, (Finding("database", Verdict.UNKNOWN, f"There is no store in {directory}."),), (), ())
    try:
        servers = tuple(live_servers(directory))
        findings = [*look_at_files(directory), *look(directory, set(servers).__contains__)]
        return Report(directory, tuple(findings), servers, tuple(text_files(directory)))
    except OSError as error:
        text = f"{directory} could not be read ({error.strerror or type(error).__name__})."
        return Report(directory, (Finding("files", Verdict.UNKNOWN, text),), (), ())


async def repair(directory: Path) -> Report:
    """Copy the store, repair what can be repaired without losing anything, and check again. A store with an older
    schema is migrated first. Purged and hidden words are taken out of the indexes, as at any opening.

    While a live server uses the store, only permissions are repaired, and the findings say why. Raises StoreError when
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


_HELD: Final = "A running server uses this store, so only permissions were repaired. Close its editors, then try again."
_UNSOUND: Final = "The file itself is damaged, so nothing in it was repaired. `palimpsest rescue` reads what is left."


async def _mend(directory: Path) -> tuple[Path | None, list[str], list[str]]:
    """The path of the copy, the repairs that no check reports, and the repairs that failed, as sentences."""
    store = await open_store(directory, "FULL")
    try:
        did = _taken_back(store.mended)
        if live_servers(directory) != [store.server_id]:
            return None, did, [_HELD]
        found = (await examine(directory)).findings
        wanted = {_MENDED_BY[each.check] for each in found if each.check in _MENDED_BY and _is_problem(each)}
        # Only now: a copy must not contain purged words.
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
        (words.summaries, "Summaries of hidden messages, which are no longer used: {}."),
        (
            words.of_purged,
            "Facts of purged messages that were deleted, with the copies of the store that had them: {}.",
        ),
        (words.of_hidden, "Facts of hidden messages that were closed: {}."),
    )
    return [sentence.format(len(each)) for each, sentence in counted if each]


def _keep(directory: Path) -> Path:
    return backups.keep(directory / DATABASE_NAME, "repair")


def _is_problem(finding: Finding) -> bool:
    return finding.verdict is Verdict.PROBLEM


def _verdict(report: Report, check: str) -> Verdict | None:
    return next((finding.verdict for finding in report.findings if finding.check == check), None)
