"""`palimpsest facts`: the facts about one folder."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from palimpsest.app.compose import load_folders
from palimpsest.cli.parser import add_action, examples, takes_folder
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.facts.fact import FactFilter, FactId, Place, Span, StoredFact
from palimpsest.domain.facts.text import author_remark, place_text, sign_of
from palimpsest.printing import sanitise, say, say_json
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.wording import counted

MOST_LISTED = 1_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List, search, add and remove the facts about a folder. A fact is a sentence that Palimpsest noted from your "
        "conversations, such as a decision, and the lines of a file that it depends on. Models are sent the facts that "
        "matter to a question. A fact is stale when its lines have changed."
    )
    parser.epilog = examples(
        "palimpsest facts list --stale",
        'palimpsest facts pin "Prices are in cents." --at src/prices.py:1-20',
        "palimpsest facts forget 12",
    )
    takes_folder(parser, name="--folder")
    actions = parser.add_subparsers(title="actions", dest="action", required=True, metavar="ACTION")
    listing = add_action(actions, "list", "list the facts, newest first")
    listing.add_argument("--stale", action="store_true", help="only facts whose lines have changed")
    listing.add_argument(
        "--path", metavar="FILE", help="only facts that depend on this file; its path begins in the folder"
    )
    searching = add_action(actions, "search", "list the facts that match some words, the best match first")
    searching.add_argument("words", nargs="+", metavar="WORD", help="words to search for")
    pinning = add_action(actions, "pin", "add a fact that you write, and keep it for good")
    pinning.add_argument("words", nargs="+", metavar="WORD", help="the fact, one sentence")
    pinning.add_argument(
        "--at", metavar="PATH[:FIRST-LAST]", help="the file, and the lines in it, that the fact depends on"
    )
    for name, what in (
        ("verify", "confirm that stale facts are still true"),
        ("forget", "remove facts; for 30 days you can restore them"),
        ("restore", "bring back facts that you removed"),
    ):
        action = add_action(actions, name, what)
        action.add_argument(
            "ids", nargs="+", type=int, metavar="NUMBER", help="the number of a fact, as `list` shows it"
        )
        if name == "forget":
            action.add_argument(
                "--yes", action="store_true", help="also remove facts that your team shares, for the whole team"
            )
    add_action(actions, "export", "print every fact, also the removed and replaced ones, one JSON object per line")
    clearing = add_action(actions, "clear", "delete all facts for good")
    clearing.add_argument("--yes", action="store_true", help="confirm the deletion")
    for action in actions.choices.values():  # where the folder is typed last, as for other commands
        action.add_argument("--folder", type=Path, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run one action; return the exit code. Raises PalimpsestError."""
    return asyncio.run(_run(arguments, os.environ))


async def _run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    # The librarian is off: it would ask models.
    folders = load_folders({**environ, "PALIMPSEST_LIBRARIAN_ENABLED": "false"})
    try:
        session = await folders.get(arguments.folder.resolve())
        await session.folder.facts.look_at_all()
        return await _do(arguments, session.folder.facts.keeper)
    finally:
        await folders.close()


async def _do(arguments: argparse.Namespace, keeper: FactKeeper) -> int:
    match arguments.action:
        case "list":
            wanted = FactFilter(path=arguments.path, is_stale=arguments.stale or None, limit=MOST_LISTED)
            _show(await keeper.select(wanted))
        case "search":
            _show(await keeper.search(" ".join(arguments.words)))
        case "pin":
            place = await _place(arguments.at, keeper)
            fact = await keeper.pin_fact(" ".join(arguments.words), place=place)
            say(f"Fact {fact.id} is pinned.")
        case "verify":
            for number in arguments.ids:
                await keeper.verify(FactId(number))
            say(f"Verified {counted(len(arguments.ids), 'fact')}.")
        case "forget":
            shared = [number for number in arguments.ids if (await keeper.get(FactId(number))).is_shared]
            if shared and not arguments.yes:
                listed = ", ".join(map(str, shared))
                raise InvalidRequest(
                    f"Your team would forget for good: {listed}. Repeat the command with --yes to do it."
                )
            for number in arguments.ids:
                await keeper.forget(FactId(number))
            done = f"Forgot {counted(len(arguments.ids), 'fact')}."
            say(f"{done} Within 30 days, `palimpsest facts restore NUMBER` restores a fact.")
        case "restore":
            for number in arguments.ids:
                await keeper.restore(FactId(number))
            say(f"Restored {counted(len(arguments.ids), 'fact')}.")
        case "export":
            for fact in await keeper.select(FactFilter(includes_closed=True, limit=1 << 30)):
                say_json(_to_json(fact))
        case "clear":
            if not arguments.yes:
                would = f"This would delete {counted((await keeper.counts()).n_open, 'fact')} for good."
                raise InvalidRequest(f"{would} Repeat the command with --yes to do it.")
            say(f"Deleted {counted(await keeper.clear(), 'fact')}.")
    return 0


def _show(facts: Sequence[StoredFact]) -> None:
    if not facts:
        say("There are no facts to list.")
        return
    table = Table("No.", "", "Fact", "Rests on", box=None)
    for fact in facts:
        where = "\n".join(
            place_text(source) + (" (changed)" if source.state.is_stale else "") for source in fact.sources
        )
        table.add_row(str(fact.id), sign_of(fact), sanitise(fact.fact.content + author_remark(fact)), sanitise(where))
    Console(markup=False, highlight=False).print(table)


async def _place(at: str | None, keeper: FactKeeper) -> Place | None:
    """`PATH`, `PATH:LINE` or `PATH:FIRST-LAST`. Raises InvalidRequest for lines that the file does not have."""
    if at is None:
        return None
    path, _, lines = at.rpartition(":")
    first, _, last = lines.partition("-")
    if not path or not first.isdigit() or not (last or first).isdigit():
        return Place(at)
    span = Span(int(first), int(last or first))
    text = await keeper.places.text_on_disk(path)
    n_lines = 0 if text is None else len(text.splitlines())
    if text is not None and not 1 <= span.start <= span.end <= n_lines:
        raise InvalidRequest(f"There are no lines {lines} in {path}: it has {counted(n_lines, 'line')}.")
    return Place(path, span)


def _to_json(fact: StoredFact) -> dict[str, object]:
    said = fact.evidence
    return {
        "id": fact.id,
        "fact_type": fact.fact.fact_type.value,
        "content": fact.fact.content,
        "entities": list(fact.fact.entities),
        "turn_number": fact.turn_number,
        "created_at": fact.created_at,
        "closed_at": fact.closed_at,
        "superseded_by": fact.superseded_by,
        "verified_at": fact.verified_at,
        "conversation": None if said is None else said.conversation_id,
        "message_id": None if said is None else said.message_id,
        "quote": None if said is None else said.quote,
        "origin": None if said is None else said.origin.value,
        "author": fact.author,
        "shared": fact.is_shared,
        "sources": [{"place": place_text(source), "state": source.state.value} for source in fact.sources],
    }
