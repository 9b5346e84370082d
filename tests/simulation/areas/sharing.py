"""Conversations that machines share through a hub, which may be away, or restored, and whose answers may get lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tests.simulation.areas.chat import chat_about
from tests.simulation.areas.history import purge_those
from tests.simulation.hub.network import FAULTS
from tests.simulation.operations import Kind, Op, of_conversation, server_of
from tests.simulation.team import SECRET, TEAM, Team
from tests.simulation.world import Request, World

from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.domain.sharing.log import FORMAT, EntryKind, NewEntry
from palimpsest.domain.turns.journal import EventType
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.sharing import publication
from palimpsest_hub.errors import HubRefused

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_MOST_CONVERSATIONS: Final = 6


async def _share(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    """The others open it at once, mostly."""
    assert session.sharing is not None
    shared = await publication.share(session.sharing, at, TEAM)
    _know(world, shared)
    v = op.chance("others")
    for root in world.homes:
        if root != request.server.root and v.random() < 0.8:
            others = world.servers_of(root)
            server = others[v.randrange(len(others))] if others else world.add_server(root)
            world.request("open", server, lambda opening: _take_in(world, opening, shared))


def _know(world: World, at: ConversationId) -> None:
    if at not in world.conversations:
        world.conversations.append(at)


async def _take_in(world: World, request: Request, at: ConversationId) -> None:
    session = await world.open_folder(request.server)
    assert session.sharing is not None
    await publication.open_shared(session.sharing, TEAM, at)


def _open(world: World, op: Op) -> None:
    """One that is offered."""

    async def carry_out(request: Request) -> None:
        session = await world.open_folder(request.server)
        assert session.sharing is not None
        if offered := await publication.offered(session.sharing, TEAM):
            found = offered[op.b % len(offered)]
            _know(world, await publication.open_shared(session.sharing, TEAM, ConversationId(found.id)))

    world.request(op.kind, server_of(world, op), carry_out)


async def _unshare(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    assert session.sharing is not None
    if op.b % 2:
        await publication.unshare(session.sharing, at)


async def _pull(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    assert session.sharing is not None
    await (session.sharing.pull(at) if op.b % 3 else session.sharing.reconcile(at))


async def _follow(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    """Watches for a while what others write."""
    from palimpsest.services.sharing.following import Following

    assert session.sharing is not None
    shown = world.part(Team).shown
    said = ""
    turn = ""
    with contextlib.suppress(TimeoutError):
        async with (
            asyncio.timeout(op.chance("follow").choice((3.0, 20.0, 60.0))),
            contextlib.aclosing(Following(session.sharing, at).shown()) as following,
        ):
            async for frames in following:
                for each in frames:
                    if each.turn_id != turn or each.type != EventType.TEXT:
                        said, turn = "", each.turn_id
                    if each.type == EventType.TEXT:
                        said += each.text
                        shown[turn] = max(shown.get(turn, ""), said, key=len)


def _wait(world: World, op: Op) -> None:
    """Time passes, so that everybody looks at the hub."""
    world.request(op.kind, server_of(world, op), lambda _: asyncio.sleep(op.chance("wait").choice((5.0, 25.0, 70.0))))


def _secret(world: World, op: Op) -> None:
    word = f"zqword{op.number:04}u"
    number = "".join("ABCDEFGHIJ"[int(digit)] for digit in f"{op.number:06}")
    chat_about(world, op, word, f"What about {word}? {'Well. ' * (op.b % 4)}The key is {SECRET}{number}.")


# ------------------------------------------------------------------------------------------------------ what goes wrong


def _partition(world: World, op: Op) -> None:
    """The hub is away for one, or for all; or it is back."""
    away, v = world.part(Team).network.away, op.chance("partition")
    if away and v.random() < 0.6:
        away.clear()
    elif v.random() < 0.3:
        away.update(root.name for root in world.homes)
    else:
        away.add(world.homes[op.a % len(world.homes)].name)


async def _purge_away(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    """While the hub is away."""
    away, name = world.part(Team).network.away, request.server.root.name
    away.add(name)
    try:
        n_messages = (await session.contexts.state(at)).n_messages
        start = op.b % max(1, n_messages)
        wanted = (MessageId(start), MessageId(start + 1)) if n_messages and op.b % 4 else None
        await purge_those(world, request, session, at, wanted)
    finally:
        away.discard(name)


def _lose(world: World, op: Op) -> None:
    """Some of a machine's next calls go wrong."""
    v = op.chance("lose")
    calls = [v.choice(("", "", *FAULTS)) for _ in range(v.randint(1, 8))]
    world.part(Team).network.faults[world.homes[op.a % len(world.homes)].name] = deque(calls)


def _hub_clock(world: World, op: Op) -> None:
    world.part(Team).network.clock_s += op.chance("clock").choice((-600.0, -20.0, 20.0, 40.0, 600.0))


def _backup(world: World, op: Op) -> None:
    team = world.part(Team)
    team.backups.append(team.network.hub.backup())


def _restore(world: World, op: Op) -> None:
    team = world.part(Team)
    if team.backups:
        team.is_restored = True
        team.network.hub.restore(team.backups[-1])


def _newer(world: World, op: Op) -> None:
    """A member with a newer version goes on in a conversation."""
    team = world.part(Team)
    if not (shared := team.shared()) or op.b % 3:
        return
    found, hub = shared[op.a % len(shared)], team.network.hub
    with contextlib.suppress(HubRefused):
        lease = hub.lease("zoe", TEAM, found.new.id, "a newer store", "a turn", form=FORMAT + 1)
        hub.push("zoe", lease, [NewEntry(EntryKind.TURN, f"newer {op.number}", "{}")], form=FORMAT + 1)
        hub.release("zoe", lease)


def _leave(world: World, op: Op) -> None:
    """A member leaves the team, or comes back."""
    team = world.part(Team)
    hub, name = team.network.hub, team.members[world.homes[1 + op.a % (len(world.homes) - 1)]]
    is_in = team.hub.roles[TEAM, name] != "left"
    if name != "ann" and (op.b % 2 or not is_in):
        hub.set_membership("ann", TEAM, name, "left" if is_in else "writer")


# ---------------------------------------------------------------------------------------------------------------- looks


def begin(world: World, ops: Sequence[Op]) -> None:
    """Machines that share are there from the beginning, or never."""
    if any(op.kind in KINDS for op in ops):
        world.part(Team)


def calm(world: World) -> None:
    if world.has(Team):
        world.part(Team).calm()


def look(world: World, oracle: Oracle) -> None:
    if world.has(Team):
        world.part(Team).look()


def end(world: World, oracle: Oracle) -> None:
    if world.has(Team) and not world.problems:
        world.part(Team).end()


KINDS: Final = {
    "share": of_conversation(14, _share),
    "open": Kind(6, _open),
    "unshare": of_conversation(2, _unshare),
    "pull": of_conversation(4, _pull, is_late=True),
    "follow": of_conversation(4, _follow, is_late=True),
    "wait": Kind(5, _wait),
    "secret": Kind(4, _secret),
    "partition": Kind(6, _partition, is_late=True),
    "purge away": of_conversation(4, _purge_away),
    "lose": Kind(8, _lose, is_late=True),
    "hub clock": Kind(3, _hub_clock, is_late=True),
    "hub backup": Kind(3, _backup),
    "hub restore": Kind(2, _restore, is_late=True),
    "newer": Kind(1, _newer),
    "leave team": Kind(2, _leave),
}
