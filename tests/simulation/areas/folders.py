"""Folders that editors take up and leave, that go away and come back, and whose settings change meanwhile."""

from __future__ import annotations

import asyncio
from typing import Final

from tests.simulation.operations import Kind, Op, server_of
from tests.simulation.world import Request, Server, World

from palimpsest.services.folder.session import FolderSession


class Holders:
    """Editors that have the folder of a world, by server."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.of: dict[str, list[int]] = {}
        self._seen: set[str] = set()

    def see(self, server: Server) -> list[int]:
        """Those of a server, which from now on is busy while it closes the folder."""
        if server.node.name not in self._seen:
            self._seen.add(server.node.name)
            server.is_busy.append(lambda: self._is_closing(server))
        return self.of.setdefault(server.node.name, [])

    def _is_closing(self, server: Server) -> bool:
        return bool(server.folders._leaving or server.folders._closing)


def _take(world: World, op: Op) -> None:
    server = server_of(world, op)
    world.part(Holders).see(server).append(op.number)
    server.folders.hold(world.root, op.number)

    async def carry_out(request: Request) -> None:
        await world.open_folder(request.server)

    world.request(op.kind, server, carry_out)


def _leave(world: World, op: Op) -> None:
    """The editor goes: at once, or when it has waited a little."""
    server = server_of(world, op)
    if not (holders := world.part(Holders).see(server)):
        return
    holder = holders.pop(op.b % len(holders))

    async def carry_out(request: Request) -> None:
        await asyncio.sleep((0.0, 0.0, 0.5, 1.5)[op.b % 4])
        request.server.folders.leave(world.root, holder)

    world.request(op.kind, server, carry_out)


def _configure(world: World, op: Op) -> None:
    """Other settings, and whether the librarian learns, while turns run."""

    async def carry_out(request: Request) -> None:
        settings = {"variant": op.b % 8, "librarian": op.a % 3 != 0}
        await request.server.folders.hear(world.root, settings=settings, is_trusted=op.a % 2 == 0)
        session: FolderSession = await world.open_folder(request.server)
        is_last = dict(request.server.folders._words[world.root].settings) == settings
        if is_last and dict(session.editor_settings) != settings:
            world.problem("settings do not count", str(settings))

    world.request(op.kind, server_of(world, op), carry_out)


KINDS: Final = {
    "take": Kind(8, _take),
    "leave folder": Kind(10, _leave),
    "configure folder": Kind(6, _configure),
}
