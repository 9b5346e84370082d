"""How often a fact about lines of a file is called stale rightly, beside simpler ways in the same run.

    python -m benchmarks.staleness [--data FILE --harness FILE] [--repository FOLDER]

Three parts. Recorded edits, if labelled spans and their harness are named: ours and the harness' references.
Renamed files, if a git repository is named: git says what was renamed, and `relocate` looks for it among all files of
the commit that were not there before. Configuration: files of our own, with edits whose outcome is known because of how
they are made. The seed is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from palimpsest.domain.facts.fact import FactState, Span
from palimpsest.domain.facts.staleness.anchor import Anchor, make_anchor
from palimpsest.domain.facts.staleness.check import check_file
from palimpsest.domain.facts.staleness.file_lines import FileLines
from palimpsest.domain.facts.staleness.relocate import Candidates, relocate
from palimpsest.domain.facts.staleness.symbols import enclosing_symbol

_SEED: Final = 7
_REFERENCES: Final = ("stale_baselines:file_sha", "stale_baselines:exact_any", "stale_baselines:proto")
_MOST_COMMITS: Final = 400
_LARGEST_FILE: Final = 300_000
_FILES_A_FORMAT: Final = 40


def recorded_edits(data: str, harness: str) -> None:
    """Runs the harness once a system; each prints its own rows."""
    root = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)])}
    for system in ("benchmarks.system:make_staleness", *_REFERENCES):
        command = [sys.executable, harness, data, "--callable", system, "--brief"]
        subprocess.run(command, check=True, cwd=root, env=environment, timeout=1800)


class Repository:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def _git(self, *arguments: str) -> bytes:
        return subprocess.run(
            ["git", "-C", self._folder, *arguments], check=True, capture_output=True, timeout=300
        ).stdout

    def renames(self) -> Iterator[tuple[str, list[tuple[str, str]], list[str], list[str]]]:
        """Commit, renamed pairs, added and deleted paths, of commits that renamed something, the newest first."""
        arguments = ("log", "-M", "--no-merges", "--name-status", "--format=%x01%H", "--diff-filter=RAD", "-z")
        n_commits = 0
        for block in self._git(*arguments).decode("utf-8", "replace").split("\x01")[1:]:
            commit, *rest = [field.strip("\n") for field in block.split("\0") if field.strip("\n")]
            pairs: list[tuple[str, str]] = []
            added: list[str] = []
            deleted: list[str] = []
            fields = iter(rest)
            for status in fields:
                if status[0] == "R":
                    pairs.append((next(fields), next(fields)))
                else:
                    (added if status[0] == "A" else deleted).append(next(fields))
            if pairs:
                yield commit, pairs, added, deleted
                n_commits += 1
                if n_commits == _MOST_COMMITS:
                    return

    def text(self, commit: str, path: str) -> str | None:
        """None for what is no text, or too large."""
        try:
            data = self._git("cat-file", "blob", f"{commit}:{path}")
        except subprocess.CalledProcessError:
            return None
        return None if b"\0" in data[:8000] or len(data) > _LARGEST_FILE else data.decode("utf-8", "replace")


def some_anchors(path: str, text: str, rnd: random.Random) -> list[Anchor]:
    n_lines = text.count("\n") + 1
    found = (enclosing_symbol(path, text, rnd.randint(1, n_lines)) for _ in range(3))
    return [make_anchor(path, text, span, name) for span, name in filter(None, found)]


def renamed_files(folder: str) -> None:
    repository = Repository(folder)
    rnd = random.Random(_SEED)
    outcomes: Counter[str] = Counter()
    spent_s = 0.0
    n_candidates = 0
    for commit, pairs, added, deleted in repository.renames():
        paths = [*(after for _, after in pairs), *added]
        texts = [(path, text) for path in paths if (text := repository.text(commit, path)) is not None]
        truths = [*pairs, *((path, None) for path in deleted)]
        for before, truth in truths:
            text = repository.text(f"{commit}^", before)
            if text is None or not text.strip():
                continue
            lost, anchors = FileLines.of(text), some_anchors(before, text, rnd)
            began = time.perf_counter()
            candidates = Candidates.of(texts)
            found = relocate(lost, anchors, candidates)
            spent_s += time.perf_counter() - began
            n_candidates += len(texts)
            if truth is None:
                outcomes["deleted, found all the same" if found else "deleted, not found"] += 1
            else:
                outcomes["right" if found == truth else "not found" if found is None else "wrong"] += 1
    n_named = outcomes["right"] + outcomes["wrong"] + outcomes["deleted, found all the same"]
    n_renamed = outcomes["right"] + outcomes["wrong"] + outcomes["not found"]
    print(f"\nrenamed files ({n_renamed} renamed, {n_candidates} candidates compared)")
    print(
        f"  precision {share(outcomes['right'], n_named)}  recall {share(outcomes['right'], n_renamed)}"
        f"  {1000 * spent_s / max(1, n_candidates):.2f} ms a candidate  {dict(outcomes)}"
    )


def share(n: int, of: int) -> str:
    return f"{100 * n / of:.1f} %" if of else "-"


Entry = tuple[str, dict[str, str]]
Writer = Callable[[Entry, bool], list[str]]
"""The lines of an entry; the flag asks for another layout of the same content."""


def _json(entry: Entry, other: bool) -> list[str]:
    name, values = entry
    if other:
        return [f"    {json.dumps(name)} : {json.dumps(values)},"]
    return [f"  {line}" for line in f"{json.dumps(name)}: {json.dumps(values, indent=2)},".split("\n")]


def _yaml(entry: Entry, other: bool) -> list[str]:
    name, values = entry
    margin, quote = ("      ", "'") if other else ("  ", '"')
    return [f"{name}:", *(f"{margin}{key}:  {quote}{value}{quote}" for key, value in values.items())]


def _toml(entry: Entry, other: bool) -> list[str]:
    name, values = entry
    equals, quote = ("=", "'") if other else (" = ", '"')
    return [f"[{name}]", *(f"{key}{equals}{quote}{value}{quote}" for key, value in values.items())]


def _markdown(entry: Entry, other: bool) -> list[str]:
    name, values = entry
    words = [f"{key} is {value}," for key, value in values.items()]
    return [f"## {name}", "", *(words if other else [" ".join(words)])]


_WRITERS: Final[dict[str, tuple[Writer, str, str]]] = {
    "json": (_json, "{", '  "last": 0\n}'),
    "yaml": (_yaml, "version: 1", "last: 0"),
    "toml": (_toml, "version = 1", "[last]"),
    "md": (_markdown, "# Notes", "## Last"),
}


def configuration() -> None:
    print(
        f"\nconfiguration, {_FILES_A_FORMAT} files a format, seed {_SEED}: share of right states (and of right lines)"
    )
    edits = ("insert above", "reformat", "edit value", "delete", "move")
    print("  " + "".join(each.rjust(18) for each in ("", *edits)))
    for suffix, (write, first, last) in _WRITERS.items():
        rnd = random.Random(_SEED)
        right: Counter[str] = Counter()
        placed: Counter[str] = Counter()
        for number in range(_FILES_A_FORMAT):
            entries = [_entry(rnd, f"{number}-{k}") for k in range(8)]
            k = rnd.randrange(1, 7)
            before, spans = _file(write, first, last, entries, None)
            path = f"file.{suffix}"
            anchor = make_anchor(path, before, spans[entries[k][0]])
            for edit in edits:
                after, now = _edited(write, first, last, entries, k, edit, rnd)
                [verdict] = check_file(path, FileLines.of(before), [anchor], after)
                truth = {"edit value": (FactState.CHANGED,), "delete": (FactState.MISSING,)}.get(
                    edit, (FactState.FRESH, FactState.MOVED)
                )
                right[edit] += verdict.state in truth
                placed[edit] += verdict.span == now.get(entries[k][0])
        cells = (f"{share(right[e], _FILES_A_FORMAT)} ({share(placed[e], _FILES_A_FORMAT)})" for e in edits)
        print("  " + suffix.rjust(18) + "".join(cell.rjust(18) for cell in cells))


def _entry(rnd: random.Random, ending: str) -> Entry:
    keys = rnd.sample("host port user image path mode level limit retries timeout".split(), rnd.randint(2, 5))
    return f"service-{ending}", {key: f"{key}-{rnd.randint(1, 9)}" for key in keys}


def _file(write: Writer, first: str, last: str, entries: list[Entry], other: str | None) -> tuple[str, dict[str, Span]]:
    lines = [first]
    spans = {}
    for entry in entries:
        written = write(entry, entry[0] == other)
        spans[entry[0]] = Span(len(lines) + 1, len(lines) + len(written))
        lines += [*written, ""]
    return "\n".join([*lines, last, ""]), spans


def _edited(
    write: Writer, first: str, last: str, entries: list[Entry], k: int, edit: str, rnd: random.Random
) -> tuple[str, dict[str, Span]]:
    edited = list(entries)
    name, values = entries[k]
    if edit == "insert above":
        edited.insert(rnd.randint(0, k), _entry(rnd, "inserted"))
    elif edit == "edit value":
        key = rnd.choice(list(values))
        edited[k] = (name, {**values, key: f"{values[key]}0"})
    elif edit == "delete":
        del edited[k]
    elif edit == "move":
        edited.insert(rnd.choice([i for i in range(7) if i != k]), edited.pop(k))
    return _file(write, first, last, edited, name if edit == "reformat" else None)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.staleness", description=__doc__)
    parser.add_argument("--data", help="recorded edits, JSON lines")
    parser.add_argument("--harness", help="the script that measures a system on them")
    parser.add_argument("--repository", help="a git repository with renames in its history")
    given = parser.parse_args(arguments)
    if bool(given.data) != bool(given.harness):
        parser.error("--data and --harness go together.")
    if given.data:
        recorded_edits(given.data, given.harness)
    if given.repository:
        renamed_files(given.repository)
    configuration()


if __name__ == "__main__":
    main(sys.argv[1:])
