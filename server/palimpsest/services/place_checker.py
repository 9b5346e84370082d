"""Carries checks of places out where they take no time from requests: of few files on a thread, of many, as after a
checkout, in a process of its own.

The process is `python -m palimpsest.services.place_checker`. It reads what to check from stdin and writes what it found
to stdout, each pickled behind its length; it ends with its stdin, so it does not outlive the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Final

from palimpsest.services.place_checks import News, check_links
from palimpsest.services.workspace_files import WorkspaceFiles
from palimpsest.storage.fact_sources import Link

log = logging.getLogger(__name__)

MANY_FILES: Final = 100
"""From so many on a process is worth its start."""
_IDLE_S: Final = 20.0
"""After which the process ends: it holds some 40 MB."""
_LENGTH_BYTES: Final = 8


@dataclass(eq=False, slots=True)
class PlaceChecker:
    """Of one folder. Used by one event loop; whoever owns it closes it."""

    command: Sequence[str] = (sys.executable, "-P", "-m", __name__)
    """What starts the process."""
    _process: Process | None = None
    _retiring: asyncio.Task[None] | None = None
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def pid(self) -> int | None:
        """Of the process that waits for work; None while there is none."""
        return None if self._process is None else self._process.pid

    async def check(self, files: WorkspaceFiles, links: Sequence[Link]) -> list[News]:
        """As `check_links`. A process that cannot be had, or breaks, is done without."""
        if len({link.version.path for link in links}) >= MANY_FILES:
            async with self._one_at_a_time:
                try:
                    return await self._elsewhere(files, links)
                except (OSError, EOFError, NotImplementedError) as error:  # the last: a loop without processes
                    log.warning("files are checked without a process of their own (%s)", type(error).__name__)
        return await asyncio.to_thread(check_links, files, links)

    async def close(self) -> None:
        if self._retiring is not None:
            self._retiring.cancel()
        async with self._one_at_a_time:
            await self._end()

    async def _elsewhere(self, files: WorkspaceFiles, links: Sequence[Link]) -> list[News]:
        if self._retiring is not None:
            self._retiring.cancel()
        try:
            if self._process is None:
                self._process = await asyncio.create_subprocess_exec(
                    *self.command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
                )
            to, back = self._process.stdin, self._process.stdout
            assert to is not None
            assert back is not None
            to.write(await asyncio.to_thread(_framed, (files, links)))
            await to.drain()
            length = int.from_bytes(await back.readexactly(_LENGTH_BYTES), "big")
            data = await back.readexactly(length)
        except BaseException:  # an answer that nobody waited for must not be taken for the next one
            await asyncio.shield(self._end())
            raise
        self._retiring = asyncio.create_task(self._retire(), name="end an idle process")
        found: list[News] = await asyncio.to_thread(pickle.loads, data)
        return found

    async def _retire(self) -> None:
        await asyncio.sleep(_IDLE_S)
        async with self._one_at_a_time:
            await self._end()

    async def _end(self) -> None:
        """It holds nothing that could be lost."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _framed(value: object) -> bytes:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


def work(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answers until the source ends."""
    while length := source.read(_LENGTH_BYTES):
        files, links = pickle.loads(source.read(int.from_bytes(length, "big")))  # of our own server
        sink.write(_framed(check_links(files, links)))
        sink.flush()


if __name__ == "__main__":
    work(sys.stdin.buffer, sys.stdout.buffer)
