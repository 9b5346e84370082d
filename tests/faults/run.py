"""`python -m tests.faults`: trials, all or some, and a table of them at the end. Exit code 1 when a promise broke."""

from __future__ import annotations

import argparse
import asyncio
import collections
import functools
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tests.faults import crowd, misbehaviour, surroundings, trials
from tests.faults.checks import Broken
from tests.faults.lab import TURN_S, Lab
from tests.faults.script import turn_with_tools
from tests.faults.serve import Fault

MIN_STATEMENTS = 250
"""Of the turn with tools. Fewer means that the trials have lost sight of some, or that somebody made it cheaper: then
this number is to be lowered by hand. About 340 were counted; pieces that come together are journaled together, so a
busy machine makes fewer."""
TRIAL_S = 10 * TURN_S
"""For a trial, so that one that hangs is a line of the table and the others are still run."""
_N_COUNTS = 3
"""The longest of so many turns is the one whose statements are gone through."""

Trial = Callable[[], Awaitable[trials.Outcome]]


@dataclass
class Row:
    """A line of the table."""

    name: str
    n_run: int = 0
    n_reached: int = 0
    answers: collections.Counter[str] = field(default_factory=collections.Counter)
    broken: list[str] = field(default_factory=list)
    seconds: float = 0


def chosen(wanted: str, count: int) -> list[int]:
    """Statement numbers 1..count: all of them, none, or as many as are wanted, evenly spread."""
    n_wanted = count if wanted == "all" else min(int(wanted), count)
    return [1 + (number * count) // n_wanted for number in range(n_wanted)] if n_wanted else []


async def run_row(name: str, named: Sequence[tuple[str, Trial]], n_jobs: int, limit_s: float = TRIAL_S) -> Row:
    """All trials of a line, `n_jobs` at a time, each within `limit_s`. What breaks is told at once and again in the
    table."""
    row, began, waiting = Row(name), time.monotonic(), list(reversed(named))

    async def work() -> None:
        while waiting:
            label, trial = waiting.pop()
            try:
                async with asyncio.timeout(limit_s):
                    outcome = await trial()
            except Exception as error:  # a trial that cannot be carried out has failed as well
                sentence = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
                row.broken.append(f"{label}: {sentence}")
                _say(f"BROKEN  {name}, {label}: {sentence}")
            else:
                row.n_reached += outcome.was_reached
                row.answers[outcome.answer] += 1
            row.n_run += 1
            if row.n_run % 100 == 0:
                _say(f"{name}: {row.n_run} of {len(named)}")

    await asyncio.gather(*(work() for _ in range(n_jobs)))
    row.seconds = time.monotonic() - began
    _say(f"{name}: done, {len(row.broken)} broken, {row.seconds:.0f} s")
    return row


async def run(arguments: argparse.Namespace) -> int:
    rows: list[Row] = []
    async with Lab.opened() as lab:
        counted = [await trials.statements_of(lab, turn_with_tools()) for _ in range(_N_COUNTS)]
        lines = max(counted, key=len)
        count = len(lines)
        _say(f"A turn with tools makes {count} statements, from the server's start to the answer; at least")
        _say(f"{MIN_STATEMENTS} are asked for. The seed of what is random is {arguments.seed}.")
        kill = functools.partial(trials.kill_at, lab)
        error = functools.partial(trials.error_at, lab)
        before = [
            (f"before {n}", functools.partial(kill, Fault(kill_before=n))) for n in chosen(arguments.kills, count)
        ]
        commits = [number for number, line in enumerate(lines, 1) if line == "COMMIT"]
        after = [
            (f"after {commits[n - 1]}", functools.partial(kill, Fault(kill_after=commits[n - 1])))
            for n in chosen(arguments.kills, len(commits))
        ]
        seeds = range(arguments.seed, arguments.seed + arguments.random)
        moments = [(f"seed {seed}", functools.partial(trials.kill_at_random, lab, seed)) for seed in seeds]
        errors = chosen(arguments.errors, count)
        kinds = [("an I/O error, once", "io", False), ("an I/O error that stays", "io", True)]
        kinds += [("a full disk, once", "full", False), ("a full disk until there is room", "full", True)]
        plan: list[tuple[str, Sequence[tuple[str, Trial]]]] = [
            ("killed before a statement", before),
            ("killed after a COMMIT", after),
            ("killed at a random moment", moments),
            *(
                (
                    name,
                    [(f"at {n}", functools.partial(error, Fault(error_at=n, error=kind), until=stays)) for n in errors],
                )
                for name, kind, stays in kinds
            ),
        ]
        if arguments.cases:
            plan.append(("a model that misbehaves", misbehaviour.cases(lab)))
            plan.append(("surroundings that fail", surroundings.cases(lab)))
        rows += [await run_row(name, named, arguments.jobs) for name, named in plan if named]
        for n_servers in arguments.servers:
            trial = functools.partial(crowd.interleave, lab, n_servers, arguments.turns, arguments.seed)
            name = f"{n_servers} servers, {arguments.turns} turns"
            rows.append(await run_row(name, [("all", trial)], 1, TURN_S * arguments.turns))
    _say(_table(rows))
    if count < MIN_STATEMENTS:
        _say(f"Only {count} statements were counted; there were at least {MIN_STATEMENTS} once.")
    return 1 if count < MIN_STATEMENTS or any(row.broken for row in rows) else 0


def _table(rows: Sequence[Row]) -> str:
    lines = [f"{'trial':<34}{'run':>6}{'reached':>9}{'broken':>8}{'s':>6}  answers"]
    for row in rows:
        answers = ", ".join(f"{name} {n}" for name, n in row.answers.most_common())
        lines.append(
            f"{row.name:<34}{row.n_run:>6}{row.n_reached:>9}{len(row.broken):>8}{row.seconds:>6.0f}  {answers}"
        )
    lines += [f"  BROKEN  {row.name}, {sentence}" for row in rows for sentence in row.broken]
    return "\n".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Faults under the whole server.")
    parser.add_argument("--kills", default="all", help="statements to be killed at: `all`, or how many")
    parser.add_argument("--errors", default="all", help="statements that fail, in four ways: `all`, or how many")
    parser.add_argument("--random", type=int, default=1000, help="random moments to be killed at")
    parser.add_argument("--servers", default="2,4", help="how many servers share a folder, by commas; empty for none")
    parser.add_argument("--turns", type=int, default=2000, help="turns that such servers have together")
    parser.add_argument("--cases", action=argparse.BooleanOptionalAction, default=True, help="the single cases")
    parser.add_argument("--seed", type=int, default=1, help="of everything random")
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time")
    arguments = parser.parse_args()
    arguments.servers = [int(each) for each in arguments.servers.split(",") if each]
    return asyncio.run(run(arguments))
