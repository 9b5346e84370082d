"""`palimpsest facts`: composes a folder's session to list, find, pin, verify, forget and export its facts."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from palimpsest.app.compose import load_folders
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.facts.fact import FactId, Place, Span, StoredFact, Wanted
from palimpsest.domain.facts.text import SIGNS, place_text
from palimpsest.printing import sanitise, say, say_json
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.wording import counted

MOST_LISTED = 1_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=Path(), help="the folder (default: this one)")
    actions = parser.add_subparsers(title="actions", dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the facts that hold, the newest first")
    listing.add_argument("--stale", action="store_true", help="only those whose files have changed")
    listing.add_argument("--path", metavar="FILE", help="only those that rest on this file, as seen from the folder")
    searching = actions.add_parser("search", help="the facts that match, the best first")
    searching.add_argument("words", nargs="+", metavar="WORD")
    pinning = actions.add_parser("pin", help="keep a statement of yours")
    pinning.add_argument("words", nargs="+", metavar="WORD", help="the statement")
    pinning.add_argument("--at", metavar="PATH[:FIRST-LAST]", help="what it rests on")
    for name, what in (
        ("verify", "they hold as the files are now"),
        ("forget", "forget them; they can be restored for 30 days"),
        ("restore", "take a forgetting back"),
    ):
        action = actions.add_parser(name, help=what)
        action.add_argument("ids", nargs="+", type=int, metavar="NUMBER")
    actions.add_parser("export", help="all facts, also those that hold no longer, one JSON object a line")
    clearing = actions.add_parser("clear", help="remove all facts for ever")
    clearing.add_argument("--yes", action="store_true", help="really")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """One of the actions. The exit code. Raises PalimpsestError."""
    return asyncio.run(_run(arguments, os.environ))


async def _run(arguments: argparse.Namespace, environ: Mapping[str, str]) -> int:
    # Nothing is learned by the way: that would ask models.
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
            wanted = Wanted(path=arguments.path, is_stale=arguments.stale or None, limit=MOST_LISTED)
            _show(await keeper.select(wanted))
        case "search":
            _show(await keeper.search(" ".join(arguments.words)))
        case "pin":
            fact = await keeper.pin_fact(" ".join(arguments.words), place=_place(arguments.at))
            say(f"Fact {fact.id} is pinned.")
        case "verify":
            for number in arguments.ids:
                await keeper.verify(FactId(number))
            say("They hold as the files are now.")
        case "forget":
            for number in arguments.ids:
                await keeper.forget(FactId(number))
            say("They are forgotten; `palimpsest facts restore` brings them back for 30 days.")
        case "restore":
            for number in arguments.ids:
                await keeper.restore(FactId(number))
            say("They are facts again.")
        case "export":
            for fact in await keeper.select(Wanted(includes_closed=True, limit=1 << 30)):
                say_json(_to_json(fact))
        case "clear":
            if not arguments.yes:
                counts = await keeper.counts()
                raise InvalidRequest(
                    f"This would remove {counted(counts.n_open, 'fact')} for ever. Say --yes to do it."
                )
            say(f"Removed {counted(await keeper.clear(), 'fact')}.")
    return 0


def _show(facts: Sequence[StoredFact]) -> None:
    if not facts:
        say("No facts.")
        return
    table = Table("No.", "", "Fact", "Rests on", box=None)
    for fact in facts:
        where = "\n".join(
            place_text(source) + (" (needs a look)" if source.state.is_stale else "") for source in fact.sources
        )
        table.add_row(str(fact.id), SIGNS[fact.fact.fact_type], sanitise(fact.fact.content), sanitise(where))
    Console(markup=False, highlight=False).print(table)


def _place(at: str | None) -> Place | None:
    """`PATH`, `PATH:LINE` or `PATH:FIRST-LAST`."""
    if at is None:
        return None
    path, _, lines = at.rpartition(":")
    first, _, last = lines.partition("-")
    if not path or not first.isdigit() or not (last or first).isdigit():
        return Place(at)
    return Place(path, Span(int(first), int(last or first)))


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
        "sources": [{"place": place_text(source), "state": source.state.value} for source in fact.sources],
    }
