"""The shortest run that shows what a seed has shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tests.simulation.operations import WAIT, Op
from tests.simulation.running import Outcome, run
from tests.simulation.scheduler import Schedule


@dataclass(frozen=True, slots=True)
class Trace:
    """A run that shows, or showed, a problem."""

    seed: int
    """Of the settings, the ids and what the service counts."""
    name: str
    """Of the problem."""
    seen: str
    ops: tuple[Op, ...]
    deviations: Mapping[int, int]
    """From the calm schedule, by the number of the step."""

    def play(self, *, keeps_trace: bool = False) -> Outcome:
        return run(self.seed, self.ops, Schedule(None, self.deviations), keeps_trace=keeps_trace)

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "ops": [asdict(op) for op in self.ops]}, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> Trace:
        told: dict[str, Any] = json.loads(path.read_text("utf-8"))
        ops = tuple(Op(**each) for each in told["ops"])
        deviations = {int(step): chosen for step, chosen in told["deviations"].items()}
        return cls(told["seed"], told["name"], told["seen"], ops, deviations)


class _Shrinking:
    """Fewer operations, then a calmer schedule, then fewer gaps and deviations, as long as the problem is seen.

    A list without some operation is another run with other steps, so that each is tried with a few schedules.
    """

    def __init__(self, seed: int, name: str, ops: Sequence[Op], n_most: int) -> None:
        self.seed, self.name, self.n_left = seed, name, n_most
        self.ops: Sequence[Op] = ops
        self.schedule: int | None = seed

    def shows(self, ops: Sequence[Op], schedule: Schedule) -> bool:
        self.n_left -= 1
        return self.name in run(self.seed, ops, schedule).names

    def attempt(self, ops: Sequence[Op], schedules: Iterable[int | None]) -> bool:
        for each in schedules:
            if self.n_left <= 0:
                return False
            if self.shows(ops, Schedule(each)):
                self.ops, self.schedule = ops, each
                return True
        return False

    def schedules(self) -> list[int | None]:
        return list(dict.fromkeys([None, self.schedule, *range(3)]))

    def drop_operations(self) -> None:
        size = len(self.ops) // 2
        while size:
            at = 0
            while at < len(self.ops):
                if not self.attempt([*self.ops[:at], *self.ops[at + size :]], self.schedules()):
                    at += size
            size //= 2

    def drop_gaps(self) -> None:
        for index, op in enumerate(self.ops):
            if op.gap > 0 and not self.attempt(_with_gap(self.ops, index, WAIT), self.schedules()):
                low = 0
                while low < self.ops[index].gap and self.n_left > 0:  # the least, as far as halving finds it
                    middle = (low + self.ops[index].gap) // 2
                    if not self.attempt(_with_gap(self.ops, index, middle), [self.schedule]):
                        low = middle + 1

    def fewest_deviations(self) -> Mapping[int, int]:
        deviations = dict(run(self.seed, self.ops, Schedule(self.schedule)).deviations)
        for step in sorted(deviations, reverse=True):
            if self.n_left <= 0:
                break
            fewer = {each: chosen for each, chosen in deviations.items() if each != step}
            if self.shows(self.ops, Schedule(None, fewer)):
                deviations = fewer
        return deviations


def shrink(seed: int, name: str, ops: Sequence[Op], n_most: int = 300) -> Trace:
    """The shortest run found, within some `n_most` runs, that shows the problem `name` as `ops` do. Raises ValueError
    when they do not."""
    first = run(seed, ops)
    if name not in first.names:
        raise ValueError(f"Seed {seed} shows {', '.join(sorted(first.names)) or 'no problem'}, and not {name!r}.")
    shrinking = _Shrinking(seed, name, ops[: first.n_ops], n_most)
    shrinking.drop_operations()
    shrinking.attempt(shrinking.ops, [None])
    shrinking.drop_gaps()
    shrinking.n_left = max(shrinking.n_left, n_most // 3)
    deviations = {} if shrinking.schedule is None else shrinking.fewest_deviations()
    found = run(seed, shrinking.ops, Schedule(None, deviations))
    seen = next((seen for each, seen in found.problems if each == name), "")
    return Trace(seed, name, seen, tuple(shrinking.ops), deviations)


def _with_gap(ops: Sequence[Op], index: int, gap: int) -> list[Op]:
    return [replace(op, gap=gap) if at == index else op for at, op in enumerate(ops)]
