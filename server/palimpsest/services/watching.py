"""Notices that files have changed which something rests on.

Only the folders that hold such files are watched, never all of the workspace: a recursive watch goes blind without a
word where the system's limit is reached, cannot leave out `node_modules`, and never sees a folder again that was
deleted and made anew. Events make it fast; a look at every file's status makes it right: every 30 s, or, where there
are too many folders or no watches to be had, every 3 s. What has changed in a file is not decided here.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

log = logging.getLogger(__name__)

DEBOUNCE_S: Final = 0.15
"""Between the first event and the look: saving is often several events."""
SWEEP_S: Final = 30.0
POLL_S: Final = 3.0
_BATCH: Final = 200
"""Files told of at once, the last that changed first: what a person saves does not wait behind a checkout."""
_AT_ONCE: Final = 3
"""Calls under way: while files are checked for one, another reads or writes what is stored of them."""
_EVENTS_AT_ONCE: Final = 200
MOST_FOLDERS: Final = 200
"""watchdog spends a thread on each."""
_STOP_S: Final = 5.0

Status = tuple[int, int, int] | None
"""Modification time, size and inode of a file; None where there is none."""


@dataclass(eq=False, slots=True)
class SourceWatcher:
    """Watches files of one workspace folder. Used by one event loop; started by the first `watch`."""

    root: Path
    on_change: Callable[[set[str]], Awaitable[None]]
    """Called with paths below the folder, a few calls at a time, but never two about one path. What it raises is
    logged."""
    make_observer: Callable[[], Any] | None = None
    """None: watchdog's own for this system."""
    is_polling: bool = False
    """Whether there are no events, so that only the looks count."""
    _statuses: dict[str, Status] = field(default_factory=dict)
    _real: dict[str, str] = field(default_factory=dict)
    """Where each path leads, absolute."""
    _at: dict[str, set[str]] = field(default_factory=dict)
    """The paths that an event at an absolute place is about: at the place itself, and at what a link leads to."""
    _observer: Any = None
    _watches: dict[str, Any] = field(default_factory=dict)
    """By folder."""
    _has_lost_watches: bool = False
    """A folder that was deleted and made anew needs another watch."""
    _dirty: dict[str, None] = field(default_factory=dict)
    """The newest last."""
    _told: set[str] = field(default_factory=set)
    """Those of the calls that are under way."""
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    _events: list[FileSystemEvent] = field(default_factory=list)
    """Of watchdog's threads; whoever puts the first one in wakes the loop."""
    _taking: threading.Lock = field(default_factory=threading.Lock)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _arming: threading.Lock = field(default_factory=threading.Lock)

    @property
    def n_watched(self) -> int:
        return len(self._statuses)

    @property
    def n_waiting(self) -> int:
        """Files that have changed and of which nobody has been told to the end."""
        return len(self._dirty.keys() | self._told)

    async def watch(self, paths: Iterable[str]) -> None:
        """From now on these are the files, given as paths below the folder. A file need not exist. Those that are new
        are told of once: they may have changed before."""
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
        if self._observer is not None:
            await asyncio.to_thread(self._stop_observer)

    def touch(self, paths: Iterable[str]) -> None:
        """Somebody says that these may have changed, such as an editor. Those that are not watched do not count."""
        self._mark(paths)

    async def sweep(self) -> None:
        """Looks at every file's status; for when events may have been missed, such as after a checkout."""
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
                found[path] = (status.st_mtime_ns, status.st_size, status.st_ino), real
            except (OSError, ValueError):
                found[path] = None, os.path.abspath(place)
        return found

    # ------------------------------------------------------------------------------------------- watches, on a thread

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        """A watch for each folder that holds a file, or a link's target; those that are gone are let go."""
        with self._arming:
            if self.is_polling:
                return
            real = list(self._real.values())
            folders = {os.path.dirname(os.path.join(self.root, *path.split("/"))) for path in list(self._statuses)}
            folders |= {os.path.dirname(path) for path in real}
            present = {folder for folder in folders if os.path.isdir(folder)}
            if len(present) > MOST_FOLDERS:
                self._poll(f"there are {len(present)} folders to watch")
                return
            try:
                observer = self._running_observer()
                for folder in self._watches.keys() - present:
                    self._let_go(folder)
                handler = _handler(functools.partial(self._take, loop))
                for folder in sorted(present - self._watches.keys()):
                    self._watches[folder] = observer.schedule(handler, folder, event_filter=_kinds())
            except FileNotFoundError:
                return  # a folder went away meanwhile; the next look sees to it
            except OSError as error:  # no more watches or file handles to be had
                self._poll(error.strerror or "the system has no more watches")

    def _running_observer(self) -> Any:
        if self._observer is None:
            if self.make_observer is not None:
                self._observer = self.make_observer()
            else:
                from watchdog.observers import Observer

                self._observer = Observer()
            self._observer.start()
        return self._observer

    def _let_go(self, folder: str) -> None:
        with contextlib.suppress(KeyError):  # it may have ended by itself
            self._observer.unschedule(self._watches.pop(folder))

    def _poll(self, why: str) -> None:
        log.info("files are looked at every %d s: %s", POLL_S, why)
        self.is_polling = True
        self._watches.clear()
        if self._observer is not None:
            self._observer.unschedule_all()

    def _stop_observer(self) -> None:
        self._observer.stop()
        self._observer.join(_STOP_S)

    # ------------------------------------------------------------------------------------------------ on the event loop

    def _take(self, loop: asyncio.AbstractEventLoop, event: FileSystemEvent) -> None:
        """On a thread of watchdog's. The loop is woken once for many events: a checkout brings thousands."""
        with self._taking:
            is_first = not self._events
            self._events.append(event)
        if is_first:
            with contextlib.suppress(RuntimeError):  # the loop has ended before the threads
                loop.call_soon_threadsafe(self._hit_all)

    def _hit_all(self) -> None:
        """A part of what came; the loop has its turn before the rest."""
        with self._taking:
            events, self._events = self._events[:_EVENTS_AT_ONCE], self._events[_EVENTS_AT_ONCE:]
            is_behind = bool(self._events)
        for event in events:
            self._hit(event)
        if is_behind:
            asyncio.get_running_loop().call_soon(self._hit_all)

    def _hit(self, event: FileSystemEvent) -> None:
        places = {os.path.abspath(os.fsdecode(each)) for each in (event.src_path, event.dest_path) if each}
        for place in places:
            self._mark(self._at.get(place, ()))
        if not event.is_directory:
            return
        self._mark(path for at, paths in self._at.items() for path in paths if any(_is_below(at, p) for p in places))
        for folder in [each for each in self._watches if any(each == p or _is_below(each, p) for p in places)]:
            self._let_go(folder)
            self._has_lost_watches = True
            self._woken.set()

    def _follow(self, path: str, real: str) -> None:
        """The path may lead elsewhere now. An entry for where it led before does no harm."""
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
        """What changes again meanwhile is told of when this is done."""
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


def _kinds() -> list[type[FileSystemEvent]]:
    """Without `opened` and `closed, not written`: our own reading would wake us. Linux tells when a file that was
    written to is closed, which is once; other systems do not."""
    from watchdog import events

    return [
        events.FileCreatedEvent,
        events.FileClosedEvent if sys.platform == "linux" else events.FileModifiedEvent,
        events.FileDeletedEvent,
        events.FileMovedEvent,
        events.DirMovedEvent,
        events.DirDeletedEvent,
    ]


def _handler(take: Callable[[FileSystemEvent], object]) -> Any:
    from watchdog.events import FileSystemEventHandler

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            take(event)

    return Handler()
