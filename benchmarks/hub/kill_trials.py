"""Kills servers, and the hub, while two machines write one shared conversation.

    python -m benchmarks.hub.kill_trials [--trials N] [--seed S] [--first T]

Real servers, each with an editor, on the homes and stores of two members, speak in one conversation through a real
PostgreSQL, as fast as they may, and follow each other; a lease that is not renewed ends after a second, so they take it
from each other. In one half of the trials each member has one server, in the other one has two, on one home and one
store, which also contest the store's own lease (`layouts`). At a random moment in a turn one server is killed with
SIGKILL, or several, or one's way to the hub is cut for a while, or all connections of the hub, or one of its backends
is killed, so that it recovers from its log. A server that was not hit goes on for a while, and takes over what its
neighbor was saying; then it is killed too, or in one trial of three it only falls silent. Then what was killed starts
again, all come into step by themselves, and this has to hold:

- each word of an answer, and each question, that an editor was shown is in its own store exactly once, also where the
  turn was that of another server on this store;
- a question that was refused is not in the store;
- each word that an editor was shown of a turn of the other member is in one of the stores;
- the shared conversation is the same in both stores and in the hub: ids, digests, bytes, turns;
- the hub's log has no gap, and every digest in it follows;
- `palimpsest doctor` finds nothing in either store.

The next trial goes on with the same stores; after 20 trials the stores are new, and the layout is the other one. A
trial that fails prints how to run the same choices again (the moments are those of the machine), and its stores are
kept.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import psycopg
from benchmarks.hub.layouts import BACKEND, CONNECTIONS, Hit, Layout, layout_of
from benchmarks.hub.machines import SETTLE_S, WORD, Machine, Model
from benchmarks.hub.relay import Relay
from psycopg.conninfo import make_conninfo
from tests.faults import lab as servers
from tests.faults.checks import Broken, require
from tests.hub import lab as hubs
from tests.hub.postgres import running
from tests.lsp.rawlsp import REPOSITORY

from palimpsest.services.maintenance.health import examine
from palimpsest.storage.maintenance.health import Verdict
from palimpsest_hub import administration, inspection

TRIALS_A_SET: Final = 20
_ENTRIES: Final = """SELECT seq, kind, key, message_id, digest, body FROM hub.entry
    WHERE conversation = %s ORDER BY seq"""
_INTERRUPTED: Final = "SELECT 1 FROM turn WHERE request_id = ? AND state = 'interrupted'"
_MOVED: Final = "SELECT 1 FROM meta WHERE key LIKE 'origin:%'"
_SILENT: Final = 1 / 3
"""How often a server that was not hit is not killed either."""


@dataclass
class Trials:
    """Everything that trials share."""

    lab: servers.Lab
    admin: str
    """The address of the hub's administrator."""
    gate: administration.Login
    postgres: str
    """The address of its superuser."""
    model: Model
    seed: int
    place: Path | None
    """The folder of the stores; None for the usual one of what is temporary."""
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, seed: int, product: Path, place: Path | None) -> AsyncIterator[Self]:
        with running(max_connections="40") as postgres:
            admin = hubs.new_hub(postgres)
            gate = administration.make_login(admin, "gate", None)
            async with servers.Lab.opened(product=product) as lab, Model() as model:
                yield cls(lab, admin, gate, postgres, model, seed, place)

    async def run_set(self, first: int, after: int) -> None:
        """The trials [first, after), on two new stores. Raises Broken with what did not hold, and keeps the stores."""
        root = Path(tempfile.mkdtemp(prefix="kill-trials-", dir=self.place))
        trial, layout = first, layout_of(first // TRIALS_A_SET)
        async with contextlib.AsyncExitStack() as stack:
            machines = await self._machines(layout, root, stack)
            try:
                for machine in machines.values():
                    await machine.start(self.lab)
                at = await self._share(machines)
                for trial in range(first, after):
                    await self._try(trial, layout, machines, at)
                trouble = [each.sentence for each in inspection.examine(self.admin) if each.is_trouble]
                require(not trouble, f"the hub's doctor says: {trouble}")
            except (AssertionError, TimeoutError, EOFError, sqlite3.Error, psycopg.Error) as error:
                again = f"--seed {self.seed} --first {first} --trials {trial + 1 - first}"
                raise Broken(
                    f"trial {trial}: {type(error).__name__}: {error}\n  stores: {root}\n  again: {again}"
                ) from error
            finally:
                for machine in machines.values():
                    if machine.server is not None:
                        await machine.kill()
            for machine in machines.values():
                self.counts["pieces shown"] += len(machine.shown)
                self.counts["pieces followed"] += len(machine.followed)
                self.counts["turns of a neighbor watched"] += machine.n_watched
            for machine in _one_of_each_store(machines):
                self.counts[f"moved apart, {layout.name}"] += len(machine.read(_MOVED))
                self.lab.discard(machine.place)
        shutil.rmtree(root)

    async def _machines(self, layout: Layout, root: Path, stack: contextlib.AsyncExitStack) -> dict[str, Machine]:
        """Each with a way of its own to the hub."""
        members = sorted(set(layout.members.values()))
        with hubs.owning(self.admin) as owner:
            team = hubs.Lab(self.admin, self.gate, owner).team(**dict.fromkeys(members, "writer"))
        places: dict[str, servers.Place] = {}
        for member in members:
            (root / member).mkdir()
            places[member] = self.lab.place(root / member)
        machines: dict[str, Machine] = {}
        for name, member in layout.members.items():
            way = await stack.enter_async_context(Relay(self.admin))
            variables = {
                "OPENAI_BASE_URL": f"{self.model.url}/v1",
                "PALIMPSEST_HUB_URL": way.way(self.gate.name, self.gate.password),
                "PALIMPSEST_HUB_TOKEN": team.tokens[member],
            }
            machines[name] = Machine(name, member, places[member], variables, way)
        return machines

    async def _share(self, machines: Mapping[str, Machine]) -> str:
        """A conversation that both members have; its id."""
        ann, bob = (machines[name] for name in ("ann", "bob"))
        made = await ann.client.result("palimpsest/conversation/create", {"title": "one"})
        at = str(made["conversationId"])
        require(await ann.ask(at, "q000000") == "whole", "there was no first turn")
        await ann.client.result("palimpsest/command/run", {"conversationId": at, "text": "/share yes"})
        await bob.client.result("palimpsest/command/run", {"text": f"/shared {at[:8]}"})
        await self._look(machines.values(), machines, at)
        return at

    async def _look(self, which: Iterable[Machine], machines: Mapping[str, Machine], at: str) -> None:
        """The editors of `which` show the conversation."""
        n_servers = Counter(each.member for each in machines.values())
        await asyncio.gather(*(each.look_at(at, has_neighbor=n_servers[each.member] > 1) for each in which))

    async def _try(self, trial: int, layout: Layout, machines: Mapping[str, Machine], at: str) -> None:
        rng = random.Random(f"{self.seed} {trial}")
        self.model.random = random.Random(f"{self.seed} {trial} model")
        hit, falls_silent = layout.choose(rng), rng.random() < _SILENT
        killed = [machines[name] for name in hit.killed]
        left = [machine for machine in machines.values() if machine not in killed]
        speaking = [
            asyncio.create_task(self._speak(machine, at, random.Random(f"{self.seed} {trial} {name}")))
            for name, machine in machines.items()
        ]
        await asyncio.sleep(rng.uniform(0.2, 1.0))
        for _ in range(1000):  # in a turn, if there is one soon
            if any(each.is_shown_something for each in killed or machines.values()):
                break
            await asyncio.sleep(0.002)
        if hit.name in (CONNECTIONS, BACKEND):
            await asyncio.to_thread(self._hit_hub, hit, rng)
        elif hit.cut is not None:
            machines[hit.cut].way.cut()
            await asyncio.sleep(rng.uniform(0.2, 2.0))
            if rng.random() < 0.5:  # or the server is killed before
                machines[hit.cut].way.mend()
        cut_short = [(each, each.asks) for each in killed]
        await asyncio.gather(*(each.kill() for each in killed))
        if left:  # what is left goes on for a while, and may take over
            await asyncio.sleep(rng.uniform(0.1, 1.4))
            for machine, word in cut_short:
                self.counts["taken over by a neighbor"] += len(machine.read(_INTERRUPTED, word))
        if falls_silent:
            for each in left:
                each.speaks = False
        else:
            await asyncio.gather(*(each.kill() for each in left))
        await asyncio.gather(*speaking)
        started = [each for each in machines.values() if each.server is None]
        for machine in machines.values():
            machine.way.mend()
        for machine in started:
            await machine.start(self.lab)
        await self._look(started, machines, at)
        await self._settle(machines, at)
        await self._check(machines, at)
        self.counts[f"{layout.name}, hit: {hit.name}"] += 1
        self.counts["some fell silent"] += bool(left) and falls_silent

    async def _speak(self, machine: Machine, at: str, rng: random.Random) -> None:
        """Asks one question after the other, until the server is gone or the machine falls silent."""
        server, machine.speaks = machine.server, True
        while machine.server is server and machine.speaks:
            self.model.n_words += 1
            what = await machine.ask(at, f"q{self.model.n_words:06}")
            self.counts[f"turn: {what}"] += 1
            await asyncio.sleep(rng.uniform(0, 0.05 if what == "whole" else 0.15))

    def _hit_hub(self, hit: Hit, rng: random.Random) -> None:
        with psycopg.connect(make_conninfo(self.postgres, dbname="hub"), autocommit=True) as admin:
            found = admin.execute("SELECT pid FROM pg_stat_activity WHERE usename = 'gate' ORDER BY pid").fetchall()
            if hit.name == CONNECTIONS:
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gate'")
        if hit.name == BACKEND and found:
            os.kill(rng.choice(found)[0], signal.SIGKILL)  # PostgreSQL then starts anew from its log

    async def _settle(self, machines: Mapping[str, Machine], at: str) -> None:
        """Until both stores have all that the hub has, and the hub all that they have."""
        differs, until = "", time.monotonic() + SETTLE_S
        while time.monotonic() < until:
            if not (differs := await asyncio.to_thread(self._difference, machines, at)):
                return
            await asyncio.sleep(0.05)
        raise Broken(f"the stores do not settle: {differs}")

    def _difference(self, machines: Mapping[str, Machine], at: str) -> str:
        """What keeps the stores and the hub from being the same; empty when they are."""
        messages = "SELECT message_id, digest, content FROM message WHERE conversation = ? ORDER BY message_id"
        turns = "SELECT id, user_message_id, state FROM turn WHERE conversation = ? ORDER BY id"
        try:
            with hubs.owning(self.admin) as owner, owner.transaction():
                owner.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                entries = owner.execute(_ENTRIES, [at]).fetchall()
                ((head,),) = owner.execute("SELECT head_seq FROM hub.conversation WHERE id = %s", [at]).fetchall()
        except psycopg.OperationalError:
            return "the hub is not back yet"
        require([each[0] for each in entries] == list(range(1, head + 1)), "the hub's log has a gap")
        theirs = [tuple(each[3:]) for each in entries if each[1] == "message"]
        ended = {each[2] for each in entries if each[1] == "turn"}
        found: list[Any] = []
        for machine in _one_of_each_store(machines):
            name = machine.member
            ((hub_seq,),) = machine.read("SELECT hub_seq FROM shared_conversation WHERE conversation = ?", at)
            if hub_seq != head:
                return f"{name} has entries up to {hub_seq} of {head}"
            if (own := machine.read(messages, at)) != theirs:
                return f"{name} has {len(own)} messages, the hub {len(theirs)}"
            found.append(machine.read(turns, at))
            if {each[0] for each in found[-1]} != ended:
                return f"{name} has other turns than the hub"
        return "" if found[0] == found[1] else "the turns differ"

    async def _check(self, machines: Mapping[str, Machine], at: str) -> None:
        said: set[str] = set()
        for machine in machines.values():
            machine.note_followed(machine.client)
        for one in _one_of_each_store(machines):
            rows = one.read("SELECT content FROM message WHERE content IS NOT NULL")
            times = Counter(word for (text,) in rows for word in WORD.findall(text))
            said |= times.keys()
            doubled = {word for word, n in times.items() if n > 1}
            require(not doubled, f"{one.member} has twice: {sorted(doubled)}")
            for each in machines.values():
                if each.member == one.member:
                    require(not (lost := each.shown - times.keys()), f"{each.name} has lost {sorted(lost)}")
                    kept = sorted(each.refused & times.keys())
                    require(not kept, f"{each.name} has stored what it refused: {kept}")
            await self._ask_doctor(one)
        for name, machine in machines.items():
            require(machine.followed <= said, f"{name} was shown what nobody has: {sorted(machine.followed - said)}")

    async def _ask_doctor(self, machine: Machine) -> None:
        """A server that just started may still be making messages findable."""
        findings: list[Any] = []
        for _ in range(40):
            report = await examine(machine.store)
            findings = [each for each in report.findings if each.verdict is not Verdict.OK]
            if not findings:
                return
            await asyncio.sleep(0.1)
        raise Broken(f"the doctor finds in the store of {machine.member}: {findings}")


def _one_of_each_store(machines: Mapping[str, Machine]) -> list[Machine]:
    return list({machine.member: machine for machine in machines.values()}.values())


async def run(
    n_trials: int,
    seed: int,
    first: int = 0,
    product: Path = REPOSITORY / "server",
    place: Path | None = None,
) -> int:
    """Returns how many sets of trials failed. `product`: the folder of the package that is tried. `place`: as of
    `Trials`."""
    began, n_failed = time.monotonic(), 0
    async with Trials.opened(seed, product, place) as trials:
        for start in range(first, first + n_trials, TRIALS_A_SET):
            after = min(start + TRIALS_A_SET, first + n_trials)
            try:
                await trials.run_set(start, after)
            except Broken as broken:
                n_failed += 1
                print(f"FAILED {broken}", flush=True)
            a_trial = (time.monotonic() - began) / (after - first)
            print(
                f"{after - first} trials, {a_trial:.2f} s each, load {os.getloadavg()[0]:.1f}, {n_failed} failed: "
                + ", ".join(f"{name} {n:,}" for name, n in sorted(trials.counts.items())),
                flush=True,
            )
    return n_failed


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hub.kill_trials")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial, a multiple of 20")
    options = parser.parse_args(arguments)
    return 1 if asyncio.run(run(options.trials, options.seed, options.first)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
