"""What the editors of a run know together, and what a server that ends may not leave behind."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from contextvars import Context
from typing import Any

from tests.simulation.editor import Editor, Message
from tests.simulation.operations import Op
from tests.simulation.store_view import Row, StoreView
from tests.simulation.world import BASE, Server, World

from palimpsest.app.places import store_directory
from palimpsest.storage.directory import DATABASE_NAME


class Editors:
    """All of a world, and what they know together."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.all: list[Editor] = []
        self.turns: dict[str, list[int]] = {}
        """Those they were told of, each with the numbers of deltas they saw."""
        self.sent: list[Message] = []
        """Params of every chat."""
        self.tails: list[tuple[str, list[str]]] = []
        """Of turns that were followed from somewhere in the middle: what was shown."""
        self.turn_of: dict[str, str] = {}
        """By the id of a chat's request."""
        self.elsewhere: list[str] = []
        """Conversations of the other folder."""
        self.other = BASE / "other"
        self.other.mkdir(exist_ok=True)
        self._store_elsewhere = directory = store_directory(BASE / "data" / "folders", self.other)
        if (template := BASE / "template.db").exists() and not directory.exists():
            directory.mkdir(parents=True, mode=0o700)
            shutil.copy(template, directory / DATABASE_NAME)

    def ask(self, query: str, *of: object) -> list[tuple[Any, ...]]:
        """Reads the store outside of every server."""
        uri = f"{(self.world.directory / DATABASE_NAME).as_uri()}?mode=ro"
        with contextlib.closing(Context().run(sqlite3.connect, uri, uri=True)) as database:
            return database.execute(query, of).fetchall()

    def rows_elsewhere(self) -> list[Row]:
        """The messages of the other folder."""
        view = StoreView(self._store_elsewhere)
        if view.exists:
            with contextlib.closing(view):
                view.renew()
        return list(view.rows.values())

    @property
    def connected(self) -> list[Editor]:
        return [each for each in self.all if each.is_connected]

    def add(self, editor: Editor) -> None:
        """With a server of its own, that ends with it."""
        self.all.append(editor)
        if editor.server.is_private:
            editor.serving.add_done_callback(lambda _: end_process(self.world, editor.server))

    def conversation(self, op: Op) -> str:
        found = [*self.world.conversations, *self.elsewhere]
        return found[op.a // 7 % len(found)] if found and op.a % 23 else "nothing"

    def learn(self, conversation_id: str, *, is_here: bool) -> None:
        known: list[Any] = self.world.conversations if is_here else self.elsewhere
        if conversation_id not in known:
            known.append(conversation_id)


def end_process(world: World, server: Server) -> None:
    """It has closed what it had open. Nothing may be left of it."""
    if server in world.servers:
        if not world.disk.n_failed:
            if left := [root.name for root in server.folders._sessions]:
                world.problem("left open by a server that ended", str(left))
            _look_for_leases(world, server)
        world.kill(server)


def _look_for_leases(world: World, server: Server) -> None:
    held = world.part(Editors).ask("SELECT server FROM lease WHERE server IS NOT NULL")
    if any(each in server.opened for (each,) in held):
        world.problem("lease of a server that ended", "")
