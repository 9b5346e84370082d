"""Many at once: conversations that stream, servers on folders of their own, folders that are opened and closed.

    python -m benchmarks.crowd

1. Fifty conversations of one server stream answers at once: how long each takes, the slowest beside the median.
2. Five servers on five folders: their memory beside five times that of one.
3. A hundred and ten folders are opened and closed in one server, one after the other: its memory, open files and
   threads at the end beside those after the first ten.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil
from benchmarks.editor import OURS, Client, Service, on, started
from benchmarks.figures import Figure, Size, alone, beside, show
from benchmarks.startup import memory_mib

_PAUSE_S: Final = 0.02
_WARM_UP: Final = 10
_POOL: Final = 32
"""The most threads of asyncio's pool, whatever the number of cores."""


async def _stream(client: Client, conversation_id: str) -> float:
    """Milliseconds of one answer."""
    began = time.perf_counter()
    params = {"requestId": conversation_id, "text": "Tell.", "conversationId": conversation_id}
    await client.request("palimpsest/chat", params | {"partialResultToken": conversation_id})
    return (time.perf_counter() - began) * 1000


async def conversations(directory: Path, n_conversations: int, n_deltas: int) -> list[Figure]:
    async with Service() as service:
        service.n_deltas, service.pause_s = n_deltas, _PAUSE_S
        async with started(OURS, directory, **on(service)) as client:
            made = [await client.request("palimpsest/conversation/create", {}) for _ in range(n_conversations + 1)]
            ids = [str(each["conversationId"]) for each in made]
            single = await _stream(client, ids.pop())  # which loads what the first answer needs
            took = await asyncio.gather(*(_stream(client, each) for each in ids))
    pair = [(statistics.median(took), max(took))]
    what = f"the slowest of {n_conversations} answers of {n_deltas} pieces that stream at once"
    return [
        beside(what, pair, "their median", 2),
        alone("their median", took, None, note=f"one alone: {single:,.0f} ms"),
    ]


async def servers(directories: Sequence[Path]) -> Figure:
    async with Service() as service, contextlib.AsyncExitStack() as stack:
        found = []
        for each in directories:
            client = await stack.enter_async_context(started(OURS, each, **on(service)))
            await client.request("palimpsest/conversation/list", {})
            found.append(client.process.pid)
            if len(found) == 1:
                first = memory_mib(found[0])
        total = sum(memory_mib(each) for each in found)
    what = f"memory of {len(found)} servers on folders of their own"
    return beside(what, [(len(found) * first, total)], f"{len(found)} times that of one", 1.1, "MiB")


def _held(pid: int) -> tuple[float, float, float]:
    """MiB, open files and threads."""
    process = psutil.Process(pid)
    return process.memory_info().rss / (1 << 20), process.num_fds(), process.num_threads()


async def folders(directory: Path, n_folders: int) -> list[Figure]:
    home = directory / "home"
    places = [directory / f"folder-{number}" for number in range(n_folders)]
    for each in (home, *places):
        await asyncio.to_thread(each.mkdir)
    async with Service() as service, started(OURS, home, **on(service)) as client:
        before = (0.0, 0.0, 0.0)
        for number, each in enumerate(places, 1):
            folder = {"uri": each.as_uri(), "name": each.name}
            _change(client, added=[folder], removed=[])
            await client.request("palimpsest/conversation/create", {"folderUri": folder["uri"]})
            _change(client, added=[], removed=[folder])
            await client.request("palimpsest/conversation/list", {})
            if number == min(_WARM_UP, n_folders):
                await asyncio.sleep(1)  # what was closed goes in the background
                before = _held(client.process.pid)
        await asyncio.sleep(1)
        after = _held(client.process.pid)
    beside_first = f"after the first {min(_WARM_UP, n_folders)}"
    notes = ("", "", f"up to {min(_POOL, (os.cpu_count() or 1) + 4)} are a pool that grows when all of it is at work")
    rows = zip(("memory", "open files", "threads"), ("MiB", "", ""), before, after, notes, strict=True)
    return [
        beside(
            f"{what} after {n_folders} folders were opened and closed",
            [(was, is_now)],
            beside_first,
            1.1,
            unit,
            note=note,
        )
        for what, unit, was, is_now, note in rows
    ]


def _change(client: Client, **event: list[dict[str, str]]) -> None:
    client.send({"method": "workspace/didChangeWorkspaceFolders", "params": {"event": event}})


async def measure(n_conversations: int, n_deltas: int, n_servers: int, n_folders: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        homes = [directory / f"server-{number}" for number in range(n_servers + 1)]
        for each in homes:
            await asyncio.to_thread(each.mkdir)
        found = await conversations(homes.pop(), n_conversations, n_deltas)
        return [*found, await servers(homes), *await folders(directory, n_folders)]


def figures(size: Size) -> list[Figure]:
    return asyncio.run(measure(*((50, 200, 5, 110) if size is Size.FULL else (3, 10, 2, 3))))


if __name__ == "__main__":
    show(figures(Size.FULL))
