"""One operation, interrupted at every step it takes: cancelled, its server killed, its disk failing.

Where a hunt draws moments by chance, this tries them all, for an operation behind some others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tests.simulation.areas import KINDS
from tests.simulation.operations import WAIT, Op
from tests.simulation.running import Outcome, operations_of, run
from tests.simulation.scheduler import Schedule

SUBJECTS: Final = (
    *("chat", "new", "switch", "continue", "retry", "discard", "summarize", "rollback", "fork", "undo", "redo"),
    *("expand", "regenerate", "purge", "pin", "withdraw", "extract", "settings"),
)
INTERRUPTIONS: Final = ("cancel", "kill", "fault")
_BEFORE: Final = 8
"""Operations that come first."""
_STATEMENTS: Final = 60
"""Until the disk fails: more are not counted by the operation."""


def sweep(seed: int, subject: str, interruption: str, every: int = 1) -> Iterator[tuple[int, Outcome]]:
    """The moments, and what came of each. `every`: only every so many-th."""
    ops = [replace(op, gap=WAIT) for op in operations_of(seed, "services", 3 * _BEFORE) if not KINDS[op.kind].is_late]
    ops = [op for op in ops if op.kind not in INTERRUPTIONS][:_BEFORE]
    (drawn,) = [op for op in operations_of(seed, "services", _BEFORE + 1) if op.number == _BEFORE]
    ops.append(replace(drawn, kind=subject, gap=WAIT))
    calm = Schedule(None)
    if interruption == "fault":
        for n_until in range(0, _STATEMENTS, every):
            fault = Op("fault", n_until, 2, WAIT, _BEFORE + 1)
            yield n_until, run(seed, [*ops[:-1], fault, replace(ops[-1], gap=0)], calm)
        return
    begun = run(seed, [*ops, Op("clock", 1 << 15, 0, WAIT, _BEFORE + 1)], calm).begun
    for n_steps in range(0, begun[-1] - begun[-2], every):
        stop = Op(interruption, 0, 1, n_steps, _BEFORE + 1)
        yield n_steps, run(seed, [*ops, stop], Schedule(None))
