"""What the editor of a connection has said that it can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer


def can_apply(ls: PalimpsestServer) -> bool:
    """Whether it lets us edit documents."""
    workspace = ls.client_capabilities.workspace
    return workspace is not None and bool(workspace.apply_edit)


def takes_versions(ls: PalimpsestServer) -> bool:
    """Whether an edit may name the version of the document that it is for."""
    workspace = ls.client_capabilities.workspace
    return bool(workspace and workspace.workspace_edit and workspace.workspace_edit.document_changes)


def refreshes_diagnostics(ls: PalimpsestServer) -> bool:
    """Whether it can be told to pull diagnostics again."""
    workspace = ls.client_capabilities.workspace
    return bool(workspace and workspace.diagnostics and workspace.diagnostics.refresh_support)


def refreshes_lenses(ls: PalimpsestServer) -> bool:
    """Whether it can be told to ask for code lenses again."""
    workspace = ls.client_capabilities.workspace
    return bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)
