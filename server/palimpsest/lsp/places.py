"""Folders and files by the names that an editor uses, and the sessions of known folders."""

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
    """The editor's URI of the folder."""
    return ls.folder_uris().get(session.folder.root, session.folder.root.as_uri())


def file_uri(ls: PalimpsestServer, session: FolderSession, path: str) -> str:
    """The editor's URI of a file in the folder."""
    return f"{folder_uri(ls, session).rstrip('/')}/{quote(path)}"


def path_below(ls: PalimpsestServer, session: FolderSession, uri: str) -> str | None:
    """The file's path below the folder, with `/`; None when the file is not in the folder."""
    path = ls.resolve(uri) if uri.startswith("file:") else None
    if path is None or not path.is_relative_to(session.folder.root):
        return None
    return path.relative_to(session.folder.root).as_posix()


async def session_of_document(ls: PalimpsestServer, uri: str) -> FolderSession | None:
    """The session of the folder that contains the document; None when no folder does, or nothing was ever stored for
    it."""
    path = ls.resolve(uri) if uri.startswith("file:") else None
    root = None if path is None else ls.root_of(path)
    if root is None:
        return None
    folders = await ls.folders()
    return await ls.session(root.as_uri()) if await folders.is_known(root) else None


async def kept_sessions(ls: PalimpsestServer) -> list[FolderSession]:
    """The sessions of the open folders that have a store. A folder that cannot be opened is left out."""
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
