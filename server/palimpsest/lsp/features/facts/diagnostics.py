"""The places of facts in documents, and diagnostics of the facts that need attention.

Unsaved text of an editor is compared with the files that facts depend on, and never stored.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from lsprotocol import types as lsp

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.facts.fact import FactFilter, FactState, Span, StoredFact
from palimpsest.domain.facts.text import author_remark
from palimpsest.lsp.features import SOURCE
from palimpsest.lsp.places import file_uri, path_below, session_of_document
from palimpsest.lsp.runtime.documents import open_document
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.facts.folder_facts import FolderFacts
from palimpsest.services.folder.session import FolderSession

log = logging.getLogger(__name__)

CODE: Final = "stale-fact"
_LINE_END: Final = 10_000
"""A character beyond the end of any line, which editors take for that end."""


@dataclass(frozen=True, slots=True)
class PlacedFact:
    """A fact at a place in the current text of one document."""

    fact: StoredFact
    state: FactState
    span: Span | None
    """The lines of the place; None when the fact depends on the whole file, or the place is gone."""

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
    event = "has changed" if placed.state is FactState.CHANGED else "is gone"
    kind = placed.fact.fact.fact_type.value.replace("_", " ")
    return lsp.Diagnostic(
        placed.range,
        f"A fact rests on this place, which {event}. Does it still hold? {kind}: {placed.fact.fact.content}"
        f"{author_remark(placed.fact)}",
        lsp.DiagnosticSeverity.Warning,
        CODE,
        source=SOURCE,
        data={"factIds": [placed.fact.id]},
    )


async def placed_facts(ls: PalimpsestServer, uri: str) -> list[PlacedFact]:
    """The facts that depend on the document, placed in the editor's text, or in the file when it is not open."""
    session = await session_of_document(ls, uri)
    path = None if session is None else path_below(ls, session, uri)
    if session is None or path is None:
        return []
    facts = session.folder.facts
    document = open_document(ls.workspace, uri)
    return await _in_text(facts, path, document.source) if document is not None else await _on_disk(facts, path)


async def _in_text(facts: FolderFacts, path: str, text: str) -> list[PlacedFact]:
    places = await facts.keeper.places.in_text(path, text)
    known = {fact.id: fact for fact in await _facts_on(facts, path)}
    return [
        PlacedFact(known[each.link.fact_id], each.state, each.span or (each.link.span if each.state.is_stale else None))
        for each in places
        if each.link.fact_id in known
    ]


async def _on_disk(facts: FolderFacts, path: str) -> list[PlacedFact]:
    return [
        PlacedFact(fact, source.state, source.place.span)
        for fact in await _facts_on(facts, path)
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
