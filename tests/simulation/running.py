"""One run of a list of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.simulation.areas import ENDS, KINDS, LOOKS, PROFILES
from tests.simulation.operations import WAIT, Op, draw
from tests.simulation.oracle import Oracle
from tests.simulation.scheduler import Schedule
from tests.simulation.world import World, make_template, simulated

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
    oracles: list[Oracle] = []
    with simulated(
        schedule,
        seed,
        _TRUTHS[seed % len(_TRUTHS)],
        lambda _, context: oracles[0].sent(context),
        keeps_trace=keeps_trace,
    ) as world:
        oracles.append(oracle := Oracle(world))
        try:
            begun = _carry_out(world, oracle, ops, goes_on=goes_on)
            if goes_on or not world.problems:
                _probe(world, oracle)
        finally:
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


def _carry_out(world: World, oracle: Oracle, ops: Sequence[Op], *, goes_on: bool) -> list[int]:
    """The steps at which they began."""
    begun: list[int] = []
    for op in ops:
        if op.gap == WAIT:
            _look(world, oracle)
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


def _look(world: World, oracle: Oracle) -> None:
    world.settle()
    oracle.look()
    for look in LOOKS:
        look(world, oracle)


def _probe(world: World, oracle: Oracle) -> None:
    """Every conversation can still be gone on with, and the whole store is sound."""
    _look(world, oracle)
    for at in range(len(world.conversations)):
        _begin(world, Op("chat", 7 * at, 3, WAIT, _PROBE + at))
        _look(world, oracle)
    oracle.examine()
    for end in ENDS:
        end(world, oracle)
