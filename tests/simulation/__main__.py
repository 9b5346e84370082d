"""`python -m tests.simulation hunt` goes through seeds; `shrink SEED NAME` and `replay TRACE` look at what was found.

docs/simulation.md tells how to read what they print.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.simulation import world
from tests.simulation.areas import PROFILES
from tests.simulation.hunting import Hunt, carry_out
from tests.simulation.running import SHORT, operations_of
from tests.simulation.shrinking import Trace, shrink
from tests.simulation.sweeping import INTERRUPTIONS, SUBJECTS, sweep

_OF_THE_END = re.compile(r"number=9\d{3}\)")
"""One more chat in every conversation, with which each run ends."""


def _hunt(said: argparse.Namespace) -> int:
    first, after = said.seeds
    wanted = Hunt(first, after, said.ops, said.jobs, said.profile, said.seconds, said.coverage, said.every, said.out)
    return 1 if carry_out(wanted).found else 0


def _shrink(said: argparse.Namespace) -> int:
    try:
        trace = shrink(said.seed, said.name, operations_of(said.seed, said.profile, said.ops), said.runs)
    except ValueError as error:
        sys.exit(str(error))
    print("\n".join(_last_operations(trace.play(keeps_trace=True).trace)[: said.steps]))
    print(trace.to_json())
    if said.out is not None:
        said.out.write_text(trace.to_json(), "utf-8")
    return 0


def _last_operations(steps: Sequence[str]) -> Sequence[str]:
    """From the last but one on: what is behind them is mostly the look at what there is."""
    begun = [at for at, step in enumerate(steps) if "------" in step and not _OF_THE_END.search(step)]
    return steps[begun[-2:][0] :] if begun else steps


def _sweep(said: argparse.Namespace) -> int:
    first, after = said.seeds
    n_runs = n_found = 0
    for subject in said.kind or SUBJECTS:
        for seed in range(first, after):
            for interruption in INTERRUPTIONS:
                for moment, outcome in sweep(seed, subject, interruption, said.every):
                    n_runs += 1
                    for name, seen in outcome.problems:
                        n_found += 1
                        print(f"{subject} {interruption} at {moment}, seed {seed}: {name}: {seen}", flush=True)
    print(f"{n_runs} runs, {n_found} findings")
    return 1 if n_found else 0


def _replay(said: argparse.Namespace) -> int:
    if not said.trace.is_file():
        sys.exit(f"There is no trace {said.trace}. Those that are kept are in tests/simulation/traces.")
    outcome = Trace.read(said.trace).play(keeps_trace=True)
    print("\n".join(outcome.trace))
    print(outcome.digest, outcome.problems)
    return 1 if outcome.problems else 0


def _seeds(text: str) -> tuple[int, int]:
    """`100`: the first hundred; `100..200`: from 100 on, below 200."""
    first, dots, after = text.partition("..")
    if not all(each.isdecimal() for each in (first, *([after] if dots else []))):
        raise argparse.ArgumentTypeError(f"{text} is no range of seeds: say 100, or 100..200")
    found = (int(first), int(after)) if dots else (0, int(first))
    if not 0 <= found[0] < found[1]:
        raise argparse.ArgumentTypeError(f"{text} is no range of seeds: say 100, or 100..200")
    return found


def _at_least_one(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return int(text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    of_runs = argparse.ArgumentParser(add_help=False)
    of_runs.add_argument("--ops", type=_at_least_one, default=SHORT, help="operations of a run")
    of_runs.add_argument("--profile", choices=list(PROFILES), help="instead of each seed's own")
    of_runs.add_argument("--out", type=Path, help="a file to write to")
    commands = parser.add_subparsers()
    hunting = commands.add_parser("hunt", parents=[of_runs], help="goes through seeds")
    hunting.add_argument("--seeds", type=_seeds, default=(0, 100), metavar="N or FIRST..AFTER")
    hunting.add_argument("--seconds", type=float, help="ends after the first seed beyond")
    hunting.add_argument(
        "--jobs", type=int, choices=range(65), default=os.cpu_count() or 1, metavar="N", help="0: this one"
    )
    hunting.add_argument("--every", type=_at_least_one, default=1, help="only the first of so many seeds")
    hunting.add_argument("--no-coverage", dest="coverage", action="store_false")
    hunting.set_defaults(do=_hunt)
    shrinking = commands.add_parser("shrink", parents=[of_runs], help="makes what a seed has shown small")
    shrinking.add_argument("seed", type=int)
    shrinking.add_argument("name")
    shrinking.add_argument("--runs", type=int, default=300)
    shrinking.add_argument("--steps", type=int, default=120, help="printed, from the last but one operation on")
    shrinking.set_defaults(do=_shrink)
    sweeping = commands.add_parser("sweep", help="interrupts operations at every step")
    sweeping.add_argument("--seeds", type=_seeds, default=(0, 1), metavar="N or FIRST..AFTER")
    sweeping.add_argument("--kind", choices=SUBJECTS, action="append", help="by default all")
    sweeping.add_argument("--every", type=_at_least_one, default=1, help="only so many-th moments")
    sweeping.set_defaults(do=_sweep)
    replaying = commands.add_parser("replay", help="prints the steps of a trace")
    replaying.add_argument("trace", type=Path)
    replaying.set_defaults(do=_replay)
    said = parser.parse_args(sys.argv[1:] or ["hunt"])
    try:
        return int(said.do(said))
    finally:
        shutil.rmtree(world.BASE, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
