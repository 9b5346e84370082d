"""LSP features with several contributors, whose parts are joined into one answer.

Each contributor sees every document, and returns nothing for documents that are not its own.
"""

from __future__ import annotations

import hashlib
from typing import Any

from lsprotocol import types as lsp

from palimpsest.lsp.features import code
from palimpsest.lsp.features.chat_documents import shown
from palimpsest.lsp.features.facts import actions as fact_actions
from palimpsest.lsp.features.facts import diagnostics as fact_diagnostics
from palimpsest.lsp.places import kept_sessions
from palimpsest.lsp.runtime.documents import open_document
from palimpsest.lsp.server import PalimpsestServer


async def code_actions(ls: PalimpsestServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The actions of the kinds that the editor requests. An action's own kind is its command: some editors carry out
    all quick fixes at once, so only harmless actions are quick fixes."""
    found = [
        *await shown.code_actions(ls, params),
        *await fact_actions.code_actions(ls, params),
        *await code.code_actions(ls, params),
    ]
    only = params.context.only
    return found if only is None else [each for each in found if any(_is_of(each.kind or "", kind) for kind in only)]


def _is_of(kind: str, wanted: str) -> bool:
    """Kinds are hierarchical: `a` contains `a.b`, and the empty kind contains all."""
    return not wanted or kind == wanted or kind.startswith(f"{wanted}.")


async def code_lenses(ls: PalimpsestServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    return [*await shown.code_lenses(ls, params), *await fact_actions.code_lens(ls, params)]


async def hover(ls: PalimpsestServer, params: lsp.HoverParams) -> lsp.Hover | None:
    """The hover of the first contributor that has one."""
    return await shown.hover(ls, params) or await fact_actions.hover(ls, params)


async def diagnostics_of(ls: PalimpsestServer, uri: str) -> list[lsp.Diagnostic]:
    """The diagnostics of one document."""
    return [*await shown.diagnostics(ls, uri), *await fact_diagnostics.diagnostics_of(ls, uri)]


def digest_of(items: list[lsp.Diagnostic]) -> str:
    """A digest that is equal for diagnostics that look the same."""
    said = "\n".join(f"{each.range}{each.message}" for each in items)
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:16]


async def pull(ls: PalimpsestServer, params: lsp.DocumentDiagnosticParams) -> Any:
    items = await diagnostics_of(ls, params.text_document.uri)
    result_id = digest_of(items)
    if params.previous_result_id == result_id:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(result_id)
    return lsp.RelatedFullDocumentDiagnosticReport(items, result_id=result_id)


async def pull_all(ls: PalimpsestServer, params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
    """Every document with a stale fact, and every document that had one at the editor's last request."""
    before = {each.uri: each.value for each in params.previous_result_ids}
    wanted = {uri for session in await kept_sessions(ls) for uri in await fact_diagnostics.stale_documents(ls, session)}
    reports: list[Any] = []
    for uri in sorted(wanted | before.keys()):
        items = await diagnostics_of(ls, uri)
        document, result_id = open_document(ls.workspace, uri), digest_of(items)
        version = None if document is None else document.version
        if before.get(uri) == result_id:
            reports.append(lsp.WorkspaceUnchangedDocumentDiagnosticReport(uri, result_id, version=version))
        elif items or uri in before:
            reports.append(lsp.WorkspaceFullDocumentDiagnosticReport(uri, items, version=version, result_id=result_id))
    return lsp.WorkspaceDiagnosticReport(reports)
