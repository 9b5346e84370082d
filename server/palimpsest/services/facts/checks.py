"""Checks the places that facts rest on against files. Blocking; nothing here reads or writes the store, so that a
thread or another process can do it."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from palimpsest.domain.facts.fact import FactState, Span
from palimpsest.domain.facts.staleness.anchor import BYTES_ALONE, Anchor, make_anchor
from palimpsest.domain.facts.staleness.check import Verdict, check_file
from palimpsest.domain.facts.staleness.file_lines import FileLines
from palimpsest.domain.facts.staleness.line_change import LineChange, line_change
from palimpsest.domain.facts.staleness.relocate import Candidates, relocate
from palimpsest.domain.facts.staleness.statement_place import said_place
from palimpsest.domain.facts.staleness.symbols import find_symbol
from palimpsest.services.workspace.encoding import decode
from palimpsest.services.workspace.files import MAX_FILE_BYTES, WorkspaceFiles
from palimpsest.storage.facts.sources import Link, Version

MAX_SOURCE_BYTES: Final = 2 * 1024 * 1024
"""Only the bytes of a larger file count, not its lines."""
_MOST_CANDIDATES: Final = 2_000
_MOST_CANDIDATE_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of the files in which lost ones of one suffix are looked for."""


@dataclass(frozen=True, slots=True)
class Tie:
    """A place as it is stored."""

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
    """Its lines, or those that replaced them; None when they are missing, and for the whole file."""
    note: str
    """The kind of edit that left the place the same: `comments`, `formatting` or empty."""


@dataclass(frozen=True, slots=True)
class News:
    """A place that differs from the stored one."""

    now: PlaceNow
    tie: Tie | None
    """The place to store instead, which may be stale in a file of another name; None when only state and lines have
    changed."""

    @property
    def is_in_another_file(self) -> bool:
        return self.tie is not None and self.tie.version.path != self.now.link.version.path


@dataclass(frozen=True)
class SourceFile:
    """A file as it was read. `text` is None for a file that is no text, or too large."""

    path: str
    sha256: str
    text: str | None

    @classmethod
    def of(cls, path: str, data: bytes) -> SourceFile:
        found = decode(data) if len(data) <= MAX_SOURCE_BYTES else None
        return cls(path, hashlib.sha256(data).hexdigest(), None if found is None else found.text)

    @functools.cached_property
    def lines(self) -> FileLines | None:
        return None if self.text is None else FileLines.of(self.text)

    @functools.cached_property
    def version(self) -> Version:
        return Version(self.path, self.sha256, b"" if self.lines is None else self.lines.to_bytes())

    def tie(self, span: Span | None, symbol: str, older: Anchor | None = None, said: str = "") -> Tie:
        """The tie to a place in the file: to the span, else to the symbol, else to the lines that `said` is about, else
        to the whole file. `older`: see `make_anchor`."""
        if self.text is None:
            return Tie(self.version, BYTES_ALONE, symbol, None)
        if span is None and symbol:
            span = find_symbol(self.path, self.text, symbol)
        if span is None and said and (found := said_place(self.path, self.text, said)) is not None:
            span, symbol = found
        anchor = make_anchor(self.path, self.text, span, symbol, older)
        return Tie(self.version, json.dumps(anchor.to_json()), symbol, anchor.span)


def read_source(files: WorkspaceFiles, path: str) -> SourceFile | None:
    """The file; None when there is none, or it must not be read."""
    try:
        return SourceFile.of(path, files.read_below(tuple(path.split("/")), MAX_FILE_BYTES))
    except OSError:
        return None


def places_in(links: Sequence[Link], path: str, text: str, lines: FileLines | None = None) -> Iterator[PlaceNow]:
    """The places as they are in a text, without those that were tied to bytes. Each version that they were tied to
    costs one map of lines. `lines`: the lines of `text`, where the caller has them."""
    for version, group in groupby(links, key=lambda link: link.version):
        known = [link for link in group if link.anchor != BYTES_ALONE]
        if not known:
            continue
        before = FileLines.from_bytes(version.lines)
        verdicts: list[Verdict] = check_file(path, before, [_anchor(link) for link in known], text, lines)
        for link, verdict in zip(known, verdicts, strict=True):
            yield PlaceNow(link, verdict.state, verdict.span, verdict.note)


def change_of(place: PlaceNow, text: str) -> LineChange:
    """What has changed at a stale place of `places_in`, for people."""
    return line_change(_anchor(place.link), FileLines.from_bytes(place.link.version.lines), text, place.span)


def check_links(files: WorkspaceFiles, links: Sequence[Link]) -> list[News]:
    """The news about places in files on disk. `links`: all links of each file, by file and version."""
    found: list[News] = []
    present = _PresentFiles(files)
    for path, group in groupby(links, key=lambda link: link.version.path):
        of_file = list(group)
        file = read_source(files, path)
        if file is None:
            file = present.found_again(of_file)
            found += _missing(of_file) if file is None else _news(of_file, file)
            continue
        found += [
            News(PlaceNow(link, FactState.FRESH, _made_at(link), ""), None)
            for link in of_file
            if link.version.sha256 == file.sha256 and link.state is not FactState.FRESH
        ]
        found += _news([link for link in of_file if link.version.sha256 != file.sha256], file)
    return found


def _missing(links: Sequence[Link]) -> list[News]:
    return [
        News(PlaceNow(link, FactState.MISSING, None, ""), None) for link in links if link.state is not FactState.MISSING
    ]


def _news(links: Sequence[Link], file: SourceFile) -> list[News]:
    """The news about places in a file that differs from the one they were tied to, or has another name. A stale place
    moves to that name too, so that it is found where people read it."""
    found: list[News] = []
    for now in _in_file(links, file):
        if not now.state.is_stale:
            found.append(News(now, file.tie(now.span, now.link.symbol, anchor_of(now.link))))
        elif file.path != (was := now.link.version).path:
            version = Version(file.path, was.sha256, was.lines)
            found.append(News(now, Tie(version, now.link.anchor, now.link.symbol, now.span or now.link.span)))
        elif (now.state, now.span) != (now.link.state, now.link.span):
            found.append(News(now, None))
    return found


def _in_file(links: Sequence[Link], file: SourceFile) -> Iterator[PlaceNow]:
    """The places in a file. Only the bytes count when the file is no text, or was none."""
    bytes_alone = [link for link in links if file.text is None or link.anchor == BYTES_ALONE]
    for link in bytes_alone:
        state = FactState.FRESH if link.version.sha256 == file.sha256 else FactState.CHANGED
        yield PlaceNow(link, state, None if state is FactState.FRESH else link.span, "")
    if file.text is not None:
        yield from places_in(links, file.path, file.text, file.lines)


def anchor_of(link: Link) -> Anchor | None:
    """The anchor; None for a file that is no text, or too large."""
    return None if link.anchor == BYTES_ALONE else _anchor(link)


def _anchor(link: Link) -> Anchor:
    return _read_anchor(link.anchor)


@functools.lru_cache(maxsize=256)
def _read_anchor(text: str) -> Anchor:
    """Cached: the anchors of one file are read several times in a row."""
    return Anchor.from_json(json.loads(text))


def _made_at(link: Link) -> Span | None:
    """The lines for which the anchor was made."""
    return None if link.anchor == BYTES_ALONE else _anchor(link).span


class _PresentFiles:
    """The files of the folder during one check, read once for all that are lost: a checkout may remove thousands."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self._files = files
        self._by_suffix: dict[str, tuple[dict[str, str], Candidates]] = {}

    def found_again(self, links: Sequence[Link]) -> SourceFile | None:
        """The file that the file of these links was renamed to, told by its content; None when there is none."""
        version = links[0].version
        paths, candidates = self._alike(version.path)
        if (there := paths.get(version.sha256)) is None:
            anchors = [_anchor(link) for link in links if link.version == version and link.anchor != BYTES_ALONE]
            there = relocate(FileLines.from_bytes(version.lines), anchors, candidates) if anchors else None
        return None if there is None else read_source(self._files, there)

    def _alike(self, path: str) -> tuple[dict[str, str], Candidates]:
        """The files with the suffix of `path`: their paths by hash, and the candidates for `relocate`."""
        suffix = path.rpartition("/")[2].rpartition(".")[2]
        if suffix not in self._by_suffix:
            paths: dict[str, str] = {}
            candidates = Candidates()
            n_bytes = 0
            for each in self._files.walk():
                if len(paths) == _MOST_CANDIDATES or n_bytes > _MOST_CANDIDATE_BYTES:
                    break
                size = each.status.st_size
                if each.is_folder or not each.path.endswith(suffix) or not 0 < size <= MAX_SOURCE_BYTES:
                    continue
                if (file := read_source(self._files, each.path)) is not None:
                    n_bytes += size
                    paths.setdefault(file.sha256, file.path)
                    if file.text is not None:
                        candidates.add(file.path, file.text)
            self._by_suffix[suffix] = paths, candidates
        return self._by_suffix[suffix]
