"""How long a piece of an answer takes from the model's service of one machine to the screen of another.

    python -m benchmarks.hub.latency [--deltas N] [--runs N]

Machines A and B are real servers, each with an editor; B's shows the conversation and attaches to A's turns. Each
delta of the model is the moment it was written. The hub is reached directly, through PgBouncer (one login, tokens), and
with 20 ms more in each direction. Targets: 95 % in 60 ms on this machine, and in three round trips and 60 ms where the
hub is far.

The reference is what PostgreSQL needs for that at least: a row is written and notified over one connection, and read
over another that was woken; by plain psycopg, the same way, between the runs.

Beside it: how many round trips, and how long, it takes to begin a turn (target: at most two); and how long a delta
takes to A's own screen, durable in its store, against a server without any hub in the same turns (target: no longer).
On a machine that has much else to do this is chance; what A's server takes of a processor is less so. At the end of
each way an answer loses the hub as soon as it has begun.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg
from benchmarks.editor import OURS, Client, Service, on, started
from benchmarks.hub.places import home, hub_on_disk, load, spread
from benchmarks.hub.relay import Relay
from benchmarks.journal import Arrivals
from tests.hub.lab import Lab, TestTeam
from tests.hub.pooler import pooling, pooling_program
from tests.lsp import rawlsp
from tests.lsp.rawlsp import RawClient

PAUSE_S: Final = 0.02
"""Between two deltas: fifty a second, as a model writes."""
AWAY_S: Final = 0.02
"""How much longer each direction takes where the hub is far."""


@dataclass
class OwnScreen:
    """Deltas on the screen of the machine that asked for them."""

    latencies_ms: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0
    """Of its server, for all of them."""

    def add(self, answer: Answer) -> None:
        self.latencies_ms += answer.arrivals.latencies_ms
        self.cpu_ms += answer.cpu_ms

    def __str__(self) -> str:
        return f"{spread(self.latencies_ms)}, {self.cpu_ms / len(self.latencies_ms):.2f} ms of a processor each"

    def against(self, other: OwnScreen) -> str:
        return f"{statistics.median(self.latencies_ms) / statistics.median(other.latencies_ms):.2f}"


@dataclass
class Way:
    """A way to the hub, with the pair of machines that use it, and what was measured there."""

    name: str
    relay: Relay
    url: str
    listen_url: str
    one_way_s: float = 0.0
    at: str = ""
    client: Client | None = None
    here: OwnScreen = field(default_factory=OwnScreen)
    away: OwnScreen = field(default_factory=OwnScreen)
    """Of an answer that has lost the hub."""
    there_ms: list[float] = field(default_factory=list)
    least_ms: list[float] = field(default_factory=list)
    """Of the reference."""
    begun_ms: list[float] = field(default_factory=list)
    n_round_trips: list[int] = field(default_factory=list)

    def variables(self, team: TestTeam, name: str, service: Service) -> dict[str, str]:
        return on(service) | {
            "PALIMPSEST_HUB_URL": self.url,
            "PALIMPSEST_HUB_LISTEN_URL": self.listen_url,
            "PALIMPSEST_HUB_TOKEN": team.tokens[name],
            "PALIMPSEST_HUB_POLL_S": "600",
        }


@contextlib.asynccontextmanager
async def ways(lab: Lab) -> AsyncIterator[list[Way]]:
    """All of them, each counted by a relay of its own."""
    gate = lab.gate
    async with contextlib.AsyncExitStack() as stack:
        near = await stack.enter_async_context(Relay(lab.admin))
        far = await stack.enter_async_context(Relay(lab.admin, AWAY_S))
        found = [
            Way("direct", near, near.way(gate.name, gate.password), near.way(gate.name, gate.password)),
            Way("20 ms away", far, far.way(gate.name, gate.password), far.way(gate.name, gate.password), AWAY_S),
        ]
        if pooling_program() is not None:
            pooler = stack.enter_context(pooling(lab, 5))
            behind = await stack.enter_async_context(Relay(pooler))
            found.append(
                Way("PgBouncer", behind, behind.way("gate", gate.password), near.way(gate.name, gate.password))
            )
        yield found


@contextlib.asynccontextmanager
async def sharing(way: Way, lab: Lab, service: Service, root: Path) -> AsyncIterator[None]:
    """Both machines of a way, with a conversation that they share. What B shows is noted."""
    team = lab.team(ann="writer", bob="writer")
    here, there = home(root, f"a {way.name}"), home(root, f"b {way.name}")
    places = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    of_bob = dict.fromkeys(places, str(there)) | way.variables(team, "bob", service)
    async with (
        started(OURS, here, **way.variables(team, "ann", service)) as way.client,
        rawlsp.started(OURS, **of_bob) as bob,
    ):
        made = await way.client.request("palimpsest/conversation/create", {"title": "herons"})
        way.at = made["conversationId"]
        await ask(way.client, way.at, 1, service)
        await way.client.request("palimpsest/command/run", {"conversationId": way.at, "text": "/share yes"})
        await bob.initialize(workspaceFolders=[{"uri": there.as_uri(), "name": "x"}])
        await bob.result("palimpsest/command/run", {"text": f"/shared {way.at[:8]}"})
        await bob.result("palimpsest/conversation/read", {"conversationId": way.at, "limit": 10})
        tasks = [asyncio.create_task(attach(bob)), asyncio.create_task(note(bob, way))]
        try:
            yield
            await asyncio.sleep(1)  # until the last delta is there
        finally:
            for each in tasks:
                each.cancel()


async def attach(bob: RawClient) -> None:
    """Shows each turn of the other machine, once there is something of it."""
    while True:
        writer = (await bob.notification("palimpsest/didChangePresence", math.inf)).get("writer") or {}
        if turn_id := writer.get("turnId"):
            bob.start_request("palimpsest/turn/attach", {"turnId": turn_id, "partialResultToken": turn_id})


async def note(bob: RawClient, way: Way) -> None:
    while True:
        value = (await bob.notification("$/progress", math.inf))["value"]
        now = time.perf_counter_ns()
        if value["type"] == "text":
            way.there_ms += [(now - int(word)) / 1e6 for word in value["text"].split()]


@dataclass
class Answer:
    """One turn, as A's screen shows it."""

    arrivals: Arrivals = field(default_factory=Arrivals)
    begun_ms: float = 0.0
    n_round_trips: int = 0
    """Until it had begun."""
    cpu_ms: float = 0.0
    """Of the server."""


async def ask(
    client: Client,
    at: str,
    n_deltas: int,
    service: Service,
    count: Callable[[], int] = lambda: 0,
    begun: Callable[[], None] = lambda: None,
) -> Answer:
    """`count`: the round trips to the hub so far. `begun` is called when the turn has begun."""
    service.n_deltas, service.pause_s = n_deltas, PAUSE_S
    answer, asked, n_before = Answer(), time.perf_counter_ns(), count()

    def take(value: dict[str, Any]) -> None:
        if value["type"] == "turn":
            answer.begun_ms, answer.n_round_trips = (time.perf_counter_ns() - asked) / 1e6, count() - n_before
            begun()
        answer.arrivals.take(value)

    client.progress = take
    params = {"requestId": f"{asked}", "text": "Where?", "conversationId": at, "partialResultToken": f"t{asked}"}
    before = _cpu_ms(client)
    await client.request("palimpsest/chat", params)
    answer.cpu_ms = _cpu_ms(client) - before
    return answer


def _cpu_ms(client: Client) -> float:
    return sum(psutil.Process(client.process.pid).cpu_times()[:2]) * 1000


async def measure(way: Way, n_deltas: int, service: Service) -> None:
    assert way.client is not None
    await asyncio.sleep(1)  # until the turn before is all in the hub
    answer = await ask(way.client, way.at, n_deltas, service, lambda: way.relay.n_round_trips)
    way.here.add(answer)
    way.begun_ms.append(answer.begun_ms)
    way.n_round_trips.append(answer.n_round_trips)


async def measure_away(way: Way, n_deltas: int, service: Service) -> None:
    """The last of the way, because the hub stays away."""
    assert way.client is not None
    await asyncio.sleep(1)
    way.away.add(await ask(way.client, way.at, n_deltas, service, begun=way.relay.cut))


async def measure_reference(way: Way, n: int) -> None:
    """A row that is written, notified and read."""
    async with (
        await psycopg.AsyncConnection.connect(way.listen_url, autocommit=True) as writer,
        await psycopg.AsyncConnection.connect(way.listen_url, autocommit=True) as waiter,
        await psycopg.AsyncConnection.connect(way.url, autocommit=True, prepare_threshold=None) as reader,
    ):
        await waiter.execute("LISTEN reference")
        notes = waiter.notifies()
        for _ in range(n):
            began = time.perf_counter_ns()
            writing = asyncio.create_task(writer.execute("SELECT pg_notify('reference', '')"))
            await anext(notes)
            await reader.execute("SELECT id FROM hub.incarnation")
            way.least_ms.append((time.perf_counter_ns() - began) / 1e6)
            await writing
        await notes.aclose()


async def run(n_deltas: int, n_runs: int) -> None:
    with hub_on_disk() as lab, tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        async with Service() as service, ways(lab) as found, contextlib.AsyncExitStack() as stack:
            alone = await stack.enter_async_context(started(OURS, home(root, "alone"), **on(service)))
            made = await alone.request("palimpsest/conversation/create", {"title": "herons"})
            for way in found:
                await stack.enter_async_context(sharing(way, lab, service, root))
            await ask(alone, made["conversationId"], 5, service)
            without = OwnScreen()
            for _ in range(n_runs):
                without.add(await ask(alone, made["conversationId"], n_deltas, service))
                for way in found:
                    await measure(way, n_deltas, service)
                    await measure_reference(way, n_deltas // 4)
            for way in found:
                without.add(await ask(alone, made["conversationId"], n_deltas, service))
                await measure_away(way, n_deltas, service)
        report(found, without, n_deltas, n_runs)


def report(found: list[Way], without: OwnScreen, n_deltas: int, n_runs: int) -> None:
    print(f"hub: {n_runs} answers of {n_deltas} deltas each way, {1 / PAUSE_S:.0f} a second, {load()}")
    for way in found:
        target = 60 + 3 * 2 * way.one_way_s * 1000
        worst = statistics.quantiles(way.there_ms, n=100)[94]
        is_met = "met" if worst <= target else "NOT MET"
        print(f"  {way.name}")
        n = f"{len(way.there_ms)} deltas; target {target:.0f}: {is_met}"
        print(f"    model of A to screen of B   {spread(way.there_ms)}, {n}")
        print(f"    the least PostgreSQL needs  {spread(way.least_ms)}")
        trips = sorted(way.n_round_trips)
        print(f"    a turn begins after         {spread(way.begun_ms)}, meanwhile round trips: {trips}")
        print(f"    model of A to screen of A   {way.here}; {way.here.against(without)} of that without a hub")
        print(f"    the same, the hub lost      {way.away}; {way.away.against(without)}")
    print(f"  without a hub                 {without}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hub.latency")
    parser.add_argument("--deltas", type=int, default=200)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(arguments)
    asyncio.run(run(options.deltas, options.runs))


if __name__ == "__main__":
    main(sys.argv[1:])
