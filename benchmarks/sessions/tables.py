"""The tables of a run: the measures of each system, all sessions together and session by session."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.sessions.replay import Step

Steps = Mapping[str, Sequence[Step]]
"""By session."""
_WIDTH: Final = 26
HEAD: Final = f"{'':{_WIDTH}} NUold NUline    SC prefix  fill  price   over orphan | pooled NUold NUline  names  steps"


@dataclass(frozen=True, slots=True)
class Measures:
    """In percent; None where no step says."""

    held: float | None
    """NUold."""
    told: float | None
    """NUline."""
    kept: float | None
    """SC."""
    prefix: float | None
    fill: float | None
    price: float | None
    over: float | None
    orphan: float | None


def measures_of(steps: Sequence[Step]) -> Measures:
    """The means over the steps of one session."""
    old = [step for step in steps if step.n_old]
    return Measures(
        held=_mean(step.n_held / step.n_old for step in old),
        told=_mean(step.n_told / step.n_old for step in old),
        kept=_mean(step.kept for step in steps),
        prefix=_mean(step.prefix for step in steps),
        fill=_mean(step.fill for step in steps),
        price=_mean(step.price for step in steps),
        over=_mean(float(step.is_over) for step in steps),
        orphan=_mean(float(step.is_orphaned) for step in steps),
    )


def pooled(sessions: Iterable[Sequence[Step]]) -> tuple[float | None, float | None, int]:
    """Of all names that the next messages need: the percentage that is held, and told, and how many they are."""
    steps = [step for each in sessions for step in each]
    n_old = sum(step.n_old for step in steps)
    if not n_old:
        return None, None, 0
    n_held, n_told = sum(step.n_held for step in steps), sum(step.n_told for step in steps)
    return 100 * n_held / n_old, 100 * n_told / n_old, n_old


def _mean(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return 100 * statistics.fmean(found) if found else None


def row(name: str, sessions: Steps) -> str:
    """The means over the sessions, and what all their steps say together."""
    each = [measures_of(steps) for steps in sessions.values() if steps]
    held, told, n_names = pooled(sessions.values())
    over = (
        _over(each, get)
        for get in (
            lambda m: m.held, lambda m: m.told, lambda m: m.kept, lambda m: m.prefix,
            lambda m: m.fill, lambda m: m.price, lambda m: m.over, lambda m: m.orphan,
        )
    )  # fmt: skip
    cells = " ".join(map(_cell, over))
    n_steps = sum(map(len, sessions.values()))
    return f"{name:{_WIDTH}.{_WIDTH}} {cells} |       {_cell(held)} {_cell(told)} {n_names:6} {n_steps:6}"


def _over(each: Sequence[Measures], get: Callable[[Measures], float | None]) -> float | None:
    found = [value for value in map(get, each) if value is not None]
    return statistics.fmean(found) if found else None


def _cell(value: float | None) -> str:
    return "     -" if value is None else f"{value:6.1f}"


def table(title: str, rows: Mapping[str, Steps]) -> str:
    """A table with a row for each system."""
    return "\n".join([title, HEAD, *(row(name, sessions) for name, sessions in rows.items())])


def by_session(rows: Mapping[str, Steps]) -> str:
    """A row for each system in each session."""
    lines = [HEAD]
    for session in dict.fromkeys(name for sessions in rows.values() for name in sessions):
        lines.append(session)
        lines += [row(f"  {name}", {session: sessions[session]}) for name, sessions in rows.items()]
    return "\n".join(lines)


def times(rows: Mapping[str, Steps]) -> str:
    """A line for each row that says how long it prepares: milliseconds of CPU time over all steps of all sessions."""
    lines = []
    for name, sessions in rows.items():
        plain: list[float] = []
        compacting: list[float] = []
        for steps in sessions.values():
            for before, step in itertools.pairwise(steps):
                if step.prepare_ms is not None:
                    (plain if step.n_compactions == before.n_compactions else compacting).append(step.prepare_ms)
        if plain:
            lines.append(f"{name:{_WIDTH}.{_WIDTH}} {_spread(plain)}; with a compaction: {_spread(compacting)}")
    return "\n".join(["milliseconds of preparing", *lines])


def _spread(ms: Sequence[float]) -> str:
    if len(ms) < 2:
        return f"{len(ms)} steps"
    most = statistics.quantiles(ms, n=100, method="inclusive")[98]
    return f"median {statistics.median(ms):.1f}, p99 {most:.1f}, most {max(ms):.1f}"


def behind(rows: Mapping[str, Steps], n_compactions: int) -> dict[str, Steps]:
    """Of every row, the steps behind the first so many compactions of the first row, which says when they were."""
    first = next(iter(rows.values()))
    wanted = {
        session: {step.index for step in steps if (step.n_compactions or 0) >= n_compactions}
        for session, steps in first.items()
    }
    return {
        name: {session: [step for step in steps if step.index in wanted[session]] for session, steps in each.items()}
        for name, each in rows.items()
    }
