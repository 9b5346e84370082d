"""The tests of two commits: how many each layer has, and which are gone.

    python -m dev.tests_gone [--cases] COMMIT [COMMIT]

The second commit is HEAD by default. A test is still there when a test of its name is, in whatever file. For each that
is gone, the new test whose text is most like its own is printed with the share of the text that both have in common,
and "not in docs/tests.md" where that page, which says what became of them, does not name it: then the exit code is 1.
`--cases` also collects the cases of both commits with pytest, and names the tests that have fewer than before.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dev import ROOT
from dev.revisions import files_at

_PAGE = "docs/tests.md"
_CASE = re.compile(r"tests/(?:(?P<layer>\w+)/)?[\w/]+\.py::(?:\w+::)*(?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class FoundTest:
    """A test function, or a method of a test class."""

    path: str
    name: str
    text: str
    """What it does: its statements without its docstring and its decorators."""

    @property
    def layer(self) -> str:
        """The folder below `tests/` in which it lies; empty for none."""
        return self.path.split("/")[1] if self.path.count("/") > 1 else ""


def find_tests_at(commit: str) -> list[FoundTest]:
    """The test functions of a commit, by path and place."""
    return [test for path, text in files_at(commit, ("tests",)).items() for test in find_tests(path, text)]


def find_tests(path: str, text: str) -> Iterator[FoundTest]:
    """Yields the test functions of a file that pytest collects, in their order."""
    if not path.rpartition("/")[2].startswith("test_"):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield FoundTest(path, node.name, "\n".join(ast.unparse(statement) for statement in node.body))


def gone(before: Sequence[FoundTest], after: Sequence[FoundTest]) -> list[FoundTest]:
    """The tests whose name fewer tests have than before; of several of one name, those whose file has none now."""
    left = Counter(test.name for test in after)
    missing = Counter({name: n - left[name] for name, n in Counter(test.name for test in before).items()})
    still_there = {(test.path, test.name) for test in after}
    found: list[FoundTest] = []
    for test in sorted(before, key=lambda test: (test.path, test.name) in still_there):
        if missing[test.name] > 0:
            missing[test.name] -= 1
            found.append(test)
    return sorted(found, key=lambda test: (test.path, test.name))


def likest(test: FoundTest, among: Sequence[FoundTest]) -> tuple[FoundTest | None, float]:
    """The test whose text is most like that of `test`, and how like it is: from 0 to 1."""
    best, most = None, 0.0
    lines = test.text.splitlines()
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(test.text)
    for other in among:
        matcher.set_seq1(other.text)
        if not set(lines) & set(other.text.splitlines()) and matcher.real_quick_ratio() <= most:
            continue
        if matcher.quick_ratio() > most and (share := matcher.ratio()) > most:
            best, most = other, share
    return best, most


def by_layer(tests: Sequence[FoundTest]) -> Mapping[str, int]:
    """The number of test functions by layer."""
    return Counter(test.layer for test in tests)


def cases_at(commit: str) -> list[tuple[str, str]]:
    """The layer and the name of the test for each case that pytest collects at a commit, in its order.

    The environment is the present one, so what an old commit needs and this one does not is not collected.
    """
    with _checkout(commit) as folder:
        paths = os.pathsep.join(str(folder / name) for name in ("server", "clients", "hub", "."))
        told = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
    matches = (_CASE.match(line) for line in told.stdout.splitlines())
    return [(match["layer"] or "", match["name"]) for match in matches if match is not None]


@contextlib.contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    """A folder with the files of a commit, until the end."""
    with tempfile.TemporaryDirectory() as folder:
        files = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=files, check=True)
        yield Path(folder)


def print_layers(what: str, before: Mapping[str, int], after: Mapping[str, int], commits: tuple[str, str]) -> None:
    """Print a table of the numbers by layer."""
    print(f"{what:24} {commits[0]:>9} {commits[1]:>9}")
    for layer in sorted({*before, *after}):
        print(f"{layer or 'tests':24} {before.get(layer, '-'):>9} {after.get(layer, '-'):>9}")
    print(f"{'all':24} {sum(before.values()):>9} {sum(after.values()):>9}\n")


def print_gone(before: Sequence[FoundTest], after: Sequence[FoundTest]) -> bool:
    """Print the tests that are gone; return whether the page names them all."""
    names = {test.name for test in before}
    fresh = [test for test in after if test.name not in names]
    page = (ROOT / _PAGE).read_text("utf-8")
    lost = gone(before, after)
    moved = len({(test.path, test.name) for test in before} - {(test.path, test.name) for test in after}) - len(lost)
    print(f"{len(lost)} tests are gone, {moved} are in another file, and {len(fresh)} have a new name")
    is_complete = True
    for test in lost:
        is_named = re.search(rf"\b{test.name}\b", page) is not None
        is_complete = is_complete and is_named
        print(f"{test.path}::{test.name}{'' if is_named else f'   not in {_PAGE}'}")
        other, share = likest(test, fresh)
        if other is not None:
            print(f"    {share:.2f} {other.path}::{other.name}")
    return is_complete


def print_cases(commits: tuple[str, str]) -> None:
    """Print the number of cases by layer, and the tests that have fewer."""
    before, after = (cases_at(commit) for commit in commits)
    of_layer = [Counter(layer for layer, _ in cases) for cases in (before, after)]
    print_layers("cases in", of_layer[0], of_layer[1], commits)
    old, new = (Counter(name for _, name in cases) for cases in (before, after))
    print("tests that are still there with fewer cases:")
    for name in sorted(name for name in old if 0 < new[name] < old[name]):
        print(f"{name:90} {old[name]:>5} {new[name]:>5}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what the first lines of this file say; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dev.tests_gone", description=__doc__.partition("\n")[0])
    parser.add_argument("before", help="a commit")
    parser.add_argument("after", nargs="?", default="HEAD", help="a commit; HEAD by default")
    parser.add_argument("--cases", action="store_true", help="collect the cases as well")
    args = parser.parse_args(arguments)
    commits = (args.before, args.after)
    before, after = (find_tests_at(commit) for commit in commits)
    print_layers("test functions in", by_layer(before), by_layer(after), commits)
    is_complete = print_gone(before, after)
    if args.cases:
        print()
        print_cases(commits)
    return 0 if is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
