"""The files of a simulated folder, and what the system tells of them: events that come late, twice, or never.

The files are real ones, in memory; when they were changed is virtual time, and each change has a time of its own.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.simulation.scheduler import NODE, Lane, Node, _Call
from tests.simulation.world import World

from palimpsest.services.facts.folder_events import FileEvent, Take

FOLDERS: Final = ("src", "lib", "src/deep")
_NAMES: Final = ("pump", "valve", "meter", "hall")
_MOST_FOLDERS: Final = (1_000, 1_000, 1_000, 1)
"""What may be watched at once, by the variant of the settings."""


class Events:
    """Stands for `FolderEvents` of one server: as inotify, a watch is of a folder as it lay there, and dies with it."""

    def __init__(self, files: Files, take: Take) -> None:
        self.take = take
        self.node: Node = NODE.get()
        self.most_folders = _MOST_FOLDERS[files.world.variant % len(_MOST_FOLDERS)]
        self.watched: dict[str, bool] = {}
        """Folders, each with whether it is still the one that was there."""
        self._lane = Lane("events")
        self._loop = files.world.loop
        self.node.lanes.append(self._lane)
        files.listening.append(self)

    def watch(self, folder: str) -> None:
        if not os.path.isdir(folder):
            raise FileNotFoundError(folder)
        self.watched[folder] = True

    def let_go(self, folder: str) -> None:
        self.watched.pop(folder, None)

    def close(self) -> None:
        self.watched.clear()

    def sees(self, event: FileEvent) -> bool:
        (place,) = event.places
        return bool(self.watched.get(os.path.dirname(place)) or (event.is_folder and self.watched.get(place)))

    def tell(self, event: FileEvent) -> None:
        if not self.node.is_dead:
            self._lane.calls.append(_Call(lambda: self.take(event), self._loop.create_future()))


@dataclass(eq=False, slots=True)
class Files:
    """The files of a world's folder."""

    world: World
    listening: list[Events] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """Whatever was ever written, or given to an editor, by its hash."""
    given: dict[str, set[str]] = field(default_factory=dict)
    """By path: the hashes of what an editor was given by an edit that the user accepted."""
    changed: bool = True
    """Whether something has changed since it was last looked at."""
    _branches: dict[int, Mapping[str, str]] = field(default_factory=dict)
    _deleted: list[tuple[str, str]] = field(default_factory=list)
    _n_changes: int = 0
    _n_names: int = 0

    def __post_init__(self) -> None:
        self.world.open_events = lambda take: Events(self, take)
        v = random.Random(f"files {self.world.variant}")
        for _ in range(v.randint(0, 2)):
            self._put(self.new_path(v), self.new_text(v))
        self._put("notes.md", self.new_text(v))

    # ------------------------------------------------------------------------------------------------- what there is

    def place(self, path: str) -> Path:
        return self.world.root / path

    def paths(self) -> list[str]:
        return sorted(
            each.relative_to(self.world.root).as_posix() for each in self.world.root.rglob("*") if each.is_file()
        )

    def read(self, path: str) -> str | None:
        """None where there is no such file."""
        try:
            return self.place(path).read_text("utf-8")
        except OSError:
            return None

    def some(self, v: random.Random) -> str | None:
        paths = self.paths()
        return v.choice(paths) if paths else None

    # -------------------------------------------------------------------------------------------------- what is made

    def name(self) -> int:
        """A new name each time, so that every line is unique."""
        self._n_names += 1
        return 100 + self._n_names

    def function(self) -> list[str]:
        n = self.name()
        return [f"def pump_{n}(rate):", f"    wait_{n} = {7 * n}", f"    return rate * {n} + {3 * n}", ""]

    def new_text(self, v: random.Random) -> str:
        n = self.name()
        lines = [f"# Pumps of hall {n}.", f"LIMIT_{n} = {n}", ""]
        for _ in range(v.randint(1, 4)):
            lines += self.function()
        return "\n".join(lines)

    def new_path(self, v: random.Random) -> str:
        return f"{v.choice(FOLDERS)}/{v.choice(_NAMES)}{v.randint(1, 3)}.py"

    def edited(self, text: str, v: random.Random) -> str:
        """With one change, as a person makes it."""
        lines = text.split("\n")
        at = v.randrange(len(lines))
        match v.randrange(6):
            case 0 | 1:
                lines[at] = f"{lines[at][:4] if lines[at][:4].isspace() else ''}wait_{self.name()} = {self.name()}"
            case 2:
                at = next((i for i, line in enumerate(lines) if line.startswith("def ")), 0)
                lines[at:at] = self.function()
            case 3:
                del lines[at : at + v.randint(1, 3)]
            case 4:
                lines[at] += f"  # {self.name()}"
            case _:
                half = len(lines) // 2
                lines = lines[half:] + lines[:half]
        return "\n".join(lines)

    # ---------------------------------------------------------------------------------------------- what happens to it

    def write(self, path: str, text: str, v: random.Random, *, moves: bool = False) -> None:
        """In place, or, as many editors do, as a new file that takes its place."""
        if moves and self.place(path).exists():
            self.place(path).unlink()
        self._put(path, text)
        self._happened([self._file(path)], v)

    def delete(self, path: str, v: random.Random) -> None:
        self._deleted.append((path, self.place(path).read_text("utf-8")))
        self.place(path).unlink()
        self._happened([self._file(path)], v)

    def recreate(self, v: random.Random) -> None:
        """A file that was deleted, as it was or changed."""
        if self._deleted:
            path, text = v.choice(self._deleted)
            self.write(path, text if v.random() < 0.6 else self.edited(text, v), v)

    def rename(self, path: str, to: str, v: random.Random) -> None:
        if self.place(to).exists():
            return
        self.place(to).parent.mkdir(parents=True, exist_ok=True)
        self.place(path).rename(self.place(to))
        self._happened([self._file(path), self._file(to)], v)

    def move_folder(self, v: random.Random) -> None:
        """A folder to another name, or away with all that is in it."""
        folders = [each for each in ("src", "lib", "old") if self.place(each).is_dir()]
        if not folders:
            return
        folder = v.choice(folders)
        to = v.choice([each for each in ("src", "lib", "old") if each != folder])
        if v.random() < 0.2 or self.place(to).exists():
            shutil.rmtree(self.place(folder))
            gone = [folder]
        else:
            self.place(folder).rename(self.place(to))
            gone = [folder, to]
        self._happened([FileEvent((str(self.place(each)),), True) for each in gone], v)
        lost = str(self.place(folder))
        for each in self.listening:
            for known in each.watched:
                if known == lost or known.startswith(f"{lost}/"):
                    each.watched[known] = False

    def switch(self, number: int, v: random.Random) -> None:
        """To another branch, made from this one when it is new. Files are replaced, as git does."""
        now = {path: self.place(path).read_text("utf-8") for path in self.paths()}
        self._branches[(number + 1) % 2] = now
        if number % 2 not in self._branches:
            made = {path: self.edited(text, v) if v.random() < 0.6 else text for path, text in now.items()}
            if made and v.random() < 0.5:
                made.pop(v.choice(sorted(made)))
            made[self.new_path(v)] = self.new_text(v)
            self._branches[number % 2] = made
        wanted = self._branches[number % 2]
        events = []
        for path in sorted(now.keys() | wanted.keys()):
            if now.get(path) != wanted.get(path):
                events.append(self._file(path))
                if path in now:
                    self.place(path).unlink()
                if path in wanted:
                    self._put(path, wanted[path])
        self._happened(events, v)

    def know(self, text: str) -> str:
        """Its hash."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.texts[digest] = text
        return digest

    def _put(self, path: str, text: str) -> None:
        self.know(text)
        place = self.place(path)
        if place.parent.is_file() or place.is_dir():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        self._n_changes += 1
        at_ns = int(self.world.loop.now_s * 1e9) + self._n_changes
        os.utime(place, ns=(at_ns, at_ns))
        self.changed = True

    def _file(self, path: str) -> FileEvent:
        return FileEvent((str(self.place(path)),), False)

    def _happened(self, events: Iterable[FileEvent], v: random.Random) -> None:
        """Tells the watchers, most of the time."""
        self.changed = True
        told = list(events)
        for each in self.listening:
            seen = [event for event in told if each.sees(event)]
            how = v.choices(("told", "doubled", "late", "overflow", "silent"), (12, 2, 3, 2, 2))[0]
            if how == "overflow":
                seen = [FileEvent((), False)]
            elif how == "doubled":
                seen += seen
            elif how == "silent":
                seen = []
            elif how == "late":
                self._tell_later(each, seen, v.choice((0.1, 0.5, 5.0)))
                seen = []
            for event in seen:
                each.tell(event)

    def _tell_later(self, to: Events, events: list[FileEvent], delay_s: float) -> None:
        def tell() -> None:
            for event in events:
                to.tell(event)

        if not to.node.is_dead:
            self.world.loop.call_later(delay_s, tell, context=to.node.context)


def lines_of(text: str) -> list[str]:
    """Without white space and comments, which say nothing."""
    return [" ".join(line.partition("#")[0].split()) for line in text.split("\n")]
