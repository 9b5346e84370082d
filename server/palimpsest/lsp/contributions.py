"""LSP features that several areas have a part in: each area contributes, and the editor gets it as one answer.

A contribution gets to see every document; for one that is none of its business it has nothing to say.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types as lsp

from palimpsest.lsp.errors import answers

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer

T = TypeVar("T")
P = TypeVar("P")
Part = Callable[["PalimpsestServer", P], Awaitable[list[T]]]
Heard = Callable[["PalimpsestServer", P], None]


@dataclass(slots=True)
class Contributions:
    """What the areas of one connection contribute, in the order in which they were registered."""

    code_actions: list[Part[lsp.CodeActionParams, lsp.CodeAction]] = field(default_factory=list)
    code_lenses: list[Part[lsp.CodeLensParams, lsp.CodeLens]] = field(default_factory=list)
    hovers: list[Callable[[PalimpsestServer, lsp.HoverParams], Awaitable[lsp.Hover | None]]] = field(
        default_factory=list
    )
    """The first that has something to say is shown."""
    diagnostics: list[Part[str, lsp.Diagnostic]] = field(default_factory=list)
    """Of a document, by its URI."""
    opened: list[Heard[lsp.DidOpenTextDocumentParams]] = field(default_factory=list)
    changed: list[Heard[lsp.DidChangeTextDocumentParams]] = field(default_factory=list)
    closed: list[Heard[lsp.DidCloseTextDocumentParams]] = field(default_factory=list)

    async def diagnostics_of(self, ls: PalimpsestServer, uri: str) -> list[lsp.Diagnostic]:
        return await _all(self.diagnostics, ls, uri)


def register(server: PalimpsestServer) -> None:
    """The features themselves, once for all areas."""
    kinds = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, "palimpsest"])
    server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, kinds)(_code_actions)
    server.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions(resolve_provider=False))(_code_lenses)
    server.feature(lsp.TEXT_DOCUMENT_HOVER)(_hover)
    server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)(_did_open)
    server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)(_did_change)
    server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)(_did_close)


@answers
async def _code_actions(ls: PalimpsestServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Those of the kinds the editor asks for. A kind of our own is the action's command: some editors carry out all
    quick fixes at once, so only what does no harm is one."""
    found = await _all(ls.contributions.code_actions, ls, params)
    only = params.context.only
    return found if only is None else [each for each in found if any(_is_of(each.kind or "", kind) for kind in only)]


def _is_of(kind: str, wanted: str) -> bool:
    """Kinds are hierarchical: `a` holds `a.b`; the empty one holds all."""
    return not wanted or kind == wanted or kind.startswith(f"{wanted}.")


@answers
async def _code_lenses(ls: PalimpsestServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    return await _all(ls.contributions.code_lenses, ls, params)


@answers
async def _hover(ls: PalimpsestServer, params: lsp.HoverParams) -> lsp.Hover | None:
    for each in ls.contributions.hovers:
        if (found := await each(ls, params)) is not None:
            return found
    return None


async def _all(parts: list[Part[P, T]], ls: PalimpsestServer, params: P) -> list[T]:
    return [each for part in parts for each in await part(ls, params)]


def _did_open(ls: PalimpsestServer, params: lsp.DidOpenTextDocumentParams) -> None:
    for hear in ls.contributions.opened:
        hear(ls, params)


def _did_change(ls: PalimpsestServer, params: lsp.DidChangeTextDocumentParams) -> None:
    for hear in ls.contributions.changed:
        hear(ls, params)


def _did_close(ls: PalimpsestServer, params: lsp.DidCloseTextDocumentParams) -> None:
    for hear in ls.contributions.closed:
        hear(ls, params)
