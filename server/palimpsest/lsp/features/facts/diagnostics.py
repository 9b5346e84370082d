"""Facts that need a look, as plain LSP: diagnostics (pushed and pulled), hover, code lens, code actions, a document.

What an editor holds unsaved is compared with what facts rest on and stored nowhere. Editors that can pull are told to
pull again; to the others what has changed is pushed, document by document.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types as lsp

from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.domain.facts.fact import FactState, Span, StoredFact
from palimpsest.lsp.errors import answers
from palimpsest.lsp.features.facts.requests import file_uri, path_below
from palimpsest.lsp.runtime.documents import open_document

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.facts.keeper import FactKeeping
    from palimpsest.services.folder.session import FolderSession

log = logging.getLogger(__name__)

SOURCE: Final = "palimpsest"
CODE: Final = "stale-fact"
_DEBOUNCE_S: Final = 0.15
"""From the last key to the look, for editors that are pushed to."""
_LINE_END: Final = 10_000
"""A character behind the end of any line, which editors take for its end."""


@dataclass(frozen=True, slots=True)
class PlacedFact:
    """A fact at a place of one document, as the document is now."""

    fact: StoredFact
    state: FactState
    span: Span | None
    """None: the whole file, or it is gone."""

    @property
    def line(self) -> int:
        """Counted from 0."""
        return 0 if self.span is None else self.span.start - 1

    @property
    def range(self) -> lsp.Range:
        """The place's first line: a fact may rest on hundreds."""
        return lsp.Range(lsp.Position(self.line, 0), lsp.Position(self.line, _LINE_END))

    def covers(self, line: int) -> bool:
        return self.span is not None and self.span.start - 1 <= line < self.span.end


def register(server: PalimpsestServer) -> None:
    options = lsp.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=True, identifier=SOURCE)
    server.feature(lsp.TEXT_DOCUMENT_DIAGNOSTIC, options)(pull)
    server.feature(lsp.WORKSPACE_DIAGNOSTIC)(pull_all)
    server.contributions.diagnostics.append(diagnostics_of)
    server.contributions.opened.append(did_open)
    server.contributions.changed.append(did_change)
    server.contributions.closed.append(did_close)
    server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)(did_save)
    server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)(did_change_watched_files)
    server.feature(lsp.WORKSPACE_DID_RENAME_FILES, _any_file())(did_rename_files)


def _any_file() -> lsp.FileOperationRegistrationOptions:
    return lsp.FileOperationRegistrationOptions([lsp.FileOperationFilter(lsp.FileOperationPattern("**"), "file")])


@answers
async def pull(ls: PalimpsestServer, params: lsp.DocumentDiagnosticParams) -> Any:
    items = await ls.contributions.diagnostics_of(ls, params.text_document.uri)
    result_id = _digest(items)
    if params.previous_result_id == result_id:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(result_id)
    return lsp.RelatedFullDocumentDiagnosticReport(items, result_id=result_id)


@answers
async def pull_all(ls: PalimpsestServer, params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
    """Every document with a stale fact, and those that were told of before and have none any more."""
    before = {each.uri: each.value for each in params.previous_result_ids}
    wanted = {uri for session in await _sessions(ls) for uri in await _stale_documents(ls, session)}
    reports: list[Any] = []
    for uri in sorted(wanted | before.keys()):
        items = await ls.contributions.diagnostics_of(ls, uri)
        document, result_id = open_document(ls.workspace, uri), _digest(items)
        version = None if document is None else document.version
        if before.get(uri) == result_id:
            reports.append(lsp.WorkspaceUnchangedDocumentDiagnosticReport(uri, result_id, version=version))
        elif items or uri in before:
            reports.append(lsp.WorkspaceFullDocumentDiagnosticReport(uri, items, version=version, result_id=result_id))
    return lsp.WorkspaceDiagnosticReport(reports)


def did_open(ls: PalimpsestServer, params: lsp.DidOpenTextDocumentParams) -> None:
    ls.fact_notes.touch(params.text_document.uri)


def did_change(ls: PalimpsestServer, params: lsp.DidChangeTextDocumentParams) -> None:
    ls.fact_notes.touch(params.text_document.uri)


def did_close(ls: PalimpsestServer, params: lsp.DidCloseTextDocumentParams) -> None:
    ls.fact_notes.touch(params.text_document.uri)


async def did_save(ls: PalimpsestServer, params: lsp.DidSaveTextDocumentParams) -> None:
    await _touch(ls, [params.text_document.uri])


async def did_change_watched_files(ls: PalimpsestServer, params: lsp.DidChangeWatchedFilesParams) -> None:
    await _touch(ls, [each.uri for each in params.changes])


async def did_rename_files(ls: PalimpsestServer, params: lsp.RenameFilesParams) -> None:
    await _touch(ls, [each.old_uri for each in params.files])


async def _touch(ls: PalimpsestServer, uris: list[str]) -> None:
    """An editor says that these files may have changed on disk."""
    for session in await _sessions(ls):
        paths = (path_below(ls, session, uri) for uri in uris)
        session.folder.facts.watcher.touch(path for path in paths if path is not None)


async def diagnostics_of(ls: PalimpsestServer, uri: str) -> list[lsp.Diagnostic]:
    """Of one document, by line."""
    try:
        placed = await placed_facts(ls, uri)
    except PalimpsestError as error:
        log.info("no facts for a document: %s", error.kind)
        return []
    stale = [each for each in placed if each.state.is_stale]
    return [_to_diagnostic(each) for each in sorted(stale, key=lambda each: (each.line, each.fact.id))]


def _to_diagnostic(placed: PlacedFact) -> lsp.Diagnostic:
    what = "changed" if placed.state is FactState.CHANGED else "is gone"
    kind = placed.fact.fact.fact_type.value.replace("_", " ")
    return lsp.Diagnostic(
        placed.range,
        f"A fact rests on what stood here, and it {what}. Does it still hold? {kind}: {placed.fact.fact.content}",
        lsp.DiagnosticSeverity.Warning,
        CODE,
        source=SOURCE,
        data={"factIds": [placed.fact.id]},
    )


async def placed_facts(ls: PalimpsestServer, uri: str) -> list[PlacedFact]:
    """The facts that rest on the document, where they stand in what the editor holds, or on disk where it holds
    nothing."""
    session = await session_of_document(ls, uri)
    path = None if session is None else path_below(ls, session, uri)
    if session is None or path is None:
        return []
    keeping = session.folder.facts
    document = open_document(ls.workspace, uri)
    return await _in_text(keeping, path, document.source) if document is not None else await _on_disk(keeping, path)


async def _in_text(keeping: FactKeeping, path: str, text: str) -> list[PlacedFact]:
    places = await keeping.librarian.places.in_text(path, text)
    known = {fact.id: fact for fact in await _facts_on(keeping, path)}
    return [
        PlacedFact(known[each.link.fact_id], each.state, each.span or (each.link.span if each.state.is_stale else None))
        for each in places
        if each.link.fact_id in known
    ]


async def _on_disk(keeping: FactKeeping, path: str) -> list[PlacedFact]:
    return [
        PlacedFact(fact, source.state, source.place.span)
        for fact in await _facts_on(keeping, path)
        for source in fact.sources
        if source.place.path == path
    ]


async def _facts_on(keeping: FactKeeping, path: str) -> list[StoredFact]:
    from palimpsest.domain.facts.fact import Wanted

    return await keeping.librarian.select(Wanted(path=path, limit=1_000))


async def session_of_document(ls: PalimpsestServer, uri: str) -> FolderSession | None:
    """The session of the folder that holds the document; None where none does, or nothing was ever kept of it."""
    path = ls.resolve(uri) if uri.startswith("file:") else None
    try:
        holding = [root for root in ls.roots() if path is not None and path.is_relative_to(root)]
    except InvalidRequest:
        return None
    if not holding:
        return None
    root = max(holding, key=lambda each: len(each.parts))
    folders = await ls.folders()
    return await ls.session(root.as_uri()) if await folders.is_known(root) else None


async def _sessions(ls: PalimpsestServer) -> list[FolderSession]:
    """Of the open folders of which something is kept."""
    try:
        roots = ls.roots()
    except InvalidRequest:
        return []
    folders = await ls.folders()
    found = []
    for root in roots:
        try:
            if await folders.is_known(root):
                found.append(await ls.session(root.as_uri()))
        except PalimpsestError as error:
            log.info("a folder could not be opened: %s", error.kind)
    return found


async def _stale_documents(ls: PalimpsestServer, session: FolderSession) -> set[str]:
    from palimpsest.domain.facts.fact import Wanted

    found = await session.folder.facts.librarian.select(Wanted(is_stale=True, limit=1_000))
    stale = {path for fact in found for path in fact.stale_sources}
    open_documents = {
        path: each.uri
        for each in ls.workspace.text_documents.values()
        if (path := path_below(ls, session, each.uri)) is not None
    }
    return set(open_documents.values()) | {file_uri(ls, session, path) for path in stale if path not in open_documents}


def _digest(items: list[lsp.Diagnostic]) -> str:
    said = "\n".join(f"{each.range}{each.message}" for each in items)
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:16]


class FactNotes:
    """What one connection's editor was told of stale facts, and telling it what is new."""

    def __init__(self, server: PalimpsestServer) -> None:
        self._server = server
        self._told: dict[str, str] = {}
        """By document, what was pushed last."""
        self._touched: set[str] = set()
        self._pushing: asyncio.Task[None] | None = None
        self._is_stopped = False

    @property
    def can_pull(self) -> bool:
        document = self._server.client_capabilities.text_document
        return document is not None and document.diagnostic is not None

    def touch(self, uri: str) -> None:
        """The document may show other places now."""
        if not self.can_pull and uri.startswith("file:"):
            self._touched.add(uri)
            self._wake(_DEBOUNCE_S)

    def facts_changed(self, session: FolderSession) -> None:
        """Facts of a folder, or the condition of their places on disk, have changed."""
        if self._is_stopped:
            return
        if not self.can_pull:
            documents = self._server.workspace.text_documents.values()
            self._touched |= self._told.keys() | {each.uri for each in documents}
            self._touched.add(session.folder.root.as_uri())
            self._wake(0)
        elif _refreshes(self._server):
            self._server.workspace_diagnostic_refresh(None)
        if _refreshes_lenses(self._server):
            self._server.workspace_code_lens_refresh(None)

    def _wake(self, delay_s: float) -> None:
        if self._pushing is None or self._pushing.done():
            self._pushing = asyncio.create_task(self._push(delay_s))

    async def _push(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        while self._touched and not self._is_stopped:
            touched, self._touched = self._touched, set()
            for session in await _sessions(self._server):
                if session.folder.root.as_uri() in touched:
                    touched |= await _stale_documents(self._server, session)
            for uri in sorted(touched):
                items = await self._server.contributions.diagnostics_of(self._server, uri)
                digest = _digest(items)
                if digest == self._told.get(uri, _digest([])) or self._is_stopped:
                    continue
                self._told[uri] = digest
                document = open_document(self._server.workspace, uri)
                version = None if document is None else document.version
                self._server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, items, version))

    async def stop(self) -> None:
        self._is_stopped = True
        if self._pushing is not None:
            self._pushing.cancel()
            await asyncio.gather(self._pushing, return_exceptions=True)


def _refreshes(server: PalimpsestServer) -> bool:
    workspace = server.client_capabilities.workspace
    return bool(workspace and workspace.diagnostics and workspace.diagnostics.refresh_support)


def _refreshes_lenses(server: PalimpsestServer) -> bool:
    workspace = server.client_capabilities.workspace
    return bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)
