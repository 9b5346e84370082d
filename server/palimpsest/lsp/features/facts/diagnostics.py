"""The places of facts in documents, and diagnostics of the facts that need attention.

Unsaved text of an editor is compared with the files that facts depend on, and never stored.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from lsprotocol import types as lsp

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.facts.fact import FactFilter, FactId, FactState, Span, StoredFact
from palimpsest.domain.facts.staleness.line_change import LineChange
from palimpsest.domain.facts.text import author_remark
from palimpsest.lsp.features import SOURCE
from palimpsest.lsp.places import file_uri, path_below, session_of_document
from palimpsest.lsp.runtime.documents import open_document
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.facts.checks import PlaceNow, change_of
from palimpsest.services.facts.folder_facts import FolderFacts
from palimpsest.services.folder.session import FolderSession

log = logging.getLogger(__name__)

CODE: Final = "stale-fact"
_LONGEST_LINE: Final = 80
"""The most characters of a line of a file in a message."""
_LINE_END: Final = 10_000
"""A character beyond the end of any line, which editors take for that end."""


@dataclass(frozen=True, slots=True)
class PlacedFact:
    """A fact at a place in the current text of one document."""

    fact: StoredFact
    state: FactState
    span: Span | None
    """The lines of the place; None when the fact depends on the whole file, or the place is gone."""
    change: LineChange | None = None
    """What has changed at a stale place; None when the file is no text, or gone."""

    @property
    def line(self) -> int:
        """The first line, counted from 0."""
        return 0 if self.span is None else self.span.start - 1

    @property
    def range(self) -> lsp.Range:
        """The place's first line only: a fact may depend on hundreds."""
        return lsp.Range(lsp.Position(self.line, 0), lsp.Position(self.line, _LINE_END))

    def covers(self, line: int) -> bool:
        return self.span is not None and self.span.start - 1 <= line < self.span.end


async def diagnostics_of(ls: PalimpsestServer, uri: str) -> list[lsp.Diagnostic]:
    """The diagnostics of one document, by line."""
    try:
        placed = await placed_facts(ls, uri)
    except PalimpsestError as error:
        log.info("the facts of a document could not be read: %s", error.kind)
        return []
    stale = [each for each in placed if each.state.is_stale]
    return [_to_diagnostic(each) for each in sorted(stale, key=lambda each: (each.line, each.fact.id))]


def _to_diagnostic(placed: PlacedFact) -> lsp.Diagnostic:
    return lsp.Diagnostic(
        placed.range,
        f"{_event(placed)} Is this still true? {placed.fact.fact.content}{author_remark(placed.fact)}",
        lsp.DiagnosticSeverity.Warning,
        CODE,
        source=SOURCE,
        data={"factIds": [placed.fact.id]},
    )


def _event(placed: PlacedFact) -> str:
    """A sentence on what happened at a stale place: what was there, and what is."""
    change, is_line = placed.change, placed.span is not None and placed.span.start == placed.span.end
    if placed.state is FactState.MISSING:
        return f"The line `{_cut(change.was)}` is gone." if change and change.was else "What was here is gone."
    if change is None:
        return "This file has changed."
    if is_line and change.was:
        return f"This line was `{_cut(change.was)}` and is now `{_cut(change.now)}`."
    was = f" The line `{_cut(change.was)}` is gone." if change.was else ""
    where = "Here something" if placed.span is not None else "In this file something"
    if not change.number:
        return f"{where} was removed.{was}"
    return f"{where} has changed.{was} Line {change.number} is now `{_cut(change.now)}`."


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


async def placed_facts(ls: PalimpsestServer, uri: str) -> list[PlacedFact]:
    """The facts that depend on the document, placed in the editor's text, or in the file when it is not open."""
    session = await session_of_document(ls, uri)
    path = None if session is None else path_below(ls, session, uri)
    if session is None or path is None:
        return []
    facts = session.folder.facts
    document = open_document(ls.workspace, uri)
    return await _in_text(facts, path, document.source) if document is not None else await placed_on_disk(facts, path)


async def _in_text(facts: FolderFacts, path: str, text: str) -> list[PlacedFact]:
    places = await facts.keeper.places.in_text(path, text)
    known = {fact.id: fact for fact in await _facts_on(facts, path)}
    return [_placed(known[each.link.fact_id], each, text) for each in places if each.link.fact_id in known]


def _placed(fact: StoredFact, now: PlaceNow, text: str) -> PlacedFact:
    if not now.state.is_stale:
        return PlacedFact(fact, now.state, now.span)
    return PlacedFact(fact, now.state, now.span or now.link.span, change_of(now, text))


async def placed_on_disk(facts: FolderFacts, path: str) -> list[PlacedFact]:
    """The facts that depend on the file, by their stored states: the file may have changed since, which another check
    will find."""
    found = await _facts_on(facts, path)
    changes: dict[tuple[FactId, Span | None], LineChange] = {}
    if any(path in fact.stale_sources for fact in found):
        text = await facts.keeper.places.text_on_disk(path)
        placed = [] if text is None else await _in_text(facts, path, text)
        changes = {(each.fact.id, each.span): each.change for each in placed if each.change is not None}
    return [
        PlacedFact(fact, source.state, source.place.span, changes.get((fact.id, source.place.span)))
        for fact in found
        for source in fact.sources
        if source.place.path == path
    ]


async def _facts_on(facts: FolderFacts, path: str) -> list[StoredFact]:
    return await facts.keeper.select(FactFilter(path=path, limit=1_000))


async def stale_documents(ls: PalimpsestServer, session: FolderSession) -> set[str]:
    """The URIs of the folder's open documents, and of its files with a stale fact."""
    found = await session.folder.facts.keeper.select(FactFilter(is_stale=True, limit=1_000))
    stale = {path for fact in found for path in fact.stale_sources}
    open_documents = {
        path: each.uri
        for each in ls.workspace.text_documents.values()
        if (path := path_below(ls, session, each.uri)) is not None
    }
    return set(open_documents.values()) | {file_uri(ls, session, path) for path in stale if path not in open_documents}
