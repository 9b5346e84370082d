"""How well, how quickly and in how much memory the search without a model finds the right file.

    python -m benchmarks.offline [-v] [--old]

The folder is this repository at a fixed commit; `questions.toml` names for each question the files of which one is
right. Beside the search runs the plainest one there is: a scan of all files, which counts the words of the question
that occur in each. `--old`: also the engine of quotes that stood here at that commit; it needs snowballstemmer.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
_FIRST: Final = (1, 3, 5)
"""Among how many places the right file may be."""


def _measure(engine: str, folder: Path, questions: Sequence[str]) -> Mapping[str, Any]:
    environ = (
        {**os.environ, "PYTHONPATH": f"{folder / 'server'}:{folder / 'clients'}"} if engine == "old" else os.environ
    )
    done = subprocess.run(
        [sys.executable, str(HERE / "measure.py"), engine, str(folder)],
        input=json.dumps(questions),
        text=True,
        stdout=subprocess.PIPE,
        env=environ,
        check=True,
    )
    measured: Mapping[str, Any] = json.loads(done.stdout)
    return measured


def _report(engine: str, measured: Mapping[str, Any], right: Sequence[Sequence[str]]) -> list[int | None]:
    """Prints a line; the position of the right file for each question, from 0."""
    at = [
        next((n for n, path in enumerate(found) if path in files), None)
        for found, files in zip(measured["found"], right, strict=True)
    ]
    counts = ", ".join(f"{sum(n is not None and n < first for n in at)} among the first {first}" for first in _FIRST)
    first, *others = measured["seconds"]
    print(
        f"{engine:7} right file of {len(at)}: {counts};  first question {first:.2f} s, "
        f"median of the others {statistics.median(others):.3f} s;  {measured['mib']:.0f} MiB"
    )
    return at


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true", help="where the search has the right file, by question")
    parser.add_argument("--old", action="store_true", help="run the engine of quotes as well")
    arguments = parser.parse_args(argv)
    asked = tomllib.loads((HERE / "questions.toml").read_text(encoding="utf-8"))
    texts = [each["text"] for each in asked["question"]]
    right = [each["files"] for each in asked["question"]]
    with tempfile.TemporaryDirectory() as name:
        folder, packed = Path(name, "folder"), Path(name, "folder.tar")
        archive = ["git", "archive", "--output", str(packed), asked["commit"]]
        if subprocess.run(archive, cwd=HERE.parents[1], check=False).returncode:
            print(f"offline: this clone has no commit {asked['commit']}, so nothing is measured")
            return
        with tarfile.open(packed) as files:
            files.extractall(folder, filter="data")
        for engine in ("scan", *(["old"] if arguments.old else []), "search"):
            at = _report(engine, _measure(engine, folder, texts), right)
    if arguments.verbose:
        for text, position in zip(texts, at, strict=True):
            print(f"    {'-' if position is None else position + 1:>2}  {text}")


if __name__ == "__main__":
    main()
