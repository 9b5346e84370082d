"""Many seeds, in as many processes as there are processors, and what they found."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path

from tests.simulation import world
from tests.simulation.areas import PROFILES
from tests.simulation.running import operations_of, run

_COUNTED = 20
"""So many seeds are run once more with their lines counted."""
_PACKAGES = ("services", "storage", "lsp")


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one seed."""

    seed: int
    n_ops: int
    n_steps: int
    digest: str
    problems: tuple[tuple[str, str], ...]
    cpu_s: float


@dataclass(slots=True)
class Tally:
    """The counts of all seeds so far."""

    n_seeds: int = 0
    n_ops: int = 0
    n_steps: int = 0
    cpu_s: float = 0.0
    found: dict[str, list[int]] = field(default_factory=dict)
    digest: str = ""
    """Of the digests of all, in the order of the seeds."""

    def add(self, each: Run) -> None:
        self.digest = hashlib.sha256(f"{self.digest}{each.digest}".encode()).hexdigest()[:16]
        self.n_seeds += 1
        self.n_ops += each.n_ops
        self.n_steps += each.n_steps
        self.cpu_s += each.cpu_s
        for name in {name for name, _ in each.problems}:
            self.found.setdefault(name, []).append(each.seed)


def _run_one(asked: tuple[int, str | None, int]) -> Run:
    seed, profile, n_ops = asked
    began = time.process_time()
    outcome = run(seed, operations_of(seed, profile, n_ops))
    spent = time.process_time() - began
    return Run(seed, outcome.n_ops, outcome.n_steps, outcome.digest, outcome.problems, spent)


def _begin_worker() -> None:
    Finalize(None, _clean_up, exitpriority=1)


def _clean_up() -> None:
    shutil.rmtree(world.BASE, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Hunt:
    """What is to be run. Seeds from `first` on, below `after`."""

    first: int
    after: int
    n_ops: int
    jobs: int
    profile: str | None = None
    """None: each seed's own."""
    seconds: float | None = None
    """Ends after the first seed beyond."""
    counts_lines: bool = True
    every: int = 1
    """Only the first of so many seeds."""
    out: Path | None = None
    """A file for a line a seed: its number, the digest of its steps, how many, what was found."""


def carry_out(hunt: Hunt) -> Tally:
    """Runs the seeds, and prints what they found as they find it."""
    tally, began = Tally(), time.monotonic()
    asked = ((seed, hunt.profile, hunt.n_ops) for seed in range(hunt.first, hunt.after, hunt.every))
    with _mapped(hunt.jobs, asked) as runs:
        for each in _in_time(runs, hunt.seconds):
            tally.add(each)
            for name, seen in each.problems:
                print(f"seed {each.seed}: {name}: {seen}", flush=True)
            if hunt.out is not None:
                with hunt.out.open("a") as file:
                    file.write(f"{each.seed} {each.digest} {each.n_steps} {json.dumps(each.problems)}\n")
    _report(hunt, tally, time.monotonic() - began)
    return tally


@contextlib.contextmanager
def _mapped(jobs: int, asked: Iterable[tuple[int, str | None, int]]) -> Iterator[Iterable[Run]]:
    if not jobs:
        yield map(_run_one, asked)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin_worker) as pool:
        try:
            yield pool.map(_run_one, asked, chunksize=4)
        finally:
            pool.shutdown(cancel_futures=True)


def _in_time(runs: Iterable[Run], seconds: float | None) -> Iterator[Run]:
    until = None if seconds is None else time.monotonic() + seconds
    for each in runs:
        yield each
        if until is not None and time.monotonic() > until:
            return


def _report(hunt: Hunt, tally: Tally, wall_s: float) -> None:
    print(
        f"{tally.n_seeds} seeds from {hunt.first}, {tally.n_ops} operations, {tally.n_steps} steps in {wall_s:.0f} s; "
        f"{tally.cpu_s:.0f} s of CPU, {tally.n_ops / max(tally.cpu_s, 0.001):.0f} operations a second of it; "
        f"profile {hunt.profile or 'of each seed: ' + ', '.join(PROFILES)}"
    )
    print(f"{tally.digest} is the digest of all their steps, the same in every process and on every machine")
    for package, share in _covered(hunt) if hunt.counts_lines else ():
        print(f"{share:4.0%} of the lines of {package} were run by {min(_COUNTED, tally.n_seeds)} of these seeds")
    print(f"{sum(map(len, tally.found.values()))} findings")
    for name, seeds in sorted(tally.found.items(), key=lambda each: -len(each[1])):
        print(f"{len(seeds):5} {name}: seeds {seeds[:8]}")
        print(
            f"      .venv/bin/python -m tests.simulation shrink {seeds[0]} '{name}' --ops {hunt.n_ops}{_profile(hunt)}"
        )


def _profile(hunt: Hunt) -> str:
    return "" if hunt.profile is None else f" --profile {hunt.profile}"


def _covered(hunt: Hunt) -> Iterator[tuple[str, float]]:
    """The share of lines that some of the seeds run, by package. In a process of its own: lines are counted from the
    import on."""
    every = max(1, (hunt.after - hunt.first) // _COUNTED)
    with tempfile.TemporaryDirectory(prefix="palimpsest-simulation-") as scratch:
        data, told = Path(scratch, "lines"), Path(scratch, "told.json")
        arguments = ["hunt", "--jobs", "0", "--no-coverage", "--every", str(every), "--ops", str(hunt.n_ops)]
        arguments += ["--seeds", f"{hunt.first}..{hunt.after}"] + (["--profile", hunt.profile] if hunt.profile else [])
        counting = [sys.executable, "-m", "coverage"]
        options = [f"--data-file={data}", "--source=palimpsest"]
        subprocess.run([*counting, "run", *options, "-m", "tests.simulation", *arguments], stdout=subprocess.DEVNULL)
        subprocess.run([*counting, "json", "-q", f"--data-file={data}", "-o", str(told)], check=True)
        files = json.loads(told.read_text())["files"]
    n_lines, n_run = Counter[str](), Counter[str]()
    for file, found in files.items():
        package = next((each for each in _PACKAGES if each in Path(file).parts), "")
        n_lines[package] += found["summary"]["num_statements"]
        n_run[package] += found["summary"]["covered_lines"]
    return ((package, n_run[package] / n_lines[package]) for package in _PACKAGES if n_lines[package])
