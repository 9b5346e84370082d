"""A hub with many members: how long calls take, what PostgreSQL needs, and how members come back when all are cut off.

    python -m benchmarks.hub.load [--seconds S] [--members N --speakers M]

Speakers say ten frames a second and push two messages of 3 KB every six seconds; the other members each follow one of
them. They come directly and through PgBouncer (20 connections to PostgreSQL; who follows listens past it), all with one
login and a token each. In the middle all connections are cut at once. The default is 50 members of whom 25 speak, and
200 of whom 20 do. All members are one process, whose share of the processors is printed: where it has none left, it
measures itself. The reference is one speaker and one follower on the same hub before the others come.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import psutil
import psycopg
from benchmarks.hub.places import hub_on_disk, load, spread
from psycopg.conninfo import make_conninfo
from tests.hub.lab import AT, Lab, TestTeam, digest_of, message
from tests.hub.pooler import pooling, pooling_program

from palimpsest_hub.client import Hub
from palimpsest_hub.errors import HubRefused, HubUnreachable
from palimpsest_hub.records import Lease, NewConversation

T = TypeVar("T")

FRAMES_A_SECOND: Final = 10
FRAMES_A_STEP: Final = 60
MESSAGE: Final = "The heron stands in the reeds and waits. " * 75
N_POOLED: Final = 20
_KINDS: Final = ("lease", "say", "push", "follow")


@dataclass
class Figures:
    """Milliseconds by the kind of the call, and who could not call when."""

    ms: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in _KINDS})
    n_failed: int = 0
    cut_at: float = 0.0
    """When all were cut; 0 before."""
    back_ms: dict[int, float] = field(default_factory=dict)
    """How long each member took to come through again."""

    async def timed(self, kind: str, member: int, call: Awaitable[T]) -> T:
        began = time.monotonic()
        answer = await call
        self.note(kind, member, (time.monotonic() - began) * 1000)
        return answer

    def note(self, kind: str, member: int, ms: float) -> None:
        """The time in which members come back counts apart."""
        now = time.monotonic()
        if self.cut_at and member not in self.back_ms:
            self.back_ms[member] = (now - self.cut_at) * 1000
        elif not self.cut_at or now > self.cut_at + 15:
            self.ms[kind].append(ms)


@dataclass
class Crowd:
    """Members of one team, in this process."""

    lab: Lab
    team: TestTeam
    address: str
    """For calls."""
    figures: Figures = field(default_factory=Figures)
    until: float = 0.0

    def hub(self, member: int) -> Hub:
        direct = make_conninfo(self.lab.admin, user=self.lab.gate.name, password=self.lab.gate.password)
        return Hub(self.address, token=self.team.tokens[f"m{member}"], listen_address=direct)

    async def run(self, n_members: int, n_speakers: int, seconds: float, *, cuts: bool) -> None:
        self.until = time.monotonic() + seconds
        talks = [uuid.uuid4().hex for _ in range(n_speakers)]
        async with contextlib.AsyncExitStack() as stack:
            hubs = [await stack.enter_async_context(self.hub(each)) for each in range(n_members)]
            for hub, talk in zip(hubs, talks, strict=False):
                await hub.share(self.team.id, NewConversation(talk, "a talk", "m", AT))
            tasks = [asyncio.create_task(self._speak(each, hubs[each], talks[each])) for each in range(n_speakers)]
            followers = [
                asyncio.create_task(self._follow(each, hubs[each], talks[each % n_speakers]))
                for each in range(n_speakers, n_members)
            ]
            if cuts:
                await asyncio.sleep(seconds / 2)
                await asyncio.to_thread(self._cut)
            await asyncio.gather(*tasks)
            for each in followers:
                each.cancel()
            await asyncio.gather(*followers, return_exceptions=True)

    def _cut(self) -> None:
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gate'"
        with psycopg.connect(make_conninfo(self.lab.admin, user="admin"), autocommit=True) as admin:
            self.figures.cut_at = time.monotonic()
            admin.execute(query)

    async def _speak(self, member: int, hub: Hub, talk: str) -> None:
        await asyncio.sleep(random.random() * FRAMES_A_STEP / FRAMES_A_SECOND)
        before: str | None = None
        n = 0
        while time.monotonic() < self.until:
            try:
                lease = await self.figures.timed(
                    "lease", member, hub.lease(self.team.id, talk, f"store {member}", "a turn")
                )
                n, before = lease.n_messages, lease.head_digest
                await self._say(member, hub, lease)
                entries = [message(talk, n, MESSAGE, before)]
                entries.append(message(talk, n + 1, MESSAGE, digest_of(entries[0])))
                await self.figures.timed("push", member, hub.push(lease, entries))
                await hub.release(lease)
            except (HubUnreachable, HubRefused):
                self.figures.n_failed += 1
                await asyncio.sleep(0.2)

    async def _say(self, member: int, hub: Hub, lease: Lease) -> None:
        for seq in range(FRAMES_A_STEP):
            due = time.monotonic() + 1 / FRAMES_A_SECOND
            frame = json.dumps(["text", f"{time.monotonic_ns()} ", None])
            await self.figures.timed("say", member, hub.say(lease, f"t{lease.epoch}", seq + 1, [frame]))
            await asyncio.sleep(max(0, due - time.monotonic()))
            if time.monotonic() > self.until:
                return

    async def _follow(self, member: int, hub: Hub, talk: str) -> None:
        channel = (await hub.conversation(self.team.id, talk)).channel
        turn, last = "", 0
        async with contextlib.aclosing(hub.wakings(channel)) as wakings:
            async for _ in wakings:
                try:
                    view = await hub.live(self.team.id, talk, turn, last)
                except (HubUnreachable, HubRefused):
                    self.figures.n_failed += 1
                    continue
                now = time.monotonic_ns()
                for each in view.frames:
                    self.figures.note("follow", member, (now - int(json.loads(each.body)[1])) / 1e6)
                    turn, last = each.turn, each.seq


class Usage:
    """What PostgreSQL and this process take of the machine."""

    def __init__(self, lab: Lab) -> None:
        ((pid,),) = lab.owner.execute("SELECT pg_backend_pid()").fetchall()
        parent = psutil.Process(pid).parent()
        assert parent is not None
        self._postgres, self._own = parent, psutil.Process()
        self._began, self._used = time.monotonic(), self._seconds()
        self.most_mib = self.most_backends = 0

    def _seconds(self) -> tuple[float, float]:
        """Of PostgreSQL with the processes that have ended, and of this one."""
        used = sum(self._postgres.cpu_times())
        for each in self._postgres.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                used += sum(each.cpu_times()[:2])
        return used, sum(self._own.cpu_times()[:2])

    def cores(self) -> tuple[float, float]:
        seconds = time.monotonic() - self._began
        now = self._seconds()
        return (now[0] - self._used[0]) / seconds, (now[1] - self._used[1]) / seconds

    async def watch(self) -> None:
        while True:
            found = self._postgres.children()
            self.most_backends = max(self.most_backends, len(found))
            self.most_mib = max(self.most_mib, sum(map(_pss_kib, found)) // 1024)
            await asyncio.sleep(5)


def _pss_kib(process: psutil.Process) -> int:
    """A process' share of the memory."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 0


def _size(lab: Lab) -> tuple[int, int]:
    """Bytes of the tables that grow, and how many messages there are."""
    ((size, n),) = lab.owner.execute(
        "SELECT pg_total_relation_size('hub.entry') + pg_total_relation_size('hub.live'), count(*) FROM hub.entry"
    ).fetchall()
    return int(size), int(n)


@contextlib.asynccontextmanager
async def watched(usage: Usage) -> AsyncIterator[None]:
    watching = asyncio.create_task(usage.watch())
    try:
        yield
    finally:
        watching.cancel()


async def measure(lab: Lab, address: str, how: str, n_members: int, n_speakers: int, seconds: float) -> None:
    team = lab.team(**{f"m{each}": "writer" for each in range(n_members)})
    alone = Crowd(lab, team, address)
    await alone.run(2, 1, max(seconds / 6, 8), cuts=False)
    crowd, usage, before = Crowd(lab, team, address), Usage(lab), _size(lab)
    async with watched(usage):
        await crowd.run(n_members, n_speakers, seconds, cuts=True)
    postgres, own = usage.cores()
    after = _size(lab)
    print(f"{n_members} members, {n_speakers} speak, {how}; {seconds:.0f} s, {load()}")
    for kind in _KINDS:
        print(f"  {kind:<7} {spread(crowd.figures.ms[kind])}   alone {spread(alone.figures.ms[kind])}")
    n_frames = len(crowd.figures.ms["say"])
    print(f"  PostgreSQL takes {postgres:.2f} cores and {usage.most_mib} MiB in {usage.most_backends} processes")
    print(f"  the members take {own:.2f} cores")
    back = sorted(crowd.figures.back_ms.values())
    print(f"  of {n_members} that were cut {len(back)} came back: {spread(back)}, at most {max([0, *back]):.0f}")
    print(f"  calls that failed: {crowd.figures.n_failed}")
    n_new, n_bytes = max(1, after[1] - before[1]), after[0] - before[0]
    print(f"  {n_new} messages and {n_frames:,} frames: {n_bytes / 1e6:.1f} MB more", end=", ")
    print(f"{n_bytes / (n_new * len(MESSAGE)):.2f} bytes for a byte of a message", flush=True)


async def run(groups: list[tuple[int, int]], seconds: float) -> None:
    for n_members, n_speakers in groups:
        with hub_on_disk() as lab:
            direct = make_conninfo(lab.admin, user=lab.gate.name, password=lab.gate.password)
            await measure(lab, direct, "directly", n_members, n_speakers, seconds)
        if pooling_program() is not None:
            with hub_on_disk() as lab, pooling(lab, N_POOLED) as address:
                await measure(lab, address, "by PgBouncer", n_members, n_speakers, seconds)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hub.load")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--members", type=int)
    parser.add_argument("--speakers", type=int, default=1)
    options = parser.parse_args(arguments)
    groups = [(50, 25), (200, 20)] if options.members is None else [(options.members, options.speakers)]
    asyncio.run(run(groups, options.seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
