"""What surrounds the server fails: a disk that is really full, a folder that cannot be written, locks that do not work,
no file descriptor left, a clock that runs backwards. Requests are answered, and afterwards nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import os
import resource
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from tests.faults.checks import require
from tests.faults.lab import Lab
from tests.faults.script import ModelStep, Script, plain_turn, turn_with_tools
from tests.faults.serve import NO_LOCKS, Fault
from tests.faults.trials import Outcome, collect, conversation_of, recover, run_turn, verdict_of

DISK_BYTES = 8 << 20
_BALLAST_BYTES = 3 << 20
_LONG_WORDS = 4_000
_MOST_TURNS = 60


def cases(lab: Lab) -> list[tuple[str, Callable[[], Awaitable[Outcome]]]]:
    limits = [(f"{n} descriptors", functools.partial(_few_descriptors, lab, n)) for n in range(10, 34, 3)]
    return [
        ("a full disk", functools.partial(_full_disk, lab)),
        ("a file that must not grow", functools.partial(_small_files, lab)),
        ("a disk that is read-only", functools.partial(_read_only, lab)),
        ("no locks", functools.partial(_no_locks, lab)),
        *limits,
        *((f"{n} descriptors for a while", functools.partial(_handles_come_back, lab, n)) for n in range(16)),
        ("a clock that runs backwards", functools.partial(_backwards, lab)),
    ]


def can_mount() -> bool:
    """Whether this process may make a small disk."""
    return (
        os.geteuid() == 0
        and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
    )


@contextlib.asynccontextmanager
async def small_disk(lab: Lab) -> AsyncIterator[Path]:
    disk = lab.place().home
    await _command("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "none", str(disk))
    try:
        yield disk
    finally:
        await _command("umount", "--lazy", str(disk))


async def _command(*words: str) -> None:
    process = await asyncio.create_subprocess_exec(*words)
    require(await asyncio.wait_for(process.wait(), 30) == 0, f"{words[0]} failed")


def _long_turn(name: str) -> Script:
    return Script(name, (ModelStep(" ".join(f"{name}.{n}" for n in range(_LONG_WORDS))),))


async def _full_disk(lab: Lab) -> Outcome:
    """Turns until the disk is full; then somebody makes room, and the same server goes on."""
    if not can_mount():
        return Outcome(False, "skipped: no right to mount")
    async with small_disk(lab) as disk:
        place = lab.place(disk)
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(_BALLAST_BYTES))
        async with lab.server(place) as server:
            seen = [await run_turn(server, plain_turn("a"), None)]
            conversation_id = conversation_of(seen[0])
            for number in range(_MOST_TURNS):
                seen.append(await run_turn(server, _long_turn(f"f{number}"), conversation_id))
                if verdict_of(seen[-1]) != "committed":
                    break
            verdict = verdict_of(seen[-1])
            require(verdict == "store", f"on a full disk a turn was answered as {verdict}")
            assert seen[-1].answer is not None
            sentence = seen[-1].answer["error"]["message"]
            require(" is full" in sentence, f"the user is not told that the disk is full: {sentence}")
            ballast.unlink()
            seen.append(await run_turn(server, plain_turn("b"), conversation_id))
            require(verdict_of(seen[-1]) == "committed", f"with room again a turn ended as {verdict_of(seen[-1])}")
            await server.leave()
        await recover(lab, place, seen)
    return Outcome(True, verdict)


async def _small_files(lab: Lab) -> Outcome:
    """No file may grow beyond a limit, as with a quota; the next server has none."""
    place = lab.place()
    async with lab.server(place, Fault(max_file_bytes=400_000)) as server:
        seen = [await run_turn(server, plain_turn("a"), None)]
        for number in range(_MOST_TURNS):
            seen.append(await run_turn(server, _long_turn(f"f{number}"), conversation_of(seen[0])))
            if verdict_of(seen[-1]) != "committed":
                break
        verdict = verdict_of(seen[-1])
        require(verdict == "store", f"with files that must not grow a turn was answered as {verdict}")
    await recover(lab, place, seen)
    lab.discard(place)
    return Outcome(True, verdict)


async def _read_only(lab: Lab) -> Outcome:
    """The disk becomes read-only under what was stored: a new server says so, and later has everything."""
    if not can_mount():
        return Outcome(False, "skipped: no right to mount")
    async with small_disk(lab) as disk:
        place = lab.place(disk)
        async with lab.server(place) as server:
            seen = [await run_turn(server, turn_with_tools(), None)]
            await server.leave()
        await _command("mount", "-o", "remount,ro", str(disk))
        async with lab.server(place) as server:
            refused = await run_turn(server, plain_turn("b"), conversation_of(seen[0]))
            verdict = verdict_of(refused)
            require(verdict == "store", f"on a disk that is read-only a turn was answered as {verdict}")
            assert refused.answer is not None
            require("cannot write" in refused.answer["error"]["message"], "the user is not told why")
            await _command("mount", "-o", "remount,rw", str(disk))
            again = await run_turn(server, plain_turn("c"), conversation_of(seen[0]))
            require(verdict_of(again) == "committed", f"writable again, a turn ended as {verdict_of(again)}")
            await server.leave()
        await recover(lab, place, [*seen, refused, again])
    return Outcome(True, verdict)


async def _no_locks(lab: Lab) -> Outcome:
    """Where locks do not work a server says so, or is the only one; it does not lose what it took."""
    place = lab.place()
    async with lab.server(place, Fault(lock_errno=NO_LOCKS)) as server:
        seen = await run_turn(server, turn_with_tools(), None)
        verdict = verdict_of(seen)
        require(verdict in ("committed", "store"), f"without locks a turn was answered as {verdict}")
        await server.leave()
    await recover(lab, place, [seen])
    lab.discard(place)
    return Outcome(True, verdict)


async def _few_descriptors(lab: Lab, count: int) -> Outcome:
    """With few it fails, and says so or does not start; a turn that it took is there."""
    place = lab.place()
    async with lab.server(place, Fault(max_files=count)) as server:
        seen = await run_turn(server, turn_with_tools(), None)
        verdict = verdict_of(seen)
        require(verdict in ("committed", "store", "network", "internal", "none"), f"it was answered as {verdict}")
        server.kill()
        code = await server.ended()
        require(code == -9 or not seen.deltas, f"the server ended by itself with {code} in the middle of a turn")
        collect(server, seen)
    await recover(lab, place, [seen])
    lab.discard(place)
    return Outcome(verdict != "committed", verdict)


async def _handles_come_back(lab: Lab, n_more: int) -> Outcome:
    """A server may open only `n_more` files: it says so in words. When it may open more again, the chat goes on."""
    place = lab.place()
    async with lab.server(place) as server:
        _, most = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        taken = sorted(int(name) for name in os.listdir(f"/proc/{server.pid}/fd"))
        free = (number for number in range(most) if number not in taken)
        limit = next(itertools.islice(free, n_more, None))
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (limit, most))
        refused = await run_turn(server, plain_turn("a"), None)
        verdict = verdict_of(refused)
        require(verdict in ("committed", "store", "network"), f"without descriptors it was answered as {verdict}")
        if verdict != "committed":
            assert refused.answer is not None
            sentence = refused.answer["error"]["message"]
            require("no file handle left" in sentence, f"the user is not told why: {sentence}")
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (most, most))
        again = await run_turn(server, plain_turn("b"), conversation_of(refused))
        require(verdict_of(again) == "committed", f"with descriptors again it was answered as {verdict_of(again)}")
        await server.leave()
    await recover(lab, place, [refused, again])
    lab.discard(place)
    return Outcome(verdict != "committed", verdict)


async def _backwards(lab: Lab) -> Outcome:
    """Leases, order and recovery do not ask the wall clock: one server ends in the middle, the next goes on."""
    place = lab.place()
    backwards = Fault(clock_goes_back=True)
    async with lab.server(place, backwards) as server:
        seen = [await run_turn(server, turn_with_tools(), None)]
        conversation_id = conversation_of(seen[0])
        require(verdict_of(seen[0]) == "committed", f"it was answered as {verdict_of(seen[0])}")
    async with lab.server(place, Fault(clock_goes_back=True, kill_before=150)) as server:
        seen.append(await run_turn(server, turn_with_tools("b"), conversation_id))
        require(verdict_of(seen[1]) == "none", "the server was not killed in the middle")
    async with lab.server(place, backwards) as server:
        seen.append(await run_turn(server, turn_with_tools("c"), conversation_id))
        require(verdict_of(seen[2]) == "committed", f"after a recovery it was answered as {verdict_of(seen[2])}")
        await server.leave()
    await recover(lab, place, seen)
    lab.discard(place)
    return Outcome(True, "committed")
