"""One engine on one folder, in a process of its own, so that its memory is its own: questions in, a line of JSON out.

python measure.py (scan | search | old) FOLDER < questions.json
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Any

Ask = Callable[[str], Sequence[str]]
"""The paths of the files of the places that a question gets, best first."""


def scan(root: Path) -> Ask:
    def ask(question: str) -> list[str]:
        words = set(re.findall(r"\w{3,}", question.lower()))
        scores: list[tuple[int, int, str]] = []
        for path in sorted(root.rglob("*")):
            try:
                text = path.read_text(encoding="utf-8").lower()
            except (OSError, UnicodeDecodeError):
                continue
            counts = [text.count(word) for word in words]
            scores.append((-sum(n > 0 for n in counts), -sum(counts), path.relative_to(root).as_posix()))
        return [path for *_, path in sorted(scores)]

    return ask


def search(root: Path) -> Ask:
    from palimpsest.domain.offline.question import search_terms
    from palimpsest.services.offline.folder_index import FolderIndex

    index = FolderIndex(root)
    return lambda question: [place.path or "" for place in index.search(search_terms(question), Event()).places]


def old(root: Path) -> Ask:
    from importlib import import_module

    folder: Any = import_module("palimpsest.services.offline.folder_text").FolderText(root)
    find: Any = import_module("palimpsest.services.offline.finding").find_passages
    return lambda question: [passage.source.path for passage in find(question, folder, ())]


def main() -> None:
    engine, folder = sys.argv[1:]
    questions = json.load(sys.stdin)
    ask = {"scan": scan, "search": search, "old": old}[engine](Path(folder))
    before = _resident_mib()
    found, seconds = [], []
    for question in questions:
        began = time.perf_counter()
        found.append([*dict.fromkeys(ask(question))])
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"found": found, "seconds": seconds, "mib": _resident_mib() - before}))


def _resident_mib() -> float:
    """The memory of this process; on other systems than Linux NaN."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
    except OSError:
        return math.nan


if __name__ == "__main__":
    main()
