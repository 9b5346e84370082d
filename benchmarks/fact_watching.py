"""How soon facts are known to be stale: one file saved, and thousands changed at once.

    python -m benchmarks.fact_watching [FILES]

A folder of FILES (5,000) generated Python files, two facts on functions of each, watched by the real services. One file
is saved again and again: from the write to the news of it, whose debounce is the reference. Then all files change at
once, as by a checkout: until every fact is right, whose reference is one look at every file's status (the poll).
Meanwhile the store is asked something small every 20 ms, as a request would.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, Size, alone, numbers, show

from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.errors import NotFound
from palimpsest.domain.facts.fact import Fact, FactType, Place, Span
from palimpsest.lsp.runtime.process import SWITCH_INTERVAL_S
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.services.events import FactsChanged, FolderEvent, Listeners
from palimpsest.services.facts.checks import Tie
from palimpsest.services.facts.folder_facts import FolderFacts
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.services.facts.librarian import Librarian
from palimpsest.services.facts.model import LibrarianModel
from palimpsest.services.facts.places import FactPlaces
from palimpsest.services.facts.watcher import DEBOUNCE_S, POLL_S
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.store import Store, open_store

_SEED: Final = 20_261_122
_N_FOLDERS: Final = 100
_N_SAVES: Final = 20
_PING_S: Final = 0.02
_TARGET_MS: Final = 50.0
_SAVED_MS: Final = 30.0
_EDITED: Final = 3


def _text(number: int, value: int) -> str:
    functions = [f"def step_{number}_{n}(x):\n    y = x + {value + n}\n    return y * {n}\n\n" for n in range(12)]
    return f'"""Part {number}."""\n\n' + "\n".join(functions)


def _path(number: int) -> str:
    return f"src/part_{number % _N_FOLDERS}/file_{number}.py"


async def _fill(store: Store, places: FactPlaces, root: Path, n_files: int) -> None:
    for number in range(n_files):
        file = root / _path(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_text(number, 0))
    spans = [Span(3, 5), Span(18, 20)]
    for first in range(0, n_files, 500):
        numbers = range(first, min(first + 500, n_files))
        tied = await places.tie([Place(_path(number), span) for number in numbers for span in spans])

        def write(numbers: range = numbers, tied: list[list[Tie]] = tied) -> None:
            for index, number in enumerate(n for n in numbers for _ in spans):
                said = f"Step {number} of part {index} adds before it multiplies."
                fact_id = facts.add(Fact(FactType.ENTITY, said), 0, None, utc_now())
                for tie in tied[index]:
                    fact_sources.add(fact_id, tie.version, tie.anchor, tie.symbol, tie.span, utc_now())

        await store.run(write)


class Waiting:
    """For the next time that facts are told to have changed."""

    def __init__(self) -> None:
        self._told = asyncio.Event()

    def hear(self, event: FolderEvent) -> None:
        if isinstance(event, FactsChanged):
            self._told.set()

    async def next(self) -> None:
        await asyncio.wait_for(self._told.wait(), 300)
        self._told.clear()


async def _ping(keeper: FactKeeper, delays: list[float]) -> None:
    while True:
        started = time.perf_counter()
        await asyncio.sleep(_PING_S)
        await keeper.store.read(lambda: None)
        delays.append((time.perf_counter() - started - _PING_S) * 1000)


def _edited(number: int) -> str:
    """A line above, and the second of the two functions edited that facts rest on."""
    text = _text(number, 0)
    return "import math\n" + text.replace(f"y = x + {_EDITED}\n", f"y = x - {_EDITED}\n")


def _every_function(number: int) -> str:
    return _text(number, 5_000)


def _write_all(root: Path, n_files: int, text: Callable[[int], str]) -> None:
    for number in range(n_files):
        (root / _path(number)).write_text(text(number))


async def _change_all(
    keeper: FactKeeper,
    writer: ProcessPoolExecutor,
    root: Path,
    n_files: int,
    what: str,
    text: Callable[[int], str],
    n_stale: int,
) -> list[Figure]:
    """Another program gives all files another text, after which `n_stale` of each file's two facts are stale."""
    delays: list[float] = []
    pinging = asyncio.create_task(_ping(keeper, delays))
    await asyncio.get_running_loop().run_in_executor(writer, _write_all, root, n_files, text)
    written = time.perf_counter()
    async with asyncio.timeout(300):
        while (await keeper.counts()).n_stale != n_stale * n_files:  # noqa: ASYNC110  # as an editor would ask
            await asyncio.sleep(0.05)
    took = time.perf_counter() - written
    pinging.cancel()
    within = POLL_S + 1
    return [
        alone(f"{n_files:,} files changed at once ({what}), until every fact is right", [took], within, "s"),
        alone("the longest that another question to the database waited meanwhile", [max(delays)], _TARGET_MS),
    ]


async def _choose(_: object) -> None:
    return None


async def _rules(_: object) -> StandingRules:
    raise NotFound("Nothing is learned here.")


async def run(directory: Path, n_files: int) -> list[Figure]:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.freeze()  # as a server does
    root = directory / "folder"
    root.mkdir()
    store = await open_store(directory / "store")
    places = FactPlaces(store, WorkspaceFiles(root))
    await _fill(store, places, root, n_files)
    listeners, waiting = Listeners(), Waiting()
    listeners.add(waiting.hear)
    folder_facts = FolderFacts(root, store, listeners)
    model = LibrarianModel(store, _choose, 0)
    keeper = FactKeeper(store, places, model, _rules, folder_facts.changed)
    folder_facts.take(Librarian(keeper, root.as_posix(), Background()))
    folder_facts.start()
    async with asyncio.timeout(60):
        while not folder_facts.watcher.n_watched:  # noqa: ASYNC110  # nothing tells of the first look
            await asyncio.sleep(0.05)
        (root / _path(0)).write_text(_text(0, 1))
        await waiting.next()  # told when every file was looked at once
        while folder_facts.watcher.n_waiting:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await asyncio.sleep(2 * DEBOUNCE_S)
    chance = random.Random(_SEED)
    print(f"facts: {2 * n_files} in {n_files} files of {_N_FOLDERS} folders; seed {_SEED}")

    saves: list[float] = []
    for turn, number in enumerate(chance.sample(range(1, n_files), _N_SAVES)):  # facts become stale but once
        started = time.perf_counter()
        (root / _path(number)).write_text(_text(number, 1_000 + turn))
        await waiting.next()
        saves.append((time.perf_counter() - started - DEBOUNCE_S) * 1000)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as writer:
        await asyncio.get_running_loop().run_in_executor(writer, _write_all, root, 0, _edited)  # so that it runs
        one, all_of_them = "a line added above, one function edited", "every function edited"
        found = [alone(f"a file saved, beyond the debounce of {DEBOUNCE_S * 1000:.0f} ms", saves, _SAVED_MS)]
        found += await _change_all(keeper, writer, root, n_files, one, _edited, 1)
        found += await _change_all(keeper, writer, root, n_files, all_of_them, _every_function, 2)
    await folder_facts.close()
    await store.close()
    return found


def measure(n_files: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(run(Path(directory).resolve(), n_files))


def figures(size: Size) -> list[Figure]:
    return measure(5_000 if size is Size.FULL else 200)


if __name__ == "__main__":
    show(measure(*numbers(__doc__, FILES=5_000)))
