"""What happens to the machine and its servers: cancelled requests, deaths, more servers, failing disks, clocks that
jump, other settings."""

from __future__ import annotations

from typing import Final

from tests.simulation.operations import Kind, Op, server_of
from tests.simulation.world import Request, World

_MOST_SERVERS: Final = 2


def _cancel(world: World, op: Op) -> None:
    waiting = [request for request in world.requests if not request.is_answered]
    if waiting:
        # Mostly the newest: the one before it in the list.
        request = waiting[-1 - (op.a % len(waiting) if op.b % 4 == 0 else 0)]
        request.was_cancelled = True
        world.loop.call_soon(request.task.cancel, context=request.server.node.context)


def _second(world: World, op: Op) -> None:
    home = world.homes[op.a % len(world.homes)]
    if len(world.servers_of(home)) < _MOST_SERVERS:
        world.add_server(home)


def _kill(world: World, op: Op) -> None:
    if world.servers:
        world.kill(server_of(world, op))


def _unlock(world: World, op: Op) -> None:
    """Somebody removes the lock file of a server with a turn, so that the others take it for dead; and it goes on."""
    sessions = [each.session for each in world.servers if each.session is not None and each.session.folder.running]
    if sessions and len(world.servers) > 1:
        world.has_unlocked = True
        server_id = sessions[op.a % len(sessions)].folder.store.server_id
        (world.directory / "servers" / f"{server_id}.lock").unlink(missing_ok=True)


def _clock(world: World, op: Op) -> None:
    world.wall_s += (op.a - (1 << 15)) * 10


def _fault(world: World, op: Op) -> None:
    world.disk.fail(op.a % (1, 8, 60)[op.b % 3], 1 + op.b // 3 % 6, is_full=op.a % 2 == 0)


def _settings(world: World, op: Op) -> None:
    async def carry_out(request: Request) -> None:
        await world.open_folder(request.server)
        await request.server.folders.hear(request.server.root, settings={"variant": op.b % 8})
        await world.open_folder(request.server)

    world.request(op.kind, server_of(world, op), carry_out)


def _trust(world: World, op: Op) -> None:
    async def carry_out(request: Request) -> None:
        await world.open_folder(request.server)
        await request.server.folders.hear(request.server.root, is_trusted=op.b % 2 == 0)
        await world.open_folder(request.server)

    world.request(op.kind, server_of(world, op), carry_out)


KINDS: Final = {
    "cancel": Kind(14, _cancel, is_late=True),
    "second": Kind(2, _second),
    "kill": Kind(3, _kill),
    "unlock": Kind(4, _unlock, is_late=True),
    "clock": Kind(1, _clock),
    "fault": Kind(3, _fault),
    "settings": Kind(2, _settings),
    "trust": Kind(1, _trust),
}
