"""How much the simulation sees: safeguards are taken out of the product one at a time, and seeds gone through until
something is found that is not found without.

`python -m tests.simulation.mutations` prints a table. Each mutant is a copy of the server's package with one text
replaced, run in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.simulation.mutants import MUTANTS, Mutant

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "server" / "palimpsest"
FEWEST_FOUND: Final = 0.9
"""Of the mutants: with fewer the simulation is blind somewhere."""
_LONGEST_S: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class Sighting:
    """The result of the seeds for a mutant."""

    names: tuple[str, ...]
    """Of the problems of the first seed that showed any; empty: none did."""
    n_seeds: int
    n_ops: int
    cpu_s: float


def mutated(mutant: Mutant, source: str) -> str:
    """The file's text with the mutation. Raises ValueError unless the replaced text occurs exactly once."""
    for before, after in ((mutant.before, mutant.after), *([mutant.also] if mutant.also else [])):
        if source.count(before) != 1:
            raise ValueError(f"{mutant.file} holds {source.count(before)} times: {before!r}")
        source = source.replace(before, after)
    return source


def seek(seeds: range, profile: str | None) -> Sighting:
    """Goes through seeds, in this process, until something is found."""
    from tests.simulation.running import operations_of, run

    n_ops, began = 0, time.process_time()
    for n_before, seed in enumerate(seeds):
        outcome = run(seed, operations_of(seed, profile))
        n_ops += outcome.n_ops
        if outcome.problems:
            return Sighting(tuple(sorted(outcome.names)), n_before + 1, n_ops, time.process_time() - began)
    return Sighting((), len(seeds), n_ops, time.process_time() - began)


def try_out(mutant: Mutant, n_seeds: int) -> Sighting:
    """The mutant in a process of its own. What a seed shows without it as well does not count."""
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="palimpsest-mutant-", dir=place) as scratch:
        package = Path(scratch, "palimpsest")
        shutil.copytree(PACKAGE, package)
        file = package / mutant.file
        file.write_text(mutated(mutant, file.read_text("utf-8")), "utf-8")
        first, n_ops, cpu_s = 0, 0, 0.0
        while first < n_seeds:
            seen = _seek(Path(scratch), range(first, n_seeds), mutant)
            first, n_ops, cpu_s = first + seen.n_seeds, n_ops + seen.n_ops, cpu_s + seen.cpu_s
            if seen.names and not _seek(PACKAGE.parent, range(first - 1, first), mutant).names:
                return Sighting(seen.names, first, n_ops, cpu_s)
        return Sighting((), first, n_ops, cpu_s)


def _seek(server: Path, seeds: range, mutant: Mutant) -> Sighting:
    """The same as `seek`, in a process that imports the product from that folder."""
    path = os.pathsep.join(map(str, (server, ROOT / "clients", ROOT)))
    command = [sys.executable, "-m", "tests.simulation.mutations", "--seek", f"{seeds.start}..{seeds.stop}"]
    command += ["--profile", mutant.profile] if mutant.profile else []
    environ = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=_LONGEST_S)
    if done.returncode:
        raise RuntimeError(f"{mutant.name}: {done.stderr[-2000:]}")
    told = json.loads(done.stdout.splitlines()[-1])
    return Sighting(**{**told, "names": tuple(told["names"])})


def _table(mutants: list[Mutant], n_seeds: int, jobs: int) -> Iterator[tuple[Mutant, Sighting]]:
    with ThreadPoolExecutor(jobs) as pool:
        for mutant, sighting in zip(mutants, pool.map(lambda each: try_out(each, n_seeds), mutants), strict=True):
            found = ", ".join(sighting.names) or "NOT FOUND"
            numbers = f"{sighting.n_seeds} | {sighting.n_ops} | {sighting.cpu_s:.0f}"
            print(f"| {mutant.name} | {mutant.file} | {found} | {numbers} |", flush=True)
            yield mutant, sighting


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutations")
    parser.add_argument("--seeds", type=int, default=300, help="at most so many for each")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", metavar="TEXT", help="those whose names hold it")
    parser.add_argument("--profile", help=argparse.SUPPRESS)
    parser.add_argument("--seek", metavar="FIRST..AFTER", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.seek:
        first, after = map(int, said.seek.split(".."))
        print(json.dumps(asdict(seek(range(first, after), said.profile))))
        return 0
    mutants = [each for each in MUTANTS if said.only is None or said.only in each.name]
    if not mutants:
        parser.error(f"no mutant's name holds {said.only!r}; they are: {', '.join(each.name for each in MUTANTS)}")
    print("| what is wrong | where | found as | seeds | operations | s of CPU |\n|---|---|---|---|---|---|")
    found = [mutant for mutant, sighting in _table(mutants, said.seeds, said.jobs) if sighting.names]
    print(f"{len(found)} of {len(mutants)} were found within {said.seeds} seeds")
    return 0 if len(found) >= FEWEST_FOUND * len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
