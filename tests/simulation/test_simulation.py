"""The simulation itself: one seed is one run, time is the loop's, and the oracle sees what it is there for."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.simulation.areas import AREAS, ENDS, KINDS, LOOKS, PROFILES
from tests.simulation.hunting import Hunt, carry_out
from tests.simulation.running import operations_of, run
from tests.simulation.scheduler import NODE, Node, Schedule, SimLoop, SimThread
from tests.simulation.shrinking import Trace, shrink

from palimpsest.storage import leases

TRACES = sorted(Path(__file__).with_name("traces").glob("*.json"))
"""The shortest runs that showed a defect, before it was mended."""
FEW_SEEDS = 20
FEW_SHARED = 8


def play(
    schedule: Schedule, work: Callable[[list[str]], Coroutine[Any, Any, None]], n_nodes: int = 1
) -> tuple[list[str], SimLoop]:
    """What a coroutine function notes down, run on each of some processes."""
    said: list[str] = []
    loop = SimLoop(schedule)
    loop.nodes = [Node(f"n{number}") for number in range(n_nodes)]
    tasks = [loop.spawn(node, work(said)) for node in loop.nodes]
    while not all(task.done() for task in tasks):
        assert loop.step()
    loop.close()
    return said, loop


async def sleeper(said: list[str]) -> None:
    async def wait(seconds: float) -> None:
        await asyncio.sleep(seconds)
        said.append(f"{NODE.get().name} {seconds} {asyncio.get_running_loop().time()}")

    await asyncio.gather(wait(3600), wait(0.5), wait(2))


async def caller(said: list[str]) -> None:
    thread = SimThread("thread")

    def call(number: int) -> Callable[[], None]:
        return lambda: said.append(f"{NODE.get().name} call {number}")

    await asyncio.gather(*[thread.run(call(number)) for number in range(3)], asyncio.to_thread(said.append, "pool"))


def test_an_hour_passes_at_once_and_in_order() -> None:
    said, _ = play(Schedule(7), sleeper)
    assert said == ["n0 0.5 1000.5", "n0 2 1002.0", "n0 3600 4600.0"]


@pytest.mark.parametrize("seed", range(12))
def test_calls_of_one_thread_keep_their_order_and_the_seed_decides_the_rest(seed: int) -> None:
    said, loop = play(Schedule(seed), caller, 2)
    for name in ("n0", "n1"):
        assert [each for each in said if each.startswith(name)] == [f"{name} call {n}" for n in range(3)]
    again, same = play(Schedule(seed), caller, 2)
    assert (again, same.digest) == (said, loop.digest)
    replayed, also = play(Schedule(None, loop.schedule.taken), caller, 2)
    assert (replayed, also.digest) == (said, loop.digest)


def test_seeds_lead_to_different_orders() -> None:
    assert len({tuple(play(Schedule(seed), caller, 2)[0]) for seed in range(20)}) > 5


def test_nothing_of_a_process_that_was_killed_runs() -> None:
    said: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            said.append("cleaned up")

    loop = SimLoop(Schedule(None))
    loop.nodes = [Node("n0")]
    task = loop.spawn(loop.nodes[0], work())
    assert loop.step()
    loop.nodes[0].kill()
    assert not loop.step()
    assert not task.done()
    assert said == []
    loop.forget()


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_one_seed_is_one_run(seed: int) -> None:
    first, second = run(seed), run(seed)
    assert (first.digest, first.problems, first.n_steps) == (second.digest, second.problems, second.n_steps)
    replayed = run(seed, schedule=Schedule(None, first.deviations))
    assert (replayed.digest, replayed.problems) == (first.digest, first.problems)


@pytest.mark.slow
def test_one_seed_is_one_run_in_another_process_and_with_another_hash_seed() -> None:
    seeds = list(range(len(PROFILES)))
    code = f"from tests.simulation.running import run; print([run(seed).digest for seed in {seeds}])"
    done = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for seed in ("0", "17")
    ]
    assert done[0].stdout, done[0].stderr[-300:]
    assert len({each.stdout for each in done}) == 1, [each.stderr[-300:] for each in done]


@pytest.mark.parametrize("trace", [pytest.param(each, id=each.stem) for each in TRACES])
def test_what_was_found_is_mended(trace: Path) -> None:
    """And nothing else is wrong."""
    assert Trace.read(trace).play().problems == ()


@pytest.mark.parametrize("seed", range(FEW_SEEDS))
def test_nothing_is_found(seed: int) -> None:
    assert run(seed).problems == ()


@pytest.mark.parametrize("seed", range(FEW_SHARED))
def test_nothing_is_found_between_machines_that_share(seed: int) -> None:
    assert run(seed, operations_of(seed, "sharing")).problems == ()


@pytest.mark.slow
@pytest.mark.hunt
@pytest.mark.timeout(900)
def test_nothing_is_found_in_five_minutes_of_new_seeds() -> None:
    """New ones each time; `carry_out` prints them."""
    first = int.from_bytes(os.urandom(4), "big")
    print(f"seeds from {first}")
    tally = carry_out(Hunt(first, first + 100_000, 24, os.cpu_count() or 1, seconds=300, counts_lines=False))
    assert tally.n_seeds > 1
    assert tally.found == {}


def test_a_break_that_is_put_in_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is worth what it finds: with a release that does nothing, one chat is enough."""
    monkeypatch.setattr(leases, "release", lambda lease: None)
    assert "lease held by nobody" in run(1).names
    trace = shrink(1, "lease held by nobody", operations_of(1), 40)
    assert [op.kind for op in trace.ops] == ["chat"]
    assert trace.name in trace.play().names


def test_the_operations_of_a_seed_do_not_depend_on_how_many_there_are() -> None:
    assert operations_of(5, n=30)[:12] == operations_of(5, n=12)


def test_every_kind_of_operation_is_in_a_profile() -> None:
    assert {kind for kinds in PROFILES.values() for kind in kinds} == set(KINDS)


def test_no_two_areas_name_a_kind_alike() -> None:
    assert sum(len(area.KINDS) for area in AREAS) == len(KINDS)


def test_what_areas_hold_true_is_looked_at() -> None:
    for area in AREAS:
        assert getattr(area, "look", LOOKS[0]) in LOOKS, area.__name__
        assert getattr(area, "end", ENDS[0]) in ENDS, area.__name__
