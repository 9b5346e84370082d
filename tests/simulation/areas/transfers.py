"""Conversations that leave in files and come back, folders that move, copies, and doctors, while servers run."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Final

from tests.simulation.areas.history import Purges
from tests.simulation.elsewhere import Elsewhere, Export, rows_of
from tests.simulation.operations import Kind, Op, of_conversation, server_of
from tests.simulation.world import Request, World

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.transfer.conversation import Transfer
from palimpsest.domain.transfer.file_format import decode
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.conversation.transfer import Imported, Outcome, Transfers
from palimpsest.services.folder import adoption
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.maintenance import health
from palimpsest.storage.backups import copy_store

_MOST_CONVERSATIONS: Final = 6


async def _export(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    exported = await Transfers(session.conversations).export(at)
    if decode(exported.text).header.id != at:
        world.problem("export of another", at)
    world.part(Elsewhere).exports.append(Export(at, exported.text))


def _import(world: World, op: Op) -> None:
    """Imports an export into this folder or the other one, sound or broken."""
    elsewhere = world.part(Elsewhere)
    is_here = op.kind == "import"

    async def carry_out(request: Request) -> None:
        if not elsewhere.exports:
            return
        v = op.chance("import")
        export = elsewhere.exports[op.b % len(elsewhere.exports)]
        session = await (world.open_folder(request.server) if is_here else elsewhere.open(request.server))
        transfers = Transfers(session.conversations)
        elsewhere.n_imports += 1
        try:
            if v.random() < 0.35:
                await _refused(world, session, transfers, _broken(export.text, v), is_alone=not is_here)
            else:
                imported = await transfers.import_text(export.text)
                await _compare(world, transfers, imported, export)
                known = world.conversations if is_here else []
                if imported.record.id not in known and len(known) < _MOST_CONVERSATIONS and is_here:
                    known.append(imported.record.id)
        finally:
            elsewhere.n_imports -= 1

    world.request(op.kind, server_of(world, op), carry_out)


async def _refused(world: World, session: FolderSession, transfers: Transfers, text: str, *, is_alone: bool) -> None:
    """A file that is not what was exported is refused, and nothing of it stays."""
    elsewhere, directory = world.part(Elsewhere), session.folder.store.directory
    before = rows_of(directory, "conversation", "id")
    is_alone = is_alone and elsewhere.n_imports == 1
    try:
        await transfers.import_text(text)
    except InvalidRequest:
        is_alone = is_alone and elsewhere.n_imports == 1 and directory == elsewhere.directory
        if is_alone and rows_of(directory, "conversation", "id") != before:
            world.problem("refused and kept", "")
    else:
        world.problem("broken file imported", text[:60])


def _broken(text: str, v: random.Random) -> str:
    """Cut off, or with something else in it."""
    lines = text.splitlines()
    at = v.randrange(len(lines))
    match v.randrange(6):
        case 0:
            return text[: v.randrange(len(text) - 1)]
        case 1:
            del lines[at]
        case 2:
            value = json.loads(lines[at])
            key = v.choice(sorted(value))
            value[key] = v.choice((-1, 1 << 60, None, "x\u0000", [], {}, 1e308))
            lines[at] = json.dumps(value)
        case 3:
            lines.insert(at, lines[at])
        case 4:
            lines[at] = lines[at].replace('"type"', '"typo"') if at else lines[at].replace('"version":1', '"version":2')
        case _:
            lines[at] = "[" * 10_000
    return "\n".join(lines)


async def _compare(world: World, transfers: Transfers, imported: Imported, export: Export) -> None:
    """An import is exported unchanged."""
    wanted = decode(export.text)
    n_before = len(world.problems)
    again = decode((await transfers.export(imported.record.id)).text)
    if imported.outcome is Outcome.COPIED:
        if again.header.id == wanted.header.id or again.header.origin is None or again.header.parent is not None:
            world.problem("copy is no copy", imported.record.id)
    elif again.header.id != wanted.header.id:
        world.problem("imported as another", imported.note)
    if imported.outcome is not Outcome.PRESENT and _said(again) != _said(wanted) and not world.part(Purges):
        world.problem("import differs", f"{imported.outcome}: {_difference(again, wanted)}")
    assert len(world.problems) >= n_before


def _said(transfer: Transfer) -> list[object]:
    """The content that an import must keep, whatever its ids."""
    of = {each.id: (each.user_message, each.started_at) for each in transfer.turns}
    return [
        [(each.id, each.created_at, each.content_digest, each.content) for each in transfer.messages],
        [each.turn and of.get(each.turn) for each in transfer.messages],
        [(each.user_message, each.state, each.started_at) for each in transfer.turns],
        transfer.summaries,
        transfer.hidden,
        transfer.expansions,
        transfer.withdrawals,
        transfer.cuts,
        transfer.previews,
    ]


def _difference(one: Transfer, other: Transfer) -> str:
    parts = (
        "messages",
        "turns of messages",
        "turns",
        "summaries",
        "hidden",
        "expansions",
        "withdrawals",
        "cuts",
        "previews",
    )
    pairs = zip(parts, _said(one), _said(other), strict=True)
    return ", ".join(name for name, left, right in pairs if left != right)


def _change_elsewhere(world: World, op: Op) -> None:
    """Something changes in the other folder."""

    async def carry_out(request: Request) -> None:
        session = await world.part(Elsewhere).open(request.server)
        known = [record for record, _ in await session.conversations.list()]
        if known:
            at = known[op.b % len(known)].id
            if op.a % 2:
                await session.conversations.rename(at, f"Named {op.number}")
            else:
                await RuleCommands(session.contexts).pin(at, f"Keep promise {op.b % 3}.")

    world.request(op.kind, server_of(world, op), carry_out)


def _move(world: World, op: Op) -> None:
    world.part(Elsewhere).move()


def _adopt(world: World, op: Op) -> None:
    """Adopts what a moved folder left behind, now and then a second time."""

    async def carry_out(request: Request) -> None:
        elsewhere = world.part(Elsewhere)
        root, session = elsewhere.root, await elsewhere.open(request.server)
        left = await adoption.offered(session.folder.store)
        if left is None and not elsewhere.left:
            return
        directory = elsewhere.left[op.b % len(elsewhere.left)] if left is None else left.directory
        if directory == session.folder.store.directory:
            return
        adopted = await adoption.adopt(directory, session.conversations, root)
        if adopted.refused:
            world.problem("not adopted", adopted.refused[0])
        before = len(rows_of(session.folder.store.directory, "conversation"))
        again = await adoption.adopt(directory, session.conversations, root)
        after = len(rows_of(session.folder.store.directory, "conversation"))
        if elsewhere.n_imports == 0 and (again.n_pins or (before, again.n_present) != (after, again.n_conversations)):
            world.problem("adopted twice", f"{before} conversations, then {after}; {again}")
        if root == elsewhere.root:
            elsewhere.adopted = {directory}

    world.request(op.kind, server_of(world, op), carry_out)


def _copy(world: World, op: Op) -> None:
    async def carry_out(request: Request) -> None:
        await world.open_folder(request.server)
        await asyncio.to_thread(copy_store, world.directory, None)

    world.request(op.kind, server_of(world, op), carry_out)


def _doctor(world: World, op: Op) -> None:
    """Beside whatever is under way; and once more when all is quiet."""

    async def carry_out(request: Request) -> None:
        await world.open_folder(request.server)
        await (health.repair if op.b % 2 else health.examine)(world.directory)
        world.part(Elsewhere).wants_doctor = True

    world.request(op.kind, server_of(world, op), carry_out)


KINDS: Final = {
    "export": of_conversation(10, _export),
    "import": Kind(6, _import),
    "import elsewhere": Kind(8, _import),
    "change elsewhere": Kind(4, _change_elsewhere),
    "move": Kind(3, _move),
    "adopt": Kind(5, _adopt),
    "copy": Kind(2, _copy),
    "doctor": Kind(4, _doctor),
}
