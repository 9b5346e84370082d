"""Looks for a pattern in texts, as a process of its own: `text_search` starts it and can end it.

An expression from a model may take for ever or all memory, to compile as well as to match, and Python's `re` cannot be
stopped. This process can. It is run as a script, isolated, and imports nothing but the standard library.

Input: a line of JSON `{pattern, is_literal, ignores_case, limit}`; then, for each text, a line `{path, n_bytes}` and
that many bytes of UTF-8, lines parted by `\\n`. Output, JSON a line: `{path, line, text}` for each line that matches,
counted from 1; last `{end: "all" | "limit"}`, or `{error}` where the pattern cannot be used.
"""

from __future__ import annotations

import json
import re
import sys
from typing import BinaryIO

MAX_SHOWN = 300
"""Characters of a line that are shown, around its first match."""
MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_CPU_S = 60
"""Ends this process even when the one that started it died."""


def main(source: BinaryIO, target: BinaryIO) -> None:
    _limit_resources()
    asked = json.loads(source.readline())
    try:
        pattern = re.compile(
            re.escape(asked["pattern"]) if asked["is_literal"] else asked["pattern"],
            re.IGNORECASE if asked["ignores_case"] else 0,
        )
        _say(target, {"end": _search(source, target, pattern, asked["limit"])})
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        _say(target, {"error": f"{error.msg}{where}"})
    except (RecursionError, OverflowError, MemoryError):
        _say(target, {"error": "it is too complex"})


def _search(source: BinaryIO, target: BinaryIO, pattern: re.Pattern[str], limit: int) -> str:
    n_found = 0
    while head := source.readline():
        file = json.loads(head)
        text = source.read(file["n_bytes"]).decode("utf-8", errors="replace")
        for number, line in enumerate(text.split("\n"), start=1):
            match = pattern.search(line)
            if match is None:
                continue
            if n_found == limit:
                return "limit"
            n_found += 1
            _say(target, {"path": file["path"], "line": number, "text": _shown(line, match.start())})
    return "all"


def _shown(line: str, at: int) -> str:
    if len(line) <= MAX_SHOWN:
        return line
    first = max(0, min(at - MAX_SHOWN // 4, len(line) - MAX_SHOWN))
    last = first + MAX_SHOWN
    return ("…" if first else "") + line[first:last] + ("…" if last < len(line) else "")


def _say(target: BinaryIO, said: dict[str, object]) -> None:
    target.write(json.dumps(said).encode() + b"\n")
    target.flush()


def _limit_resources() -> None:
    try:
        import resource
    except ImportError:  # Windows: the time limit of whoever waits is all there is
        return
    for what, limit in ((resource.RLIMIT_AS, MAX_MEMORY_BYTES), (resource.RLIMIT_CPU, MAX_CPU_S)):
        try:
            resource.setrlimit(what, (limit, limit))
        except (ValueError, OSError):  # macOS has no RLIMIT_AS that holds
            continue


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
