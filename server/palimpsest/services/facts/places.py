"""The places that facts rest on, checked on disk and in the unsaved text of an editor.

The store holds the states on disk. An unsaved text is compared with the same anchors and changes nothing in the store,
so undoing an edit clears its warnings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.facts.fact import FactId, Place, Span, StoredFact
from palimpsest.domain.facts.staleness.symbols import find_symbol
from palimpsest.machine import utc_now
from palimpsest.services.facts.accepted_edits import AcceptedEdits, ahead_of_disk, follow_on_disk, followed
from palimpsest.services.facts.checks import News, PlaceNow, SourceFile, Tie, check_links, places_in, read_source
from palimpsest.services.workspace.encoding import split_lines
from palimpsest.services.workspace.files import PlaceKind, WorkspaceFiles
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.facts.sources import Link
from palimpsest.storage.store import Store

_BATCH: Final = 100
"""Files whose links are read, and whose states are written, in one transaction, so that other work comes between."""
_AT_ONCE: Final = 3
"""Batches under way: one is read from the store or written to it while others are checked."""
_MOST_SHOWN: Final = 200
"""Lines of one place in a request to a model."""

CarryOut = Callable[[WorkspaceFiles, Sequence[Link]], Awaitable[list[News]]]
"""Runs `check_links`."""


async def on_a_thread(files: WorkspaceFiles, links: Sequence[Link]) -> list[News]:
    return await asyncio.to_thread(check_links, files, links)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of checking files."""

    changed: frozenset[FactId]
    """Facts that became stale, or are stale no longer."""
    has_moved: bool
    """Whether facts now rest on a file of another name."""


@dataclass(frozen=True, slots=True)
class PlacesNow:
    """The places of one fact as they are on disk at one moment."""

    links: tuple[Link, ...]
    ties: Mapping[Link, Tie]
    """The ties of the places that are there."""
    texts: tuple[str, ...]
    """The text of each place that is there, behind a line with its path; of a whole file the beginning."""

    def take(self) -> None:
        """In a transaction: from now on the fact rests on its places as they are here. Lost places are given up. Raises
        NotFound when all of them are lost."""
        if self.links and not self.ties:
            raise NotFound("No place of this fact is left. Forget it, or pin it anew.")
        now = utc_now()
        for link, tie in self.ties.items():
            fact_sources.rebase(link, tie.version, tie.anchor, tie.span, now)
        fact_sources.tidy(link.version for link in self.ties)
        fact_sources.unlink([link for link in self.links if link not in self.ties])


@dataclass(frozen=True, slots=True)
class FactPlaces:
    """The places of the facts of one folder."""

    store: Store
    files: WorkspaceFiles
    edits: AcceptedEdits = field(default_factory=AcceptedEdits)
    """The accepted edits of the folder."""

    async def tie(self, places: Sequence[Place]) -> list[list[Tie]]:
        """The ties of each place; none when there is no such file, or it must not be read."""
        return await asyncio.to_thread(self._tie, places)

    async def check(self, paths: Iterable[str], carry_out: CarryOut = on_a_thread) -> Checked:
        """Checks these files on disk and stores the result."""
        changed: set[FactId] = set()
        has_moved = False
        ordered = sorted(set(paths))
        room = asyncio.Semaphore(_AT_ONCE)

        async def check_some(some: Sequence[str]) -> None:
            nonlocal has_moved
            async with room:
                links = await self.store.search(fact_sources.links_of, some)
                found = await self._with_edits(links, await carry_out(self.files, links))
                if found:
                    changed.update(await self.store.run(_write, found, utc_now()))
                    has_moved |= any(news.is_in_another_file for news in found)

        batches = (ordered[first : first + _BATCH] for first in range(0, len(ordered), _BATCH))
        await asyncio.gather(*map(check_some, batches))
        return Checked(frozenset(changed), has_moved)

    async def in_text(self, path: str, text: str) -> list[PlaceNow]:
        """The places in a file as they are in a text that an editor holds. Stores nothing."""
        links = await self.store.read(fact_sources.links_of, [path])
        found = await asyncio.to_thread(lambda: list(places_in(links, path, text)))
        stale = [each.link for each in found if each.state.is_stale]
        if not stale or not self.edits.of(path):
            return found
        known = await self._facts_of(stale)

        def follow() -> list[PlaceNow]:
            fresh = {link.id: followed(link, known, self.edits, text) for link in stale}
            return [fresh.get(each.link.id) or each for each in found]

        return await asyncio.to_thread(follow)

    async def text_on_disk(self, path: str) -> str | None:
        """The text of a file; None when there is none that may be read."""
        found = await asyncio.to_thread(read_source, self.files, path)
        return None if found is None else found.text

    async def _with_edits(self, links: Sequence[Link], found: list[News]) -> list[News]:
        """The news from disk, corrected by the edits that the user accepted."""
        edited = [link for link in links if self.edits.of(link.version.path)]
        told = {news.now.link.id: news for news in found} if edited else {}
        stale = [link for link in edited if (told[link.id].now.state if link.id in told else link.state).is_stale]
        if not stale:
            return found
        known = await self._facts_of(stale)
        instead = await asyncio.to_thread(follow_on_disk, self.files, stale, known, self.edits)
        kept = [news for news in found if news.now.link.id not in instead]
        return kept + [news for news in instead.values() if news is not None]

    async def _facts_of(self, links: Sequence[Link]) -> dict[FactId, StoredFact]:
        found = await self.store.search(facts.read, list(dict.fromkeys(link.fact_id for link in links)))
        return {fact.id: fact for fact in found}

    async def now(self, fact_id: FactId) -> PlacesNow:
        """The fact's places as they are on disk. Stores nothing."""
        links = await self.store.read(fact_sources.links_of_fact, fact_id)
        return await asyncio.to_thread(self._now, links)

    # ------------------------------------------------------------------------------------------------------ on a thread

    def _tie(self, places: Sequence[Place]) -> list[list[Tie]]:
        files: dict[str, SourceFile | None] = {}
        names: dict[str, list[str]] | None = None
        found: list[list[Tie]] = []
        for place in places:
            if place.path not in files:
                files[place.path] = self._at(place.path)
                if files[place.path] is None:
                    names = self._by_name() if names is None else names
                    alike = _named_so(names, place.path)
                    files[place.path] = None if alike is None else self._at(alike)
                on_disk = files[place.path]
                path = place.path if on_disk is None else on_disk.path
                if self.edits.of(path):
                    files[place.path] = ahead_of_disk(path, self.edits, on_disk)
            known = files[place.path]
            found.append([] if known is None else [known.tie(place.span, place.symbol, said=place.said)])
        return found

    def _at(self, path: str) -> SourceFile | None:
        try:
            place = self.files.locate(path)
            if place.kind is not PlaceKind.FILE:
                return None
            return SourceFile.of(place.path, self.files.read(place))
        except (InvalidRequest, NotFound):
            return None

    def _by_name(self) -> dict[str, list[str]]:
        """The files of the folder, by their own names."""
        found: dict[str, list[str]] = {}
        for each in self.files.walk():
            if not each.is_folder:
                found.setdefault(each.parts[-1], []).append(each.path)
        return found

    def _now(self, links: Sequence[Link]) -> PlacesNow:
        ties: dict[Link, Tie] = {}
        texts: list[str] = []
        for link in links:
            path = link.version.path
            if (file := read_source(self.files, path)) is None:
                continue
            span: Span | None = None
            if link.span is not None and file.text is not None:
                now = next(places_in([link], path, file.text), None)
                span = None if now is None else now.span
                if span is None and link.symbol:
                    span = find_symbol(path, file.text, link.symbol)
                if span is None:
                    continue
            ties[link] = tie = file.tie(span, link.symbol)
            if file.text is not None:
                lines = split_lines(file.text)
                shown = lines if tie.span is None else lines[tie.span.start - 1 : tie.span.end]
                texts.append("\n".join([path, *shown[:_MOST_SHOWN]]))
        return PlacesNow(tuple(links), ties, tuple(texts))


def _named_so(names: Mapping[str, Sequence[str]], path: str) -> str | None:
    """The only file whose path ends with `path`; None when there is none, or several."""
    name = path.rpartition("/")[2]
    alike = [each for each in names.get(name, ()) if each == path or each.endswith(f"/{path.lstrip('./')}")]
    return alike[0] if len(alike) == 1 else None


def _write(found: Sequence[News], now: str) -> set[FactId]:
    """Stores the news, in a transaction. Returns the facts that became stale, or are stale no longer."""
    for news in found:
        place, tie = news.now, news.tie
        if tie is None:
            fact_sources.set_state(place.link, place.state, place.span)
        else:
            fact_sources.rebase(place.link, tie.version, tie.anchor, tie.span, now)
            if place.state.is_stale:
                fact_sources.set_state(place.link, place.state, place.span)
    fact_sources.tidy(news.now.link.version for news in found if news.tie is not None)
    return {news.now.link.fact_id for news in found if news.now.state.is_stale != news.now.link.state.is_stale}
