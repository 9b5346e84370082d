"""A change of a file that a fact rests on is noticed: by an event, or by a look when there are no events."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import queue
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import WAIT_S

from palimpsest.services.facts import watcher as watching
from palimpsest.services.facts.folder_events import FileEvent, FolderEvents, InotifyEvents, ObserverEvents, Take
from palimpsest.services.facts.watcher import SourceWatcher

TIMEOUT_S = WAIT_S
KINDS: list[Callable[[Take], FolderEvents]] = [ObserverEvents, *([InotifyEvents] if sys.platform == "linux" else [])]


@dataclass
class Told:
    """The paths that a watcher reports, for which a test can wait."""

    paths: asyncio.Queue[set[str]] = field(default_factory=asyncio.Queue)

    async def hear(self, paths: set[str]) -> None:
        self.paths.put_nowait(paths)

    def forget(self) -> None:
        while not self.paths.empty():
            self.paths.get_nowait()

    async def hears(self, *wanted: str) -> bool:
        """Whether the watcher reports all of these paths in time."""
        missing = set(wanted)
        with contextlib.suppress(TimeoutError):
            while missing:
                missing -= await asyncio.wait_for(self.paths.get(), TIMEOUT_S)
        return not missing


Opener = Callable[..., SourceWatcher]


@pytest.fixture
async def told() -> Told:
    return Told()


@pytest.fixture(params=KINDS)
async def opened(request: pytest.FixtureRequest, tmp_path: Path, told: Told) -> AsyncIterator[Opener]:
    watchers: list[SourceWatcher] = []

    def make(**options: Any) -> SourceWatcher:
        watchers.append(SourceWatcher(tmp_path, told.hear, **{"open_events": request.param, **options}))
        return watchers[-1]

    yield make
    for watcher in watchers:
        await watcher.close()


def write(root: Path, path: str, text: str) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


async def test_a_file_written_in_place_is_told(tmp_path: Path, opened: Opener, told: Told) -> None:
    place = write(tmp_path, "src/a.py", "a")
    await opened().watch(["src/a.py"])
    assert await told.hears("src/a.py")
    place.write_text("b")
    assert await told.hears("src/a.py")


async def test_a_save_by_another_name_and_a_rename_is_told(tmp_path: Path, opened: Opener, told: Told) -> None:
    write(tmp_path, "src/a.py", "a")
    await opened().watch(["src/a.py"])
    assert await told.hears("src/a.py")
    os.replace(write(tmp_path, "elsewhere/tmp", "b"), tmp_path / "src/a.py")
    assert await told.hears("src/a.py")


async def test_a_file_that_goes_and_one_that_comes_are_told(tmp_path: Path, opened: Opener, told: Told) -> None:
    place = write(tmp_path, "src/a.py", "a")
    await opened().watch(["src/a.py", "src/new.py"])
    assert await told.hears("src/a.py", "src/new.py")
    place.unlink()
    assert await told.hears("src/a.py")
    write(tmp_path, "src/new.py", "b")
    assert await told.hears("src/new.py")


async def test_a_folder_that_is_moved_away_with_its_files_is_told(tmp_path: Path, opened: Opener, told: Told) -> None:
    write(tmp_path, "src/deep/a.py", "a")
    write(tmp_path, "src/b.py", "b")
    await opened().watch(["src/deep/a.py", "src/b.py"])
    assert await told.hears("src/deep/a.py", "src/b.py")
    (tmp_path / "src/deep").rename(tmp_path / "src/other")
    assert await told.hears("src/deep/a.py")


async def test_a_folder_made_anew_is_watched_anew_by_the_next_look(tmp_path: Path, opened: Opener, told: Told) -> None:
    write(tmp_path, "src/a.py", "a")
    watcher = opened()
    await watcher.watch(["src/a.py"])
    assert await told.hears("src/a.py")
    shutil.rmtree(tmp_path / "src")
    place = write(tmp_path, "src/a.py", "b")
    await watcher.sweep()
    assert await told.hears("src/a.py")
    told.forget()
    place.write_text("c and more")
    assert await told.hears("src/a.py")


async def test_a_folder_made_anew_is_watched_anew_at_once_where_its_parent_is_watched(
    tmp_path: Path, opened: Opener, told: Told
) -> None:
    place = write(tmp_path, "src/deep/a.py", "a")
    write(tmp_path, "src/b.py", "b")
    await opened().watch(["src/deep/a.py", "src/b.py"])
    assert await told.hears("src/deep/a.py", "src/b.py")
    shutil.rmtree(tmp_path / "src/deep")
    assert await told.hears("src/deep/a.py")
    (tmp_path / "src/deep").mkdir()
    assert await told.hears("src/deep/a.py")
    place.write_text("c")
    assert await told.hears("src/deep/a.py")


async def test_the_target_of_a_link_is_watched(tmp_path: Path, opened: Opener, told: Told) -> None:
    target = write(tmp_path, "real/a.py", "a")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").symlink_to(target)
    await opened().watch(["src/a.py"])
    assert await told.hears("src/a.py")
    target.write_text("b")
    assert await told.hears("src/a.py")


async def test_where_the_system_has_no_watches_left_files_are_looked_at(
    tmp_path: Path, opened: Opener, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Exhausted:
        most_folders = 10

        def watch(self, folder: str) -> None:
            raise OSError(errno.ENOSPC, "inotify watch limit reached")

        def let_go(self, folder: str) -> None: ...
        def close(self) -> None: ...

    monkeypatch.setattr(watching, "POLL_S", 0.05)
    place = write(tmp_path, "src/a.py", "a")
    watcher = opened(open_events=lambda _: Exhausted())
    await watcher.watch(["src/a.py"])
    assert watcher.is_polling
    assert await told.hears("src/a.py")
    place.write_text("longer")
    assert await told.hears("src/a.py")


async def test_too_many_folders_are_looked_at_and_not_watched(
    tmp_path: Path, opened: Opener, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (ObserverEvents, InotifyEvents):
        monkeypatch.setattr(kind, "most_folders", 3)
    monkeypatch.setattr(watching, "POLL_S", 0.05)
    paths = [f"p{n}/a.py" for n in range(5)]
    for path in paths:
        write(tmp_path, path, "a")
    watcher = opened()
    await watcher.watch(paths)
    assert watcher.is_polling
    assert await told.hears(*paths)
    (tmp_path / "p3/a.py").write_text("longer")
    assert await told.hears("p3/a.py")


async def test_what_an_editor_says_counts_only_for_files_that_are_watched(
    tmp_path: Path, opened: Opener, told: Told
) -> None:
    write(tmp_path, "src/a.py", "a")
    watcher = opened()
    await watcher.watch(["src/a.py"])
    assert await told.hears("src/a.py")
    watcher.touch(["src/other.py"])
    watcher.touch(["src/a.py"])
    assert await asyncio.wait_for(told.paths.get(), TIMEOUT_S) == {"src/a.py"}


async def test_a_listener_that_fails_does_not_end_the_watching(tmp_path: Path, told: Told) -> None:
    place, calls = write(tmp_path, "a.py", "a"), 0

    async def hear(paths: set[str]) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RuntimeError
        await told.hear(paths)

    watcher = SourceWatcher(tmp_path, hear)
    await watcher.watch(["a.py"])
    watcher.touch(["a.py"])
    while not calls:
        await asyncio.wait_for(asyncio.to_thread(place.exists), TIMEOUT_S)
    watcher.touch(["a.py"])
    assert await told.hears("a.py")
    await watcher.close()


async def test_what_a_listener_failed_at_is_told_again_by_the_next_look(tmp_path: Path, told: Told) -> None:
    write(tmp_path, "a.py", "a")
    failed = asyncio.Event()

    async def hear(paths: set[str]) -> None:
        if not failed.is_set():
            failed.set()
            raise RuntimeError
        await told.hear(paths)

    watcher = SourceWatcher(tmp_path, hear)
    await watcher.watch(["a.py"])
    await asyncio.wait_for(failed.wait(), TIMEOUT_S)
    await watcher.sweep()
    assert await told.hears("a.py")
    await watcher.close()


async def test_a_file_that_changes_while_it_is_looked_at_is_looked_at_again_and_others_do_not_wait(
    tmp_path: Path,
) -> None:
    first, second = write(tmp_path, "first.py", "a"), write(tmp_path, "second.py", "a")
    under_way: set[str] = set()
    calls: asyncio.Queue[set[str]] = asyncio.Queue()
    may_end = asyncio.Event()

    async def slow(paths: set[str]) -> None:
        assert not paths & under_way, "two calls about one path"
        under_way.update(paths)
        calls.put_nowait(paths)
        if "first.py" in paths:
            await may_end.wait()
        under_way.difference_update(paths)

    watcher = SourceWatcher(tmp_path, slow)
    try:
        await watcher.watch(["first.py", "second.py"])
        assert await asyncio.wait_for(calls.get(), TIMEOUT_S) == {"first.py", "second.py"}
        may_end.set()
        watcher.touch(["first.py"])
        assert await asyncio.wait_for(calls.get(), TIMEOUT_S) == {"first.py"}
        may_end.clear()
        first.write_text("b")
        assert await asyncio.wait_for(calls.get(), TIMEOUT_S) == {"first.py"}
        first.write_text("c")
        second.write_text("b")
        assert await asyncio.wait_for(calls.get(), TIMEOUT_S) == {"second.py"}
        may_end.set()
        assert await asyncio.wait_for(calls.get(), TIMEOUT_S) == {"first.py"}
    finally:
        may_end.set()
        await watcher.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs inotify")
async def test_many_folders_are_watched_by_one_thread(tmp_path: Path, told: Told) -> None:
    paths = [f"p{n}/a.py" for n in range(2 * ObserverEvents.most_folders)]
    for path in paths:
        write(tmp_path, path, "a")
    before = _watchdog_threads()  # of a test before this one, which end when they come to it
    watcher = SourceWatcher(tmp_path, told.hear)
    await watcher.watch(paths)
    try:
        assert await told.hears(*paths)
        assert not watcher.is_polling
        assert len(_watchdog_threads() - before) == 1
        (tmp_path / paths[-1]).write_text("b")
        assert await told.hears(paths[-1])
    finally:
        await watcher.close()
    assert _watchdog_threads() <= before


def _watchdog_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if type(thread).__module__.startswith("watchdog.")}


async def test_where_events_were_lost_every_file_is_looked_at(tmp_path: Path, told: Told) -> None:
    class Deaf:
        most_folders = 10

        def __init__(self, take: Take) -> None:
            self.take = take

        def watch(self, folder: str) -> None: ...
        def let_go(self, folder: str) -> None: ...
        def close(self) -> None: ...

    heard: list[Deaf] = []

    def deaf(take: Take) -> FolderEvents:
        heard.append(Deaf(take))
        return heard[0]

    place = write(tmp_path, "src/a.py", "a")
    watcher = SourceWatcher(tmp_path, told.hear, open_events=deaf)
    await watcher.watch(["src/a.py"])
    try:
        assert await told.hears("src/a.py")
        told.forget()
        place.write_text("longer")
        heard[0].take(FileEvent((), is_folder=False))
        assert await told.hears("src/a.py")
    finally:
        await watcher.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs inotify")
def test_what_is_let_go_tells_nothing_and_may_be_let_go_again(tmp_path: Path) -> None:
    happened: queue.SimpleQueue[FileEvent] = queue.SimpleQueue()
    events = InotifyEvents(happened.put)
    folders = [str(tmp_path / name) for name in ("first", "second")]
    for folder in folders:
        os.mkdir(folder)
        events.watch(folder)
    with pytest.raises(FileNotFoundError):
        events.watch(str(tmp_path / "third"))
    events.let_go(folders[0])
    events.let_go(folders[0])
    for folder in folders:
        Path(folder, "a").write_text("a")
    assert happened.get(timeout=TIMEOUT_S).places == (os.path.join(folders[1], "a"),)
    shutil.rmtree(folders[1])
    while not (last := happened.get(timeout=TIMEOUT_S)).is_folder:
        pass
    assert last.places == (folders[1],)
    events.let_go(folders[1])
    events.close()
    assert all(folders[0] not in place for place in _rest(happened))


def _rest(happened: queue.SimpleQueue[FileEvent]) -> list[str]:
    return [place for _ in range(happened.qsize()) for place in happened.get().places]
