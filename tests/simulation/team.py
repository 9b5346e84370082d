"""Machines whose users share conversations, and what must be true of all of them together."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.areas.chat import Looks
from tests.simulation.hub.network import Network, Way
from tests.simulation.hub.stored import Conversation, Stored
from tests.simulation.scheduler import NODE, Node
from tests.simulation.service import WORD
from tests.simulation.store_view import words_of
from tests.simulation.world import BASE, Request, Server, World

from palimpsest.domain.errors import ErrorKind, PalimpsestError
from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.domain.settings.settings import HubSettings
from palimpsest.domain.sharing.log import FORMAT
from palimpsest.services.turns.running import RunningTurn

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle, Oracles

TEAM: Final = "the team"
SECRET: Final = "AKIAQ7PUMPHALL"
"""With six letters behind it, a key of a known form."""
_KEY: Final = re.compile(SECRET + "[A-J]{6}")
_POLL_S: Final = 10
_IN_STEP_S: Final = 150.0
"""Until everybody has what the hub has: a look at it, one of the others at what that pushed, pauses that have grown."""
_IN_THE_WAY: Final = (ErrorKind.HUB, ErrorKind.HUB_UNREACHABLE, ErrorKind.CONVERSATION_BUSY, ErrorKind.INTERNAL)


@dataclass(frozen=True, slots=True)
class Hubs:
    """Stands for `HubPool`."""

    way: Way

    @staticmethod
    def is_installed() -> bool:
        return True

    def get(self, settings: HubSettings) -> Way:
        return self.way

    async def aclose(self) -> None:
        """There is nothing to close."""


@dataclass(eq=False, slots=True)
class Team:
    """The machines of a world: two or three, each with a member's store."""

    world: World
    network: Network = field(init=False)
    members: dict[Path, str] = field(default_factory=dict)
    """The member of each machine. One may have two."""
    backups: list[Stored] = field(default_factory=list)
    is_restored: bool = False
    """Whether the hub ever was: what was purged or unshared since the backup is there again."""
    shown: dict[str, str] = field(default_factory=dict)
    """By turn: what those who followed it elsewhere were shown of a step, one longest piece."""
    _ways: dict[Node, Way] = field(default_factory=dict)

    def __post_init__(self) -> None:
        world, v = self.world, random.Random(f"team {self.world.variant}")
        self.network = Network(world.loop, random.Random(f"network {world.variant}"))
        names = ["ann", "bob", *([v.choice(("ann", "carl"))] if v.random() < 0.3 else [])]
        for number, name in enumerate(names):
            if number:
                world.homes.append(BASE / "homes" / f"m{number}")
                world.make_home(world.homes[-1])
            self.members[world.homes[number]] = name
        stored = self.network.hub.stored
        stored.teams[TEAM] = "pumps"
        for name in {*names, "zoe"}:  # who works with a newer version
            stored.members[name] = name
            stored.roles[TEAM, name] = "admin" if name == "ann" else "writer"
        world.hub_settings = HubSettings(url="hub", poll_s=_POLL_S)
        world.open_hubs = self._open_hubs
        world.on_server.append(self._watch)

    def _open_hubs(self, root: Path) -> Hubs:
        way = self._ways[NODE.get()] = Way(self.network, root.name, self.members[root])
        return Hubs(way)

    def _watch(self, server: Server) -> None:
        server.is_busy.append(lambda: self._ways[server.node].n_under_way > 0)

    @property
    def oracles(self) -> Oracles:
        from tests.simulation.oracle import Oracles  # which knows the areas

        return self.world.part(Oracles)

    @property
    def hub(self) -> Stored:
        return self.network.hub.stored

    def shared(self) -> list[Conversation]:
        """The conversations that are shared now."""
        return [each for each in self.hub.conversations.values() if not each.is_unshared]

    # ------------------------------------------------------------------------------------------------ when all is quiet

    def look(self) -> None:
        oracles = self.oracles
        self._look_for_secrets()
        for oracle in oracles.values():
            if oracle.view.exists:
                self._look_at_own(oracle)
        self._look_at_shown(oracles)

    def _look_for_secrets(self) -> None:
        for where, text in self._texts():
            if _KEY.search(text):
                self.world.problem("secret in the hub", where)

    def _texts(self) -> Iterator[tuple[str, str]]:
        """All that the hub could show of what somebody said, each with its place. What nobody shares, because
        the answer to who shared it was lost, or because everybody left, nobody can purge."""
        for each in self.hub.conversations.values():
            if not any(self.has(oracle, each) for oracle in self.oracles.values() if oracle.view.exists):
                continue
            yield "a title", each.title or ""
            for row in each.rows:
                yield f"a {row.kind}", row.body or ""
            for frame in each.live.values():
                yield "a frame", frame

    def _look_at_own(self, oracle: Oracle) -> None:
        """In a conversation that was never shared stands only what was said on its machine."""
        said_at: dict[str, Path] = {look.turn_id: look.server.root for look in self.world.part(Looks)}
        origins = {key[7:] for (key,) in oracle.view.ask("SELECT key FROM meta WHERE key GLOB 'origin:*'")}
        ever = {at for _, at in self.hub.conversations} | origins
        for row in oracle.view.rows.values():
            root = said_at.get(row.turn or "", oracle.root)
            if row.owner not in ever and root != oracle.root and not self.is_restored:
                self.world.problem("somebody else's words", f"{row.owner} {row.id}")

    def _look_at_shown(self, oracles: Oracles) -> None:
        """What a follower was shown of a turn is part of what it said."""
        for turn, text in self.shown.items():
            rows = [row for each in oracles.values() for row in each.view.rows.values() if row.turn == turn]
            said = [row.text for row in rows if not row.is_purged]
            if rows and not any(row.is_purged for row in rows) and not any(text in each for each in said):
                self.world.problem("followers were shown something else", text[:60])

    # ------------------------------------------------------------------------------------------------------- at the end

    def calm(self) -> None:
        """All faults end, and there is time enough."""
        self.network.heal()
        self.world.disk.repair()
        for root in self.world.homes:
            server = (self.world.servers_of(root) or [self.world.add_server(root)])[0]
            self.world.request("open", server, self._open)
        self.world.settle()
        self._pass_time(_IN_STEP_S)

    async def _open(self, request: Request) -> None:
        await self.world.open_folder(request.server)

    def _pass_time(self, seconds: float) -> None:
        loop = self.world.loop
        end_s = loop.now_s + seconds
        while loop.now_s < end_s or self.network.n_late:
            if not loop.step():
                break
        self.world.settle()

    def end(self) -> None:
        self._pass_time(_IN_STEP_S)
        self._compare()
        if self.world.problems:
            return
        for number, each in enumerate(self.shared()):
            if each.format > FORMAT:
                continue
            for root in self.world.homes:
                if self.has(self.oracles[root], each):
                    self._go_on(root, each, number)
        self._pass_time(_IN_STEP_S)
        for oracle in self.oracles.values():
            oracle.look()
        self.look()
        self._compare()

    def _go_on(self, root: Path, found: Conversation, number: int) -> None:
        """With nobody else there, everybody can write."""

        async def carry_out(request: Request) -> None:
            session = await self.world.open_folder(request.server)
            text = f"What about zqword{9900 + number}u{self.world.homes.index(root)}?"
            try:
                started = await session.turns.start(ConversationId(found.new.id), f"last {number}", user_message(text))
            except PalimpsestError as error:
                if error.kind in _IN_THE_WAY:
                    self.world.problem("cannot be gone on with", f"{error.kind}: {error}")
                return
            if isinstance(started, RunningTurn):
                await started.wait()
            await asyncio.gather(*list(session.sharing.closing.values() if session.sharing else ()))

        self.world.request("last chat", self.world.servers_of(root)[0], carry_out)
        self.world.settle()

    @staticmethod
    def has(oracle: Oracle, found: Conversation) -> bool:
        """Whether the store shares the conversation."""
        return bool(oracle.view.ask("SELECT 1 FROM shared_conversation WHERE conversation = ?", found.new.id))

    def _compare(self) -> None:
        """Everybody has what the hub has, and nobody what was purged."""
        oracles = self.oracles
        for oracle in oracles.values():
            oracle.view.renew()
            is_in = self.hub.roles[TEAM, self.members[oracle.root]] != "left"
            if is_in and (left := oracle.view.ask("SELECT conversation FROM purge_intent")):
                self.world.problem("purge never sent", str(left))
        for found in self.shared():
            if self.network.hub._is_held(found):
                self.world.problem("hub's lease held by nobody", found.holder or "")
            for oracle in oracles.values():
                if self.has(oracle, found):
                    self._compare_with(oracle, found)
        self._look_for_purged(oracles)

    def _compare_with(self, oracle: Oracle, found: Conversation) -> None:
        view, at, name = oracle.view, found.new.id, oracle.root.name
        ((hub_seq,),) = view.ask("SELECT hub_seq FROM shared_conversation WHERE conversation = ?", at)
        known = [each for each in found.rows if each.format <= FORMAT]
        is_newer = len(known) < len(found.rows)
        if not is_newer and hub_seq != found.head_seq:
            self.world.problem("not in step", f"{name} has {hub_seq} of {found.head_seq}")
            return
        columns = "message_id, created_at, turn, content_digest, digest, content"
        here = view.ask(f"SELECT {columns} FROM message WHERE conversation = ? ORDER BY message_id", at)
        there = [
            (said.message_id, said.said_at, said.turn, said.content_digest, said.digest, row.body)
            for row in found.rows[: hub_seq if is_newer else None]
            if (said := row.message) is not None
        ]
        if here[: len(there)] != there or (not is_newer and len(here) != len(there)):
            self.world.problem("messages differ", f"{name}: {_first_difference(here, there)}")
        if is_newer:
            return
        # What is purged is hidden in each store by itself.
        purged = {row.id for row in view.messages_of(at) if row.is_purged}
        hidden = {each for span in view.hidden.get(at, ()) for each in range(*span)} - purged
        told = [json.loads(row.body or "[]") for row in found.rows if row.kind == "hidden"]
        if hidden != {each for start, end, _ in told for each in range(start, end)} - purged:
            self.world.problem("hidden messages differ", f"{name}: {sorted(hidden)} here, {sorted(told)} there")
        ((title,),) = view.ask("SELECT title FROM conversation WHERE id = ?", at)
        if title != found.title:
            self.world.problem("titles differ", f"{name}: {title!r} here, {found.title!r} there")
        ended = {turn for (turn,) in view.ask("SELECT id FROM turn WHERE conversation = ?", at)}
        if ended != {row.key for row in found.rows if row.kind == "turn"}:
            self.world.problem("turns differ", f"{name}: {len(ended)} here")

    def _look_for_purged(self, oracles: Oracles) -> None:
        rows = [row for each in oracles.values() for row in each.view.rows.values()]
        kept = words_of(row for row in rows if not row.is_purged) | self.world.kept
        purged = words_of(row for row in rows if row.is_purged) - kept
        if self.is_restored or not purged:
            return
        for where, text in self._texts():
            if found := purged.intersection(WORD.findall(text)):
                self.world.problem("purged word in the hub", f"{min(found)} in {where}")
        for oracle in oracles.values():
            for path in sorted(oracle.view.directory.rglob("*")):
                data = path.read_bytes() if path.is_file() else b""
                if found := frozenset(word for word in purged if word.encode() in data):
                    where = f"{oracle.root.name} {path.name} {oracle.view.table_of(min(found))}"
                    self.world.problem("purged word elsewhere", f"{min(found)} {where}")


def _first_difference(here: list[tuple[Any, ...]], there: list[tuple[Any, ...]]) -> str:
    pairs = [(one, other) for one, other in zip(here, there, strict=False) if one != other]
    if not pairs:
        return f"{len(here)} here, {len(there)} there"
    return f"{pairs[0][0]} here, {pairs[0][1]} there"[:300]
