"""Files that change while facts are learned of them, looked at, forgotten and restored."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Coroutine
from typing import Any, Final

from tests.simulation.areas.chat import chat_about
from tests.simulation.folder import Files
from tests.simulation.kept_facts import KeptFacts
from tests.simulation.operations import Kind, Op, server_of
from tests.simulation.service import Reply
from tests.simulation.world import Request, World

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.facts.fact import FactId, Place, Span
from palimpsest.domain.models.provider import Finished, StopReason, TextDelta, TokenUsage
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.services.folder.session import FolderSession

_DAY_S: Final = 24 * 3600
Change = Callable[[Files, Op, random.Random], None]
Work = Callable[[World, FactKeeper, Op], Coroutine[Any, Any, None]]


# -------------------------------------------------------------------------------------------------------------- files


def _of_files(weight: int, change: Change) -> Kind:
    def begin(world: World, op: Op) -> None:
        change(_files(world), op, op.chance("files"))

    return Kind(weight, begin)


def _files(world: World) -> Files:
    world.service.help = _restate
    world.part(KeptFacts)
    return world.part(Files)


def _write(files: Files, op: Op, v: random.Random) -> None:
    files.write(files.new_path(v), files.new_text(v), v, moves=v.random() < 0.5)


def _change(files: Files, op: Op, v: random.Random) -> None:
    if (path := files.some(v)) is not None:
        text = files.read(path) or ""
        for _ in range(v.choice((1, 1, 3))):
            text = files.edited(text, v)
        files.write(path, text, v, moves=v.random() < 0.5)


def _insert(files: Files, op: Op, v: random.Random) -> None:
    if (path := files.some(v)) is not None:
        files.write(path, "\n".join([*files.function(), files.read(path) or ""]), v)


def _delete(files: Files, op: Op, v: random.Random) -> None:
    if (path := files.some(v)) is not None:
        files.delete(path, v)


def _rename(files: Files, op: Op, v: random.Random) -> None:
    if (path := files.some(v)) is not None:
        files.rename(path, files.new_path(v), v)


# -------------------------------------------------------------------------------------------------------------- facts


def _of_facts(weight: int, work: Work) -> Kind:
    """A kind of operation that has the fact keeper of one of the servers do `work`."""

    def begin(world: World, op: Op) -> None:
        _files(world)

        async def carry_out(request: Request) -> None:
            session: FolderSession = await world.open_folder(request.server)
            await work(world, session.folder.facts.keeper, op)

        world.request(op.kind, server_of(world, op), carry_out)

    return Kind(weight, begin)


def _said_of(files: Files, v: random.Random) -> tuple[str, str, Span | None]:
    """A file, a name in it, and lines of it."""
    path = files.some(v) or "src/nothing.py"
    lines = (files.read(path) or "").split("\n")
    names = [(at, found[1]) for at, line in enumerate(lines, 1) if (found := re.search(r"\b(\w+_\d+)", line))]
    if not names:
        return path, "pump_1", None
    at, name = v.choice(names)
    return path, name, Span(at, min(len(lines), at + v.choice((0, 0, 2))))


def _learn(world: World, op: Op) -> None:
    """A message that states something of files."""
    files, v, word = _files(world), op.chance("said"), f"zqword{op.number:04}u"
    said = "\n\n".join(_statement(files, v, word) for _ in range(v.randint(1, 3)))
    chat_about(world, op, word, f"What about {word}?\n\n{said}\n")


def _statement(files: Files, v: random.Random, word: str) -> str:
    path, name, span = _said_of(files, v)
    lines = "" if span is None else f" lines {span.start}-{span.end}"
    about = word if v.random() < 0.6 else "the hall"
    return v.choice(
        (
            f"`{path}`{lines} defines the limit of {about} as 17.",
            f"{path} contains the function `{name}` that returns bars for {about}.",
            f"Added `{name}` for {about} to {path}.",
            f"Never call `{name}` of {path} with {about}.",
            f"`{name}` is defined in {path}{lines} for {about}.",
        )
    )


async def _pin(world: World, keeper: FactKeeper, op: Op) -> None:
    v = op.chance("pin")
    for _ in range(v.choice((1, 2, 4))):
        path, name, span = _said_of(world.part(Files), v)
        place = None if v.random() < 0.1 else Place(path, span if v.random() < 0.7 else None, name)
        said = f"pin{op.number:04}" if v.random() < 0.7 else "the hall"
        await keeper.pin_fact(f"Pump `{name}` holds the bars of {said}.", place=place)


async def _some_fact(keeper: FactKeeper, op: Op) -> FactId | None:
    known = await keeper.all_facts()
    return known[op.b % len(known)].id if known else None


async def _retake(world: World, keeper: FactKeeper, op: Op) -> None:
    """The text at the places of a fact becomes its basis."""
    if (fact := await _some_fact(keeper, op)) is not None:
        world.part(KeptFacts).taken.add(fact)
        act = {"verify": keeper.verify, "update": keeper.update, "repin": keeper.pin_again}
        await act[op.kind](fact)


async def _forget(world: World, keeper: FactKeeper, op: Op) -> None:
    if (fact := await _some_fact(keeper, op)) is not None:
        known = await keeper.get(fact)
        await keeper.forget(fact)
        world.part(KeptFacts).forget(known)


async def _restore(world: World, keeper: FactKeeper, op: Op) -> None:
    if listed := await keeper.forgotten():
        chosen = listed[op.b % len(listed)]
        kept = world.part(KeptFacts)
        kept.maybe_restored.add(chosen.id)
        restored = await keeper.restore(chosen.id)
        if restored.fact.content != chosen.content:
            world.problem("restored as another", f"{chosen.content!r} as {restored.fact.content!r}")


async def _clear(world: World, keeper: FactKeeper, op: Op) -> None:
    world.part(KeptFacts).forgotten.clear()
    await keeper.clear()
    world.part(KeptFacts).forgotten.clear()


async def _accept(world: World, keeper: FactKeeper, op: Op) -> None:
    """A model's edit that the user accepted: soon on disk, later, never, or as somebody else wants it."""
    files, v = world.part(Files), op.chance("edit")
    path = files.some(v) if v.random() < 0.9 else files.new_path(v)
    if path is None:
        return
    before = files.read(path)
    after = files.edited(before, v) if before is not None else files.new_text(v)
    files.given.setdefault(path, set()).add(files.know(after))
    edit = keeper.places.edits.add(path, before, after)
    how = v.choice(("saved", "saved", "edited", "refused", "forgotten"))
    if how == "refused":
        keeper.places.edits.remove(path, edit)
    elif how != "forgotten":
        text = after if how == "saved" else files.edited(after, v)
        save = functools.partial(files.write, path, text, v)
        world.loop.call_later(v.choice((0.0, 0.2, 9.0)), save)


def _ask(world: World, op: Op) -> None:
    """A question that what was learned answers."""
    path, name, _ = _said_of(_files(world), op.chance("asked"))
    word = f"zqword{op.number:04}u"
    chat_about(world, op, word, f"What about {word}? What does pump `{name}` in {path} hold, and the bars of the hall?")


def _days(world: World, op: Op) -> None:
    world.wall_s += _DAY_S * (op.a % 40 - 10)
    world.part(KeptFacts).look_at_clock()


def _restate(context: PreparedContext) -> Reply | None:
    """A fact said anew, as its file has it."""
    asked = context.messages[-1].text
    fact = re.search(r"^The fact: (.*?)\.?$", asked, re.MULTILINE)
    shown = re.search(r"pump_\d+", asked.partition("\n")[2])
    if fact is None or shown is None:
        return None
    said = f'{{"content": "{fact[1]} and so does {shown[0]}.", "quote": "{shown[0]}"}}'.replace("`", "")
    return [0.01, TextDelta(said), Finished(StopReason.END, TokenUsage(output_tokens=9))]


KINDS: Final = {
    "write": _of_files(3, _write),
    "change": _of_files(12, _change),
    "insert": _of_files(4, _insert),
    "delete": _of_files(3, _delete),
    "recreate": _of_files(3, lambda files, op, v: files.recreate(v)),
    "rename file": _of_files(3, _rename),
    "move folder": _of_files(2, lambda files, op, v: files.move_folder(v)),
    "branch": _of_files(5, lambda files, op, v: files.switch(op.b, v)),
    "learn": Kind(14, _learn),
    "ask of file": Kind(2, _ask),
    "pin fact": _of_facts(14, _pin),
    "verify": _of_facts(2, _retake),
    "update": _of_facts(2, _retake),
    "repin": _of_facts(2, _retake),
    "forget": _of_facts(3, _forget),
    "restore": _of_facts(3, _restore),
    "clear": _of_facts(1, _clear),
    "accept": _of_facts(3, _accept),
    "days": Kind(1, _days),
}
