"""Abilities that the editor of a connection has announced."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer


def announces_edits(ls: PalimpsestServer) -> bool:
    """Whether the editor has announced that it lets us edit documents."""
    workspace = ls.client_capabilities.workspace
    return workspace is not None and bool(workspace.apply_edit)


def can_apply(ls: PalimpsestServer) -> bool:
    """Whether the editor lets us edit documents."""
    return announces_edits(ls) or ls.edits_unannounced is True


def could_apply(ls: PalimpsestServer) -> bool:
    """Whether the editor lets us edit documents, or may be asked to when its user wants it."""
    return announces_edits(ls) or ls.edits_unannounced is not False


def takes_versions(ls: PalimpsestServer) -> bool:
    """Whether an edit may name the version of its document."""
    workspace = ls.client_capabilities.workspace
    return bool(workspace and workspace.workspace_edit and workspace.workspace_edit.document_changes)


def shows_documents(ls: PalimpsestServer) -> bool:
    """Whether the editor opens a document that we name."""
    window = ls.client_capabilities.window
    return bool(window and window.show_document and window.show_document.support)


def pulls_diagnostics(ls: PalimpsestServer) -> bool:
    """Whether the editor pulls diagnostics, and can learn that they have changed without an edit: by a refresh, or by
    our notifications. To any other editor they are pushed."""
    document = ls.client_capabilities.text_document
    return bool(document and document.diagnostic) and (refreshes_diagnostics(ls) or ls.hears_changes)


def refreshes_diagnostics(ls: PalimpsestServer) -> bool:
    """Whether the editor can be asked to pull diagnostics again."""
    workspace = ls.client_capabilities.workspace
    return bool(workspace and workspace.diagnostics and workspace.diagnostics.refresh_support)


def refreshes_lenses(ls: PalimpsestServer) -> bool:
    """Whether the editor can be asked to request code lenses again."""
    workspace = ls.client_capabilities.workspace
    return bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)
