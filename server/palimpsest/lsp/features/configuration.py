"""The editor's notifications about its folders after `initialize`."""

from __future__ import annotations

from lsprotocol import types as lsp

from palimpsest.lsp.features.parts.configuration import EditorConfiguration
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.wire.areas.trust import TrustChangedParams


def did_change_configuration(ls: PalimpsestServer, params: lsp.DidChangeConfigurationParams) -> None:
    ls.part(EditorConfiguration).change_settings(params.settings)


def did_change_workspace_folders(ls: PalimpsestServer, _params: lsp.DidChangeWorkspaceFoldersParams) -> None:
    ls.folders_changed()
    ls.part(EditorConfiguration).tell()


def did_change_trust(ls: PalimpsestServer, params: TrustChangedParams) -> None:
    ls.part(EditorConfiguration).change_trust(params.folder_uri, is_trusted=params.is_trusted)
