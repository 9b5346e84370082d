"""Folders and files as the editor of a connection names them, and the sessions of those that something is kept of."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import quote

from palimpsest.domain.errors import InvalidRequest, PalimpsestError

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.session import FolderSession

log = logging.getLogger(__name__)


def folder_uri(ls: PalimpsestServer, session: FolderSession) -> str:
    """As the editor names the folder."""
    return ls.folder_uris().get(session.folder.root, session.folder.root.as_uri())


def file_uri(ls: PalimpsestServer, session: FolderSession, path: str) -> str:
    """As the editor would name the file."""
    return f"{folder_uri(ls, session).rstrip('/')}/{quote(path)}"


def path_below(ls: PalimpsestServer, session: FolderSession, uri: str) -> str | None:
    """The file below the folder, with `/`; None where it is not in it."""
    path = ls.resolve(uri) if uri.startswith("file:") else None
    if path is None or not path.is_relative_to(session.folder.root):
        return None
    return path.relative_to(session.folder.root).as_posix()


async def session_of_document(ls: PalimpsestServer, uri: str) -> FolderSession | None:
    """The session of the folder that holds the document; None where none does, or nothing was ever kept of it."""
    path = ls.resolve(uri) if uri.startswith("file:") else None
    root = None if path is None else ls.root_of(path)
    if root is None:
        return None
    folders = await ls.folders()
    return await ls.session(root.as_uri()) if await folders.is_known(root) else None


async def kept_sessions(ls: PalimpsestServer) -> list[FolderSession]:
    """Of the open folders of which something is kept. One that cannot be opened is left out."""
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
