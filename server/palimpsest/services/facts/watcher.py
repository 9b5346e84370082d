"""Notices changes of the files that facts rest on.

Only the folders of such files are watched, never the whole workspace: a recursive watch goes blind silently at the
system's limit, cannot leave out `node_modules`, and never sees a folder again that was deleted and made anew. Events
make it fast; a look at the status of every file makes it right: every 30 s, or every 3 s when there are too many
folders or no watches left. What has changed in a file is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from palimpsest.services.facts.folder_events import FileEvent, FolderEvents, Take, open_events
from palimpsest.services.workspace.files import stamp_of
from palimpsest.wording import counted

log = logging.getLogger(__name__)

DEBOUNCE_S: Final = 0.15
"""The time between the first event and the look: saving is often several events."""
SWEEP_S: Final = 30.0
POLL_S: Final = 3.0
_BATCH: Final = 200
"""Files in one call, the last change first: a file that a person saves does not wait behind a checkout."""
_AT_ONCE: Final = 3
"""Calls under way: while one checks files, another reads or writes the store."""
_EVENTS_AT_ONCE: Final = 200

Status = tuple[int, int, int, int] | None
"""The stamp of a file (`stamp_of`); None where there is none."""
_UNKNOWN: Final = (-1, -1, -1, -1)
"""The status of no file: the next look takes the file for changed."""


@dataclass(eq=False, slots=True)
class SourceWatcher:
    """The watcher of one workspace folder. Used by one event loop; started by the first `watch`."""

    root: Path
    on_change: Callable[[set[str]], Awaitable[None]]
    """Called with paths below the folder, a few calls at a time, but never two for one path. An error that it raises is
    logged, and the next look reports the same paths again."""
    open_events: Callable[[Take], FolderEvents] = open_events
    is_polling: bool = False
    """Whether there are no events, so that only the looks count."""
    _statuses: dict[str, Status] = field(default_factory=dict)
    _real: dict[str, str] = field(default_factory=dict)
    """The absolute target of each path."""
    _at: dict[str, set[str]] = field(default_factory=dict)
    """The paths for an event at an absolute place: those of the place itself, and of links to it."""
    _folder_events: FolderEvents | None = None
    _watched: set[str] = field(default_factory=set)
    """The folders with a watch."""
    _has_lost_watches: bool = False
    """A folder that was deleted and made anew needs another watch."""
    _has_lost_events: bool = False
    _dirty: dict[str, None] = field(default_factory=dict)
    """Changed files, the newest last."""
    _told: set[str] = field(default_factory=set)
    """The files of the calls under way."""
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _events: list[FileEvent] = field(default_factory=list)
    """Added by other threads; the first one wakes the loop."""
    _taking: threading.Lock = field(default_factory=threading.Lock)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _arming: threading.Lock = field(default_factory=threading.Lock)

    @property
    def n_watched(self) -> int:
        return len(self._statuses)

    @property
    def n_waiting(self) -> int:
        """Changed files whose calls have not ended."""
        return len(self._dirty.keys() | self._told)

    async def watch(self, paths: Iterable[str]) -> None:
        """Watches these files from now on, and no others. They are paths below the folder and need not exist. New ones
        are reported once: they may have changed before."""
        wanted = set(paths)
        for gone in self._statuses.keys() - wanted:
            del self._statuses[gone], self._real[gone]
        added = wanted - self._statuses.keys()
        if added:
            found = await asyncio.to_thread(self._look_at, added)
            for path, (status, real) in found.items():
                self._statuses[path], self._real[path] = status, real
            self._index()
        if self._statuses and not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._report()), loop.create_task(self._sweep_for_ever())]
        if added:
            await asyncio.to_thread(self._arm, asyncio.get_running_loop())
            self._mark(added)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._folder_events is not None:
            await asyncio.to_thread(self._folder_events.close)

    def touch(self, paths: Iterable[str]) -> None:
        """Reports files as changed, for example when an editor saved them. Files that are not watched do not count."""
        self._mark(paths)

    async def sweep(self) -> None:
        """Looks at the status of every file, for when events may have been missed, such as after a checkout."""
        before = dict(self._statuses)
        found = await asyncio.to_thread(self._look_at, before.keys())
        changed = []
        for path, (status, real) in found.items():
            if path in self._statuses:
                self._follow(path, real)
                if status != self._statuses[path]:
                    self._statuses[path] = status
                    changed.append(path)
        self._mark(changed)
        await asyncio.to_thread(self._arm, asyncio.get_running_loop())

    def _look_at(self, paths: Iterable[str]) -> dict[str, tuple[Status, str]]:
        found: dict[str, tuple[Status, str]] = {}
        real_folder = functools.cache(os.path.realpath)
        for path in list(paths):
            place = os.path.join(self.root, *path.split("/"))
            try:
                status = os.stat(place)
                folder, name = os.path.split(place)
                real = os.path.join(real_folder(folder), name)
                real = os.path.realpath(real) if os.path.islink(real) else real
                found[path] = stamp_of(status), real
            except (OSError, ValueError):
                found[path] = None, os.path.abspath(place)
        return found

    # ------------------------------------------------------------------------------------------- watches, on a thread

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watches each folder with a file, or with the target of a link; ends the watches of lost folders."""
        with self._arming:
            if self.is_polling:
                return
            real = list(self._real.values())
            folders = {os.path.dirname(os.path.join(self.root, *path.split("/"))) for path in list(self._statuses)}
            folders |= {os.path.dirname(path) for path in real}
            present = {folder for folder in folders if os.path.isdir(folder)}
            try:
                if self._folder_events is None:
                    self._folder_events = self.open_events(functools.partial(self._take, loop))
                for folder in self._watched - present:
                    self._let_go(folder)
                if len(present) > self._folder_events.most_folders:
                    self._poll(f"there are {counted(len(present), 'folder')} to watch")
                    return
                for folder in sorted(present - self._watched):
                    self._folder_events.watch(folder)
                    self._watched.add(folder)
            except FileNotFoundError:
                return  # a folder went away meanwhile; the next look sees to it
            except OSError as error:  # no more watches or file handles to be had
                self._poll(error.strerror or "the system has no more watches")

    def _let_go(self, folder: str) -> None:
        assert self._folder_events is not None
        self._watched.discard(folder)
        self._folder_events.let_go(folder)

    def _poll(self, why: str) -> None:
        log.info("files are looked at every %d s: %s", POLL_S, why)
        self.is_polling = True
        for folder in list(self._watched):
            self._let_go(folder)

    # ------------------------------------------------------------------------------------------------ on the event loop

    def _take(self, loop: asyncio.AbstractEventLoop, event: FileEvent) -> None:
        """Runs on another thread. The loop is woken once for many events: a checkout brings thousands."""
        with self._taking:
            is_first = not self._events
            self._events.append(event)
        if is_first:
            with contextlib.suppress(RuntimeError):  # the loop has ended before the threads
                loop.call_soon_threadsafe(self._hit_all)

    def _hit_all(self) -> None:
        """Handles a part of the events; the loop has its turn before the rest."""
        with self._taking:
            events, self._events = self._events[:_EVENTS_AT_ONCE], self._events[_EVENTS_AT_ONCE:]
            is_behind = bool(self._events)
        for event in events:
            self._hit(event)
        if is_behind:
            asyncio.get_running_loop().call_soon(self._hit_all)

    def _hit(self, event: FileEvent) -> None:
        if not event.places:
            self._has_lost_events = True
            self._woken.set()
        for place in event.places:
            self._mark(self._at.get(place, ()))
            if event.is_folder:
                self._hit_folder(place)

    def _hit_folder(self, place: str) -> None:
        below = [path for at, paths in self._at.items() if _is_below(at, place) for path in paths]
        self._mark(below)
        for folder in [each for each in self._watched if each == place or _is_below(each, place)]:
            self._let_go(folder)
        if below:
            self._has_lost_watches = True
            self._woken.set()

    def _follow(self, path: str, real: str) -> None:
        """Notes the target of a path, which may be another now. The entry for the former target does no harm."""
        self._real[path] = real
        self._at.setdefault(real, set()).add(path)

    def _index(self) -> None:
        self._at = {}
        for path, real in self._real.items():
            self._at.setdefault(os.path.join(self.root, *path.split("/")), set()).add(path)
            self._at.setdefault(real, set()).add(path)

    def _mark(self, paths: Iterable[str]) -> None:
        for path in paths:
            if path in self._statuses:
                self._dirty.pop(path, None)
                self._dirty[path] = None
                self._woken.set()

    async def _report(self) -> None:
        is_behind = False
        while True:
            await self._woken.wait()
            if not is_behind:
                await asyncio.sleep(DEBOUNCE_S)
            self._woken.clear()
            if self._has_lost_watches:
                self._has_lost_watches = False
                await asyncio.to_thread(self._arm, asyncio.get_running_loop())
            if self._has_lost_events:
                self._has_lost_events = False
                await self.sweep()
            await self._room.acquire()
            waiting = [path for path in reversed(self._dirty) if path not in self._told]
            batch = waiting[:_BATCH]
            if is_behind := len(waiting) > _BATCH:
                self._woken.set()
            for path in batch:
                del self._dirty[path]
            self._told.update(batch)
            task = asyncio.create_task(self._tell(set(batch)))
            self._tasks.append(task)
            task.add_done_callback(self._tasks.remove)

    async def _tell(self, batch: set[str]) -> None:
        """Calls `on_change`. A file that changes again meanwhile is reported afterwards."""
        try:
            found = await asyncio.to_thread(self._look_at, batch)
            for path, (status, real) in found.items():
                if path in self._statuses:
                    self._statuses[path] = status
                    self._follow(path, real)
            if batch:
                await self.on_change(batch)
        except Exception as error:
            log.error("changed files could not be looked at (%s)", type(error).__name__)
            self._statuses.update(dict.fromkeys(batch & self._statuses.keys(), _UNKNOWN))
        finally:
            self._told -= batch
            self._room.release()
            if batch and self._dirty:
                self._woken.set()

    async def _sweep_for_ever(self) -> None:
        waited = 0.0
        while True:
            await asyncio.sleep(POLL_S)  # the mode may change meanwhile
            waited += POLL_S
            if self.is_polling or waited >= SWEEP_S:
                waited = 0.0
                await self.sweep()


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)
