"""One run of a list of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.simulation import past_requests
from tests.simulation.areas import BEGINS, CALMS, ENDS, KINDS, LOOKS, PROFILES
from tests.simulation.operations import WAIT, Op, draw
from tests.simulation.oracle import Oracles
from tests.simulation.scheduler import Schedule
from tests.simulation.world import FOLDER, World, make_template, simulated

SHORT: Final = 24
"""Operations of a run, as long as nothing else is said."""
_TRUTHS: Final = (1.2, 1.0, 1.35)
_PROBE: Final = 9_000
"""From here on operations are numbered that look whether every conversation can be gone on with."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run."""

    problems: tuple[tuple[str, str], ...]
    """A short name, and what was seen."""
    digest: str
    """Of all steps."""
    n_steps: int
    n_ops: int
    deviations: Mapping[int, int]
    begun: tuple[int, ...] = ()
    """At which step each operation was."""
    trace: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.problems)


def operations_of(seed: int, profile: str | None = None, n: int = SHORT) -> list[Op]:
    return draw(seed, KINDS, PROFILES, profile, n)


def run(
    seed: int,
    ops: Sequence[Op] | None = None,
    schedule: Schedule | None = None,
    *,
    keeps_trace: bool = False,
    goes_on: bool = False,
) -> Outcome:
    """Carries the operations out, and looks whenever nothing is under way. Ends at the first problem unless it
    `goes_on`. `seed` decides the settings, the ids and what the service counts; without `ops` and `schedule` also
    those."""
    make_template()
    ops = operations_of(seed) if ops is None else ops
    schedule = schedule or Schedule(seed)
    with simulated(
        schedule,
        seed,
        _TRUTHS[seed % len(_TRUTHS)],
        lambda world, context: world.part(Oracles).of(FOLDER.get()).sent(context),
        keeps_trace=keeps_trace,
    ) as world:
        for begin in BEGINS:
            begin(world, ops)
        oracles = world.part(Oracles)
        try:
            begun = _carry_out(world, ops, goes_on=goes_on)
            if goes_on or not world.problems:
                _probe(world)
        finally:
            for oracle in oracles.values():
                oracle.close()
        return Outcome(
            tuple(world.problems),
            world.loop.digest,
            world.loop.n_steps,
            len(begun),
            dict(schedule.taken),
            tuple(begun),
            tuple(world.loop.trace or ()),
        )


def _carry_out(world: World, ops: Sequence[Op], *, goes_on: bool) -> list[int]:
    """The steps at which they began."""
    begun: list[int] = []
    for op in ops:
        if op.gap == WAIT:
            _look(world)
        else:
            for _ in range(op.gap):
                if not world.loop.step(may_wait=world.loop.n_steps % 8 == 0):
                    break
        if world.problems and not goes_on:
            break
        begun.append(world.loop.n_steps)
        _begin(world, op)
    return begun


def _begin(world: World, op: Op) -> None:
    if world.loop.trace is not None:
        world.loop.trace.append(f"------ {op}")
    world.kinds.add(op.kind)
    KINDS[op.kind].begin(world, op)


def _look(world: World) -> None:
    world.settle()
    for oracle in world.part(Oracles).values():
        oracle.look()
    for look in LOOKS:
        look(world, world.part(Oracles)[world.root])


def _probe(world: World) -> None:
    """Every conversation can still be gone on with, and the whole store is sound."""
    _look(world)
    for calm in CALMS:
        calm(world)
    for at in range(len(world.conversations)):
        _begin(world, Op("chat", 7 * at, 3, WAIT, _PROBE + at))
        _look(world)
    for oracle in world.part(Oracles).values():
        oracle.examine()
        past_requests.end(world, oracle)
    for end in ENDS:
        end(world, world.part(Oracles)[world.root])
