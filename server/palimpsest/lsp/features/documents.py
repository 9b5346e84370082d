"""The editor's notifications about documents and files, passed to the parts that need them."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types as lsp

from palimpsest.lsp.features.parts.attachments import Attachments
from palimpsest.lsp.features.parts.fact_notes import FactNotes
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.places import kept_sessions, path_below
from palimpsest.lsp.server import PalimpsestServer


def did_open(ls: PalimpsestServer, params: lsp.DidOpenTextDocumentParams) -> None:
    ls.part(OpenChats).opened(params.text_document.uri)
    _told(ls, params.text_document.uri)


def did_change(ls: PalimpsestServer, params: lsp.DidChangeTextDocumentParams) -> None:
    ls.part(OpenChats).changed(params)
    _told(ls, params.text_document.uri)


def did_close(ls: PalimpsestServer, params: lsp.DidCloseTextDocumentParams) -> None:
    ls.part(OpenChats).closed(params.text_document.uri)
    _told(ls, params.text_document.uri)


def _told(ls: PalimpsestServer, uri: str) -> None:
    ls.part(FactNotes).touch(uri)
    ls.part(Attachments).touch()


async def did_save(ls: PalimpsestServer, params: lsp.DidSaveTextDocumentParams) -> None:
    await _touch(ls, [params.text_document.uri])


async def did_change_watched_files(ls: PalimpsestServer, params: lsp.DidChangeWatchedFilesParams) -> None:
    await _touch(ls, [each.uri for each in params.changes])


async def did_rename_files(ls: PalimpsestServer, params: lsp.RenameFilesParams) -> None:
    await _touch(ls, [each.old_uri for each in params.files])


async def _touch(ls: PalimpsestServer, uris: Sequence[str]) -> None:
    """Reports files that may have changed on disk."""
    for session in await kept_sessions(ls):
        paths = (path_below(ls, session, uri) for uri in uris)
        session.folder.facts.watcher.touch(path for path in paths if path is not None)
