"""Carries out checks of places where they take no time from requests: few files on a thread; many files, as after a
checkout, in processes of their own. docs/decisions/0015 tells why these processes are no `ProcessPoolExecutor`.

Such a process is `python -m palimpsest.services.facts.checker`. It reads links from stdin and writes news to stdout,
each pickled behind its length; it ends with its stdin, so it does not outlive the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final

from palimpsest.domain.facts.fact import FactState, Span
from palimpsest.services.facts.checks import News, PlaceNow, Tie, check_links
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.storage.facts.sources import Link, Version

log = logging.getLogger(__name__)

MANY_FILES: Final = 100
"""The fewest files that are worth the start of a process."""
MOST_PROCESSES: Final = min(2, os.cpu_count() or 1)
_IDLE_S: Final = 20.0
"""The processes end after so long without work: each holds some 30 MB."""
_NICENESS: Final = 10
"""So that requests go first where there are no more processors than processes."""
_LENGTH_BYTES: Final = 8


@dataclass(eq=False, slots=True)
class PlaceChecker:
    """The checker of one folder. Used by one event loop; its owner closes it when nothing is being checked any more."""

    command: Sequence[str] = (sys.executable, "-P", "-m", __name__)
    """Starts a process."""
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_PROCESSES))
    _idle: list[_Worker] = field(default_factory=list)
    _retiring: asyncio.Task[None] | None = None

    @property
    def pids(self) -> set[int]:
        """The processes that wait for work."""
        return {worker.pid for worker in self._idle}

    async def check(self, files: WorkspaceFiles, links: Sequence[Link]) -> list[News]:
        """The news of `check_links`. When no process can be started, or it dies, a thread does the work."""
        if len({link.version.path for link in links}) >= MANY_FILES:
            async with self._room:
                try:
                    return await self._elsewhere(files, links)
                except (OSError, EOFError, NotImplementedError) as error:  # the last: a loop without processes
                    log.warning("files are checked without a process of their own (%s)", type(error).__name__)
        return await asyncio.to_thread(check_links, files, links)

    async def close(self) -> None:
        if self._retiring is not None:
            self._retiring.cancel()
        await self._end_idle()

    async def _elsewhere(self, files: WorkspaceFiles, links: Sequence[Link]) -> list[News]:
        if self._retiring is not None:
            self._retiring.cancel()
        worker = self._idle.pop() if self._idle else await _Worker.started(self.command)
        found = await worker.check(files, links)
        self._idle.append(worker)
        self._retiring = asyncio.create_task(self._retire(), name="end idle processes")
        return found

    async def _retire(self) -> None:
        await asyncio.sleep(_IDLE_S)
        await self._end_idle()

    async def _end_idle(self) -> None:
        while self._idle:
            await self._idle.pop().end()


class _Worker:
    """A process that checks."""

    def __init__(self, process: Process, to: asyncio.StreamWriter, back: asyncio.StreamReader) -> None:
        self._process, self._to, self._back = process, to, back

    @classmethod
    async def started(cls, command: Sequence[str]) -> _Worker:
        # A group of its own, so that Ctrl-C in a terminal is not meant for it; but not a session: Linux shares the
        # processors out by session first, and the niceness would count for nothing.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, process_group=0
        )
        assert process.stdin is not None
        assert process.stdout is not None
        return cls(process, process.stdin, process.stdout)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def check(self, files: WorkspaceFiles, links: Sequence[Link]) -> list[News]:
        """Ends the process when no answer comes: a late answer must not be taken for the next one."""
        try:
            self._to.write(await asyncio.to_thread(_framed, (files, list(map(_from_link, links)))))
            await self._to.drain()
            length = int.from_bytes(await self._back.readexactly(_LENGTH_BYTES), "big")
            data = await self._back.readexactly(length)
        except BaseException:
            await asyncio.shield(self.end())
            raise
        return await asyncio.to_thread(_to_news, data, links)

    async def end(self) -> None:
        """Kills the process: it holds nothing that could be lost."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()


# Plain tuples: frozen classes with slots take several times as long to pickle, and nothing else runs meanwhile.


def _from_link(link: Link) -> tuple[Any, ...]:
    version, span = link.version, link.span
    place = None if span is None else (span.start, span.end)
    source = (version.path, version.sha256, version.lines)
    return link.id, link.fact_id, source, link.anchor, link.symbol, place, link.state.value


def _to_link(row: tuple[Any, ...]) -> Link:
    link_id, fact_id, source, anchor, symbol, place, state = row
    span = None if place is None else Span(*place)
    return Link(link_id, fact_id, Version(*source), anchor, symbol, span, FactState(state))


def _from_news(news: News) -> tuple[Any, ...]:
    now, tie = news.now, news.tie
    place = None if now.span is None else (now.span.start, now.span.end)
    told = None
    if tie is not None:
        version = (tie.version.path, tie.version.sha256, tie.version.lines)
        told = version, tie.anchor, tie.symbol, None if tie.span is None else (tie.span.start, tie.span.end)
    return now.link.id, now.state.value, place, now.note, told


def _to_news(data: bytes, links: Sequence[Link]) -> list[News]:
    by_id = {link.id: link for link in links}
    found = []
    for link_id, state, place, note, told in pickle.loads(data):
        tie = None
        if told is not None:
            version, anchor, symbol, span = told
            tie = Tie(Version(*version), anchor, symbol, None if span is None else Span(*span))
        now = PlaceNow(by_id[link_id], FactState(state), None if place is None else Span(*place), note)
        found.append(News(now, tie))
    return found


def _framed(value: object) -> bytes:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


def work(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answers until the source ends."""
    while length := source.read(_LENGTH_BYTES):
        files, rows = pickle.loads(source.read(int.from_bytes(length, "big")))
        found = check_links(files, list(map(_to_link, rows)))
        sink.write(_framed(list(map(_from_news, found))))
        sink.flush()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    work(sys.stdin.buffer, sys.stdout.buffer)
