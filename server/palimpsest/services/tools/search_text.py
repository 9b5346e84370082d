"""The search for a pattern in many texts, with a time limit, in a process that can be ended (see `workers.search`)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final

from palimpsest import workers
from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.workspace.encoding import split_lines

_WORKER: Final = Path(workers.__file__).with_name("search.py")
_BATCH_BYTES: Final = 1024 * 1024
"""The characters of texts that are read on the thread at a time, roughly."""
_MAX_ANSWER_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Query:
    pattern: str
    is_literal: bool
    """False: the pattern is a regular expression of Python's `re`."""
    ignores_case: bool
    limit: int
    """The most matching lines to return."""


@dataclass(frozen=True, slots=True)
class Match:
    path: str
    line: int
    """The number of the line, counted from 1."""
    text: str
    """The line; of a long one, a piece around the first match."""


class SearchEnd(Enum):
    ALL = auto()
    LIMIT = auto()
    TIME = auto()


@dataclass(frozen=True, slots=True)
class SearchResult:
    matches: tuple[Match, ...]
    """The matches, in the order of the texts."""
    end: SearchEnd


async def search_texts(query: Query, texts: Iterator[tuple[str, str]], timeout_s: float) -> SearchResult:
    """The lines of `texts` (pairs of path and text) that match. When the time is over, the matches so far.

    `texts` is read on a thread. Raises InvalidRequest for a pattern that is not a regular expression.
    """
    # The process gets no environment: it needs none, and keys may be in it. Only on Windows,
    # a process cannot start without its own variables.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        str(_WORKER),
        stdin=PIPE,
        stdout=PIPE,
        stderr=subprocess.DEVNULL,
        limit=_MAX_ANSWER_BYTES,
        env=None if sys.platform == "win32" else {},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    feeding = asyncio.create_task(_feed(process, query, texts))
    matches: list[Match] = []
    try:
        async with asyncio.timeout(timeout_s):
            end = await _collect(process, matches)
            if end is SearchEnd.ALL:
                await feeding  # so that an error in the reader is not taken for the end of the texts
    except TimeoutError:
        end = SearchEnd.TIME
    finally:
        await _end(process, feeding)
    return SearchResult(tuple(matches), end)


async def _collect(process: Process, matches: list[Match]) -> SearchEnd:
    assert process.stdout is not None
    async for line in process.stdout:
        said = json.loads(line)
        if "error" in said:
            raise InvalidRequest(f"The pattern is not a regular expression that can be used: {said['error']}.")
        if "end" in said:
            return SearchEnd[said["end"].upper()]
        matches.append(Match(**said))
    raise InvalidRequest(
        "The search ended without an answer; the pattern may need too much memory. Write a simpler one."
    )


async def _feed(process: Process, query: Query, texts: Iterator[tuple[str, str]]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(asdict(query)).encode() + b"\n")
        while batch := await asyncio.to_thread(_batch, texts):
            process.stdin.write(batch)
            await process.stdin.drain()
    except ConnectionError:
        pass  # the process has found enough, or was ended
    finally:
        process.stdin.close()


def _batch(texts: Iterator[tuple[str, str]]) -> bytes:
    """The next texts, encoded for the process; empty when there are no more."""
    batch = bytearray()
    for path, text in texts:
        lines = split_lines(text)
        if not lines:
            continue
        data = "\n".join(lines).encode("utf-8", errors="replace")
        batch += json.dumps({"path": path, "n_bytes": len(data)}).encode() + b"\n" + data
        if len(batch) >= _BATCH_BYTES:
            break
    return bytes(batch)


async def _end(process: Process, feeding: asyncio.Task[None]) -> None:
    feeding.cancel()
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    with contextlib.suppress(ValueError):
        await process.stdout.read()
    await process.wait()
    await asyncio.gather(feeding, return_exceptions=True)
