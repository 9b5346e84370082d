"""`make bench`: every benchmark that needs no data from outside, one page of figures.

    python -m benchmarks [NAME ...] [--quick] [--keep]

Each benchmark runs in a process of its own, one after the other: `python -m benchmarks.NAME` prints more of one. With
--keep the figures are written to `benchmarks/results` and to the README. --quick does little and says nothing about
speed: it fails when a benchmark is broken (`make bench-quick`).
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import psutil
from benchmarks import page
from benchmarks.figures import Figure, Size, show

NAMES: Final = (
    *("startup", "prepare", "price", "first_token", "journal", "busy", "crowd"),
    *("history", "migration", "long_conversation", "retrieval", "fact_watching", "calibration"),
)
"""In the order of the page."""


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="only show that each benchmark runs")
    parser.add_argument("--keep", action="store_true", help="write the results and the page")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if unknown := set(arguments.names) - set(NAMES):
        parser.error(f"There is no benchmark {', '.join(sorted(unknown))}. There are: {', '.join(NAMES)}.")
    if arguments.quick and arguments.keep:
        parser.error("With --quick nothing is measured that is worth keeping: leave out --quick or --keep.")
    size = Size.QUICK if arguments.quick else Size.FULL
    if arguments.into is not None:
        (name,) = arguments.names
        _measure(name, size, arguments.into)
        return 0
    broken: list[str] = []
    for name in arguments.names or NAMES:
        print(name, flush=True)
        started, others, where = time.perf_counter(), Others(), page.machine()
        figures = _measured_apart(name, size)
        if figures is None:
            broken.append(name)
            continue
        show(figures)
        if arguments.keep and size is Size.FULL:
            page.keep(where | {page.OTHERS: round(others.cores(), 2)}, {name: figures})
            page.write_readme(NAMES)
            page.write_texts()
        print(f"  ({time.perf_counter() - started:.0f} s)", flush=True)
    if broken:
        print(f"Broken: {', '.join(broken)}.", file=sys.stderr)
    return 1 if broken else 0


class Others:
    """What the processes that are not ours take of the machine, from now on."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.perf_counter(), _busy_s(), _own_s()

    def cores(self) -> float:
        """In the mean. What we started counts as ours once it has ended."""
        others = _busy_s() - self._busy - (_own_s() - self._own)
        return max(others, 0.0) / (time.perf_counter() - self._began)


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.system + getattr(times, "nice", 0.0) + getattr(times, "steal", 0.0))


def _own_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _measured_apart(name: str, size: Size) -> list[Figure] | None:
    """What the benchmark finds in a process of its own; None when it fails."""
    with tempfile.TemporaryDirectory() as directory:
        into = Path(directory) / "figures.json"
        quick = ["--quick"] if size is Size.QUICK else []
        command = [sys.executable, "-m", "benchmarks", name, *quick, "--into", str(into)]
        if subprocess.run(command, check=False).returncode:
            return None
        return page.from_json(json.loads(into.read_text("utf-8")))[name]


def _measure(name: str, size: Size, into: Path) -> None:
    figures: list[Figure] = importlib.import_module(f"benchmarks.{name}").figures(size)
    into.write_text(json.dumps(page.to_json({name: figures})), "utf-8")


if __name__ == "__main__":
    try:
        status = main()
    except KeyboardInterrupt:
        if "--into" not in sys.argv:  # the process that started us says it
            print("Stopped. What was measured until then and kept is whole.", file=sys.stderr)
        status = 130
    sys.exit(status)
