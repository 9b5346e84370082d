"""Events of the file system in single folders, from watchdog.

Its observer spends a thread on each folder, and in a checkout of thousands of files all of them want the interpreter at
once, so that requests wait. On Linux its reader of inotify is used directly: one thread for all folders.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.inotify_c import InotifyEvent

_STOP_S: Final = 5.0


class FileEvent(NamedTuple):
    """A file or a folder was made, written, moved or deleted."""

    places: tuple[str, ...]
    """Absolute. Empty when events were lost."""
    is_folder: bool


Take = Callable[[FileEvent], object]
"""Called on a thread of its own."""


class FolderEvents(Protocol):
    """Events of folders and of the files directly in them. Calls may come from several threads."""

    @property
    def most_folders(self) -> int:
        """The most folders to watch at once, so that other programs have watches left."""
        ...

    def watch(self, folder: str) -> None:
        """Raises FileNotFoundError for a folder that is not there, OSError when the system has no more watches."""
        ...

    def let_go(self, folder: str) -> None:
        """A no-op when `folder` is not watched, or no longer exists."""
        ...

    def close(self) -> None: ...


def open_events(take: Take) -> FolderEvents:
    """The events of this system. Raises OSError when it has none left."""
    return InotifyEvents(take) if sys.platform == "linux" else ObserverEvents(take)


class InotifyEvents:
    most_folders: Final = 1_000

    def __init__(self, take: Take) -> None:
        from watchdog.observers.inotify_c import InotifyFD

        self._take = take
        self._inotify = InotifyFD()
        self._inotify.start()
        self._watched: dict[str, tuple[Any, Any]] = {}
        """The watch of each folder."""

    def watch(self, folder: str) -> None:
        from watchdog.observers import inotify_c

        told = inotify_c.InotifyConstants
        mask = told.IN_CREATE | told.IN_CLOSE_WRITE | told.IN_DELETE | told.IN_MOVE | told.IN_MOVE_SELF
        watched = _InotifyFolder(folder, self._take)
        name = inotify_c.CallbackId(id(watched))
        asked_for = inotify_c.Mask(mask | told.IN_DONT_FOLLOW)
        self._watched[folder] = self._inotify.add_callback(os.fsencode(folder), asked_for, watched, name), name

    def let_go(self, folder: str) -> None:
        if (watch := self._watched.pop(folder, None)) is not None:
            self._inotify.remove_callbacks([watch])

    def close(self) -> None:
        self._inotify.remove_callbacks(list(self._watched.values()))
        self._watched.clear()
        self._inotify.stop()
        self._inotify.join(_STOP_S)


@dataclass(eq=False, frozen=True, slots=True)
class _InotifyFolder:
    """The receiver of watchdog's events of one folder. Its path stays the same: the watch of a moved folder ends."""

    path: str
    take: Take

    def on_event(self, event: InotifyEvent) -> None:
        place = os.path.join(self.path, os.fsdecode(event.name)) if event.name else self.path
        self.take(FileEvent((place,), event.is_directory))

    def on_watch_deleted(self, wd: int) -> None:
        self.take(FileEvent((self.path,), True))

    def on_queue_overflow(self) -> None:
        self.take(FileEvent((), False))


class ObserverEvents:
    most_folders: Final = 200

    def __init__(self, take: Take, observer: Any = None) -> None:
        """`observer`: None for watchdog's observer of this system."""
        from watchdog import events

        if observer is None:
            from watchdog.observers import Observer

            observer = Observer()

        class Handler(events.FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                places = (os.path.abspath(os.fsdecode(each)) for each in (event.src_path, event.dest_path) if each)
                take(FileEvent(tuple(places), event.is_directory))

        self._kinds = [
            events.FileCreatedEvent,
            events.FileModifiedEvent,
            events.FileDeletedEvent,
            events.FileMovedEvent,
            events.DirCreatedEvent,
            events.DirMovedEvent,
            events.DirDeletedEvent,
        ]
        """Without `opened` and `closed, not written`: our own reading would wake us."""
        self._handler = Handler()
        self._observer = observer
        self._observer.start()
        self._watched: dict[str, Any] = {}

    def watch(self, folder: str) -> None:
        self._watched[folder] = self._observer.schedule(self._handler, folder, event_filter=self._kinds)

    def let_go(self, folder: str) -> None:
        with contextlib.suppress(KeyError):  # it may have ended by itself
            self._observer.unschedule(self._watched.pop(folder))

    def close(self) -> None:
        self._observer.stop()
        self._observer.join(_STOP_S)
