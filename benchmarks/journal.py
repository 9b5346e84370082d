"""What it costs that a delta is durable before an editor sees it, and whether a server stays small.

    python -m benchmarks.journal [--deltas N] [--turns N] [--runs N]

Measurements of the real server:

1. The time of a delta from the socket of a model's service to `$/progress`, beside a pygls server that passes the same
   stream on and keeps nothing (`bare_relay.py`), and the rate when the service does not pause.
2. Memory over accelerated turns: short answers, and a budget so small that summaries are written all the time. Beside
   its memory after the first tenth of the turns; the target is stated for 10,000 turns, which take many minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
from benchmarks.editor import OURS, Client, Service, on, started
from benchmarks.figures import Figure, Size, alone, beside, show

RELAY: Final = [sys.executable, "-P", str(Path(__file__).with_name("bare_relay.py"))]
PAUSE_S: Final = 0.01
"""Between two deltas of a service that writes at its own pace."""


@dataclass
class Arrivals:
    """When the deltas of one answer came."""

    latencies_ms: list[float] = field(default_factory=list)
    n_messages: int = 0
    """Fewer than deltas where several were written together."""
    first_ns: int = 0
    last_ns: int = 0

    def take(self, value: dict[str, Any]) -> None:
        if value["type"] != "text":
            return
        now = time.perf_counter_ns()
        sent = [int(word) for word in value["text"].split()]  # several where deltas were written together
        self.first_ns = self.first_ns or sent[0]
        self.last_ns = now
        self.n_messages += 1
        self.latencies_ms += [(now - each) / 1e6 for each in sent]

    @property
    def per_second(self) -> float:
        return len(self.latencies_ms) / ((self.last_ns - self.first_ns) / 1e9)


async def ask(client: Client, service: Service, n: int, *, is_ours: bool) -> Arrivals:
    arrivals = Arrivals()
    client.progress = arrivals.take
    if is_ours:
        params = {"requestId": f"{time.perf_counter_ns()}", "text": f"question {n}", "partialResultToken": f"t{n}"}
        await client.request("palimpsest/chat", params)
    else:
        await client.request("relay/chat", {"url": service.url, "text": f"question {n}", "token": f"t{n}"})
    if len(arrivals.latencies_ms) != service.n_deltas:
        raise SystemExit(f"{len(arrivals.latencies_ms)} of {service.n_deltas} deltas came")
    return arrivals


async def measure_deltas(n_deltas: int, n_runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        async with Service() as service:
            home = Path(directory)
            async with started(OURS, home, **on(service)) as ours, started(RELAY, home) as relay:
                service.n_deltas = 10
                for client in (ours, relay):  # what is loaded at the first answer is not measured
                    await ask(client, service, 0, is_ours=client is ours)
                measured = []
                for pause_s in (PAUSE_S, 0.0):
                    service.n_deltas, service.pause_s = n_deltas, pause_s
                    measured.append(
                        [
                            (await ask(relay, service, n, is_ours=False), await ask(ours, service, n, is_ours=True))
                            for n in range(1, n_runs + 1)
                        ]
                    )
    paused, unpaused = measured
    medians = [(statistics.median(bare.latencies_ms), statistics.median(own.latencies_ms)) for bare, own in paused]
    latest = [(_p99(bare.latencies_ms), _p99(own.latencies_ms)) for bare, own in paused]
    relay_name = "a pygls relay without a journal"
    rates = [own.per_second for _, own in unpaused]
    bare_rate = statistics.median(bare.per_second for bare, _ in unpaused)
    n_together = statistics.median(len(own.latencies_ms) / own.n_messages for _, own in unpaused)
    return [
        beside(
            "a delta, from the service's socket to the editor", medians, relay_name, 1.5, note="it is on disk first"
        ),
        beside("the same, 99th percentile", latest, relay_name, None),
        alone(
            "deltas",
            rates,
            2_000,
            "a second",
            is_least=True,
            note=f"{n_together:.0f} in a message; the relay: {bare_rate:,.0f}, one in each",
        ),
    ]


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


async def measure_memory(n_turns: int) -> Figure:
    n_first = max(1, n_turns // 10)
    with tempfile.TemporaryDirectory() as directory:
        async with Service() as service:
            more = on(service) | {"PALIMPSEST_CONTEXT_MAX_TOKENS": "12000"}
            async with started(OURS, Path(directory), **more) as client:
                made = await client.request("palimpsest/conversation/create", {})
                memory = psutil.Process(client.process.pid)
                before = 0
                for n in range(1, n_turns + 1):
                    params = {"requestId": f"{n}", "text": f"question {n}", "conversationId": made["conversationId"]}
                    await client.request("palimpsest/chat", params | {"partialResultToken": f"t{n}"})
                    if n == n_first:
                        before = memory.memory_info().rss
                after = memory.memory_info().rss
    pair = [(before / (1 << 20), after / (1 << 20))]
    return beside(f"memory after {n_turns:,} answers", pair, f"after {n_first:,}", 1.1, "MiB")


def figures(size: Size) -> list[Figure]:
    n_deltas, n_runs, n_turns = (300, 5, 1_000) if size is Size.FULL else (20, 1, 20)
    return [*asyncio.run(measure_deltas(n_deltas, n_runs)), asyncio.run(measure_memory(n_turns))]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journal")
    parser.add_argument("--deltas", type=int, default=300)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(arguments)
    show(asyncio.run(measure_deltas(options.deltas, options.runs)))
    show([asyncio.run(measure_memory(options.turns))])


if __name__ == "__main__":
    main(sys.argv[1:])
