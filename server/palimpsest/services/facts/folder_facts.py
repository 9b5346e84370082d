"""The facts of one open folder, kept true: turns that end are read, files that change are checked."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.services.background import logged
from palimpsest.services.events import ConversationChanged, FactsChanged, FolderEvent, Listeners
from palimpsest.services.facts.checker import PlaceChecker
from palimpsest.services.facts.folder_events import FolderEvents, Take, open_events
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.services.facts.librarian import Librarian
from palimpsest.services.facts.watcher import DEBOUNCE_S, SWEEP_S, SourceWatcher
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.store import Store

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class FolderFacts:
    """Lives as long as the folder is open, whatever its settings become."""

    root: Path
    store: Store
    listeners: Listeners
    open_events: Callable[[Take], FolderEvents] = open_events
    """The source of file events; a test has its own."""
    librarian: Librarian = field(init=False)
    """By the settings of now; set by `take`, which comes before everything else."""
    watcher: SourceWatcher = field(init=False)
    checker: PlaceChecker = field(default_factory=PlaceChecker)
    _places: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """By file, the places that facts rested on when the store was last read."""
    _asks_again: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: dict[asyncio.Task[None], None] = field(default_factory=dict)
    _rereading: asyncio.Task[None] | None = None
    _unsubscribe: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        self.watcher = SourceWatcher(self.root, self.look_at, self.open_events)

    def take(self, librarian: Librarian) -> None:
        """Replaces the librarian, and with it the keeper, when the settings change. The keeper was made with this
        object's `changed`."""
        self.librarian = librarian

    @property
    def keeper(self) -> FactKeeper:
        return self.librarian.keeper

    def start(self) -> None:
        """Begins to listen, and catches up in the background with what happened while no server ran."""
        self._unsubscribe = self.listeners.add(self._hear)
        self._begin(self._catch_up())
        self._rereading = asyncio.create_task(self._watch_for_ever(), name="watch what facts rest on")

    @property
    def is_idle(self) -> bool:
        """Whether every ended turn was read and every changed file checked."""
        return not self._tasks and not self.watcher.n_waiting

    async def close(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        tasks = [*self._tasks, *([] if self._rereading is None else [self._rereading])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.watcher.close()
        await self.checker.close()

    async def look_at_all(self) -> None:
        """Checks every file that a fact rests on; for a caller that does not wait for events."""
        await self.look_at(set(await self.store.read(fact_sources.watched)))

    async def look_at(self, paths: set[str]) -> None:
        """Checks files that may have changed on disk."""
        checked = await self.keeper.places.check(paths, self.checker.check)
        if checked.has_moved:
            await self._watch()
        if checked.changed or checked.has_moved:
            self.listeners.tell(FactsChanged())

    async def _catch_up(self) -> None:
        await self._watch()
        await self.keeper.drop_forgotten()
        await self.librarian.resume()

    async def _watch(self) -> None:
        """Watches the files that facts rest on now. Files with a new place are checked: they may have changed while the
        place was tied or restored, or before its fact held again."""
        found = await self.store.read(fact_sources.watched)
        await self.watcher.watch(found)
        self.watcher.touch(path for path, places in found.items() if places - self._places.get(path, frozenset()))
        self._places = found

    async def _watch_for_ever(self) -> None:
        """A roll back closes and reopens facts, and no event tells what other servers learn."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_S):
                    await self._asks_again.wait()
            await asyncio.sleep(DEBOUNCE_S)
            self._asks_again.clear()
            await logged(self._watch())

    def _hear(self, event: FolderEvent) -> None:
        if isinstance(event, ConversationChanged):
            self.librarian.consider(event.conversation_id)
            self._asks_again.set()

    def changed(self) -> None:
        """Facts, or the condition of their places, have changed."""
        self._begin(self._rewatch())

    async def _rewatch(self) -> None:
        await self._watch()
        self.listeners.tell(FactsChanged())

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(logged(work))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
