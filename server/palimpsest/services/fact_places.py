"""Whether the places that facts rest on still say what they said: on disk, and in what an editor holds.

What is stored is of files on disk. A text that an editor holds unsaved is compared with the same anchors and changes
nothing in the store, so taking an edit back clears what it had raised.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.facts import FactId, FactState, Place, Span
from palimpsest.domain.staleness.anchor import Anchor, make_anchor
from palimpsest.domain.staleness.check import Verdict, check_file
from palimpsest.domain.staleness.file_lines import FileLines
from palimpsest.domain.staleness.relocate import relocate
from palimpsest.domain.staleness.symbols import find_symbol
from palimpsest.services.clock import utc_now
from palimpsest.services.file_text import decode, split_lines
from palimpsest.services.workspace_files import MAX_FILE_BYTES, PlaceKind, WorkspaceFiles
from palimpsest.storage import fact_sources
from palimpsest.storage.fact_sources import Link, Version
from palimpsest.storage.store import Store

MAX_SOURCE_BYTES: Final = 2 * 1024 * 1024
"""A larger file is tied to by its bytes alone."""
_BATCH: Final = 200
"""Files whose links are read and whose states are written at once, so that other work comes between."""
_MOST_CANDIDATES: Final = 2_000
"""Files that are looked at for one that is gone."""
_MOST_SHOWN: Final = 200
"""Lines of one place that a model is shown."""
_BYTES_ALONE: Final = "bytes"
"""The anchor of a file that is no text, or too large: only its hash counts."""


@dataclass(frozen=True, slots=True)
class Tie:
    """A place as it is to be stored."""

    version: Version
    anchor: str
    symbol: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class PlaceNow:
    """A place that a fact rests on, as it is in some text."""

    link: Link
    state: FactState
    span: Span | None
    """Where it stands, or what stands for it; None: nowhere, or the whole file is meant."""
    note: str
    """What was edited though it says the same: `comments`, `formatting` or nothing."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look at files found."""

    changed: frozenset[FactId]
    """Facts that are stale and were not, or the other way."""
    has_moved: bool
    """Whether facts rest on another file than before: one that was renamed."""


@dataclass(frozen=True)
class _File:
    """A file as it was read. `text` is None where it is no text, or too large."""

    path: str
    sha256: str
    text: str | None

    @functools.cached_property
    def version(self) -> Version:
        return Version(self.path, self.sha256, b"" if self.text is None else FileLines.of(self.text).to_bytes())


@dataclass(frozen=True, slots=True)
class FactPlaces:
    """Of one folder."""

    store: Store
    files: WorkspaceFiles

    async def tie(self, places: Sequence[Place]) -> list[list[Tie]]:
        """For each place how it is stored: nothing where there is no such file, or none that may be read."""
        return await asyncio.to_thread(self._tie, places)

    async def check(self, paths: Iterable[str]) -> Checked:
        """Looks at these files on disk, and keeps what it finds."""
        changed: set[FactId] = set()
        has_moved = False
        ordered = sorted(set(paths))
        for first in range(0, len(ordered), _BATCH):
            links = await self.store.read(fact_sources.links_of, ordered[first : first + _BATCH])
            found = await asyncio.to_thread(self._check, links)
            if found:
                changed |= await self.store.run(_write, found, utc_now())
                has_moved |= any(tie is not None and tie.version.path != link.version.path for link, _, tie in found)
        return Checked(frozenset(changed), has_moved)

    async def in_text(self, path: str, text: str) -> list[PlaceNow]:
        """The places in a file as they are in a text that an editor holds. Stores nothing."""
        links = await self.store.read(fact_sources.links_of, [path])
        return await asyncio.to_thread(lambda: list(_verdicts(links, path, text)))

    async def take_anew(self, fact_id: FactId) -> None:
        """What stands at the fact's places now is what it rests on. Places that are gone are given up.

        Raises NotFound when none of them is left to rest on.
        """
        links = await self.store.read(fact_sources.links_of_fact, fact_id)
        if not links:
            return
        taken = await asyncio.to_thread(self._taken_anew, links)
        if not taken:
            raise NotFound("No place that this fact rests on is there any more. Forget it, or pin it anew.")

        def write() -> None:
            for link, tie in taken.items():
                fact_sources.rebase(link, tie.version, tie.anchor, tie.span, utc_now())
            fact_sources.tidy(link.version for link in taken)
            fact_sources.unlink([link for link in links if link not in taken])

        await self.store.run(write)

    async def texts(self, fact_id: FactId) -> list[str]:
        """What stands at the fact's places now, each with its path; of a whole file its beginning."""
        links = await self.store.read(fact_sources.links_of_fact, fact_id)
        return await asyncio.to_thread(self._texts, links)

    # ------------------------------------------------------------------------------------------------------ on a thread

    def _tie(self, places: Sequence[Place]) -> list[list[Tie]]:
        files: dict[str, _File | None] = {}
        names: dict[str, list[str]] | None = None
        found: list[list[Tie]] = []
        for place in places:
            if place.path not in files:
                files[place.path] = self._at(place.path)
                if files[place.path] is None:
                    names = self._by_name() if names is None else names
                    alike = _named_so(names, place.path)
                    files[place.path] = None if alike is None else self._at(alike)
            known = files[place.path]
            found.append([] if known is None else [_tied(known, place.span, place.symbol)])
        return found

    def _at(self, path: str) -> _File | None:
        try:
            place = self.files.locate(path)
            if place.kind is not PlaceKind.FILE:
                return None
            return _to_file(place.path, self.files.read(place))
        except (InvalidRequest, NotFound):
            return None

    def _by_name(self) -> dict[str, list[str]]:
        """The files of the folder, by their own names."""
        found: dict[str, list[str]] = {}
        for each in self.files.walk():
            if not each.is_folder:
                found.setdefault(each.parts[-1], []).append(each.path)
        return found

    def _read(self, path: str) -> _File | None:
        """None where there is no file that may be read."""
        try:
            return _to_file(path, self.files.read_below(tuple(path.split("/")), MAX_FILE_BYTES))
        except OSError:
            return None

    def _check(self, links: Sequence[Link]) -> list[tuple[Link, PlaceNow, Tie | None]]:
        """Only what is another than is stored; with a tie, where the place is to be taken from now on."""
        found: list[tuple[Link, PlaceNow, Tie | None]] = []
        for path, group in groupby(links, key=lambda link: link.version.path):
            of_file = list(group)
            file = self._read(path)
            if file is None:
                found += self._of_a_lost_file(path, of_file)
                continue
            other = [link for link in of_file if link.version.sha256 != file.sha256]
            same = [link for link in of_file if link.version.sha256 == file.sha256]
            found += [
                (link, PlaceNow(link, FactState.FRESH, _made_at(link), ""), None)
                for link in same
                if link.state is not FactState.FRESH
            ]
            found += _news(other, file)
        return found

    def _of_a_lost_file(self, path: str, links: Sequence[Link]) -> list[tuple[Link, PlaceNow, Tie | None]]:
        place = self._found_again(path, links)
        if place is None:
            return [
                (link, PlaceNow(link, FactState.MISSING, None, ""), None)
                for link in links
                if link.state is not FactState.MISSING
            ]
        return _news(links, place)

    def _found_again(self, path: str, links: Sequence[Link]) -> _File | None:
        """The file that this one was renamed to, told by what it holds."""
        suffix = path.rpartition("/")[2].rpartition(".")[2]
        candidates: dict[str, str] = {}
        for each in self.files.walk():
            if each.is_folder or each.path == path or not each.path.endswith(suffix):
                continue
            if 0 < each.status.st_size <= MAX_SOURCE_BYTES and (file := self._read(each.path)) is not None:
                if file.sha256 == links[0].version.sha256:
                    return file
                if file.text is not None:
                    candidates[each.path] = file.text
            if len(candidates) == _MOST_CANDIDATES:
                break
        version = links[0].version
        anchors = [_anchor(link) for link in links if link.version == version and link.anchor != _BYTES_ALONE]
        there = relocate(FileLines.from_bytes(version.lines), anchors, candidates.items()) if anchors else None
        return None if there is None else self._read(there)

    def _texts(self, links: Sequence[Link]) -> list[str]:
        found: list[str] = []
        for link, tie in self._taken_anew(links).items():
            file = self._read(link.version.path)
            if file is not None and file.text is not None:
                lines = split_lines(file.text)
                shown = lines if tie.span is None else lines[tie.span.start - 1 : tie.span.end]
                found.append("\n".join([link.version.path, *shown[:_MOST_SHOWN]]))
        return found

    def _taken_anew(self, links: Sequence[Link]) -> dict[Link, Tie]:
        taken: dict[Link, Tie] = {}
        for link in links:
            path = link.version.path
            if (file := self._read(path)) is None:
                continue
            span: Span | None = None
            if link.span is not None and file.text is not None:
                now = next(_verdicts([link], path, file.text), None)
                span = None if now is None else now.span
                if span is None and link.symbol:
                    span = find_symbol(path, file.text, link.symbol)
                if span is None:
                    continue
            taken[link] = _tied(file, span, link.symbol)
        return taken


def _to_file(path: str, data: bytes) -> _File:
    found = decode(data) if len(data) <= MAX_SOURCE_BYTES else None
    return _File(path, hashlib.sha256(data).hexdigest(), None if found is None else found.text)


def _named_so(names: Mapping[str, Sequence[str]], path: str) -> str | None:
    """The one file that people may mean who do not say where it lies."""
    name = path.rpartition("/")[2]
    alike = [each for each in names.get(name, ()) if each == path or each.endswith(f"/{path.lstrip('./')}")]
    return alike[0] if len(alike) == 1 else None


def _tied(file: _File, span: Span | None, symbol: str) -> Tie:
    if file.text is None:
        return Tie(file.version, _BYTES_ALONE, symbol, None)
    if span is None and symbol:
        span = find_symbol(file.path, file.text, symbol)
    anchor = make_anchor(file.path, file.text, span, symbol)
    return Tie(file.version, json.dumps(anchor.to_json()), symbol, anchor.span)


def _anchor(link: Link) -> Anchor:
    return Anchor.from_json(json.loads(link.anchor))


def _made_at(link: Link) -> Span | None:
    """Where the place was when its anchor was made."""
    return None if link.anchor == _BYTES_ALONE else _anchor(link).span


def _news(links: Sequence[Link], file: _File) -> list[tuple[Link, PlaceNow, Tie | None]]:
    """What is to be stored of places in a file that is another than they were tied to."""
    if file.text is None:
        return [
            (link, PlaceNow(link, FactState.CHANGED, None, ""), None)
            for link in links
            if link.state is not FactState.CHANGED
        ]
    found: list[tuple[Link, PlaceNow, Tie | None]] = []
    for now in _verdicts(links, file.path, file.text):
        if not now.state.is_stale:
            found.append((now.link, now, _tied(file, now.span, now.link.symbol)))
        elif (now.state, now.span) != (now.link.state, now.link.span):
            found.append((now.link, now, None))
    return found


def _verdicts(links: Sequence[Link], path: str, text: str) -> Iterator[PlaceNow]:
    """One map of lines for each version that the places were tied to."""
    for version, group in groupby(links, key=lambda link: link.version):
        of_version = list(group)
        known = [link for link in of_version if link.anchor != _BYTES_ALONE]
        if not known:
            continue
        before = FileLines.from_bytes(version.lines)
        verdicts: list[Verdict] = check_file(path, before, [_anchor(link) for link in known], text)
        for link, verdict in zip(known, verdicts, strict=True):
            yield PlaceNow(link, verdict.state, verdict.span, verdict.note)


def _write(found: Sequence[tuple[Link, PlaceNow, Tie | None]], now: str) -> set[FactId]:
    """The facts whose condition is another than before."""
    for link, place, tie in found:
        if tie is None:
            fact_sources.set_state(link, place.state, place.span)
        else:
            fact_sources.rebase(link, tie.version, tie.anchor, tie.span, now)
    fact_sources.tidy(link.version for link, _, tie in found if tie is not None)
    return {link.fact_id for link, place, _ in found if place.state.is_stale != link.state.is_stale}
