"""The workspace folders of one connection, and the session that a request is about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from pygls.uris import to_fs_path

from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.lsp.features import load as load_features
from palimpsest.lsp.features.feature import Feature
from palimpsest.lsp.runtime.base import BaseServer
from palimpsest.machine.imports import fast_imports

if TYPE_CHECKING:
    from palimpsest.domain.messages import ConversationId, TurnId
    from palimpsest.services.events import FolderEvent, Listeners
    from palimpsest.services.folder.folders import Folders
    from palimpsest.services.folder.session import FolderSession

F = TypeVar("F", bound=Feature)


class WorkspaceServer(BaseServer):
    """The part of a connection that concerns folders: it loads the services, holds and leaves folders, finds sessions,
    and calls the hooks of the connection's parts."""

    def __init__(self, name: str, version: str, load_folders: Callable[[], Folders], *, owns_folders: bool) -> None:
        """`load_folders` imports and builds the services; it is called once, on a thread. `owns_folders`: whether the
        services are closed with this connection."""
        super().__init__(name, version)
        self._load_folders = load_folders
        self._owns_folders = owns_folders
        self._loading: asyncio.Task[Folders] | None = None
        self.features: tuple[Feature, ...] = ()
        """The parts of the connection, in the order in which their hooks are called."""
        self._held: tuple[Path, ...] = ()
        """The folders that the services hold for this connection."""
        self._listeners: dict[Path, Listeners] = {}
        """The listeners of each folder whose events this connection receives."""
        self._unsubscribe: dict[Path, Callable[[], None]] = {}

    # --------------------------------------------------------------------------------------------------------- parts

    def part(self, kind: type[F]) -> F:
        """The part of this class. Raises LookupError."""
        for each in self.features:
            if isinstance(each, kind):
                return each
        raise LookupError(kind.__name__)

    # ------------------------------------------------------------------------------------------------------ services

    def start_loading(self) -> asyncio.Task[Folders]:
        known = self._loading
        if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
            # The reason of the last failure, such as a lack of file handles, may be gone.
            self._loading = known = asyncio.create_task(asyncio.to_thread(self._load))
        return known

    def _load(self) -> Folders:
        with fast_imports("features"):
            self.protocol.load_messages()  # first: the next message may need them
            load_features()  # then these: objects that exist when the services are built are exempt from collection
        return self._load_folders()

    async def folders(self) -> Folders:
        """The services, once they have received the editor's settings and trust."""
        for each in self.features:
            await each.settled()
        folders = await asyncio.shield(self.start_loading())
        for each in self.features:
            each.on_folders(folders)
        self.hold_folders(folders)
        return folders

    # ------------------------------------------------------------------------------------------------------- folders

    def hold_folders(self, folders: Folders) -> None:
        """Holds the folders that are open in the editor, and leaves all others."""
        try:
            own = self.roots()
        except InvalidRequest:
            own = []
        roots = tuple(dict.fromkeys(chain(own, *(each.roots() for each in self.features))))
        for root in roots:
            if root not in self._held:
                folders.hold(root, self)
        left, self._held = [root for root in self._held if root not in roots], roots
        for root in left:
            for each in self.features:
                each.on_left(root)
            self._unlisten(root)
            folders.leave(root, self)

    def holds(self, root: Path) -> bool:
        """Whether the services hold the resolved folder for this connection."""
        return root in self._held

    def folders_changed(self) -> None:
        """Call it when the editor has opened or closed a folder, or a document that holds one."""
        loading = self._loading
        if loading is not None and loading.done() and not (loading.cancelled() or loading.exception()):
            self.hold_folders(loading.result())

    def roots(self) -> list[Path]:
        """The resolved workspace folders, in the editor's order. Raises InvalidRequest when none is open."""
        return list(self.folder_uris())

    def folder_uris(self) -> dict[Path, str]:
        """Like `roots`, each with the editor's URI."""
        uris = [folder.uri for folder in self.workspace.folders.values()]
        found = {path: uri for uri in uris if (path := self.resolve(uri)) is not None}
        if not found:
            raise InvalidRequest("No folder is open. Open one: Palimpsest keeps its conversations by workspace folder.")
        return found

    def root_of(self, path: Path) -> Path | None:
        """The workspace folder that contains the resolved path, the longest of several; None when none does."""
        try:
            holding = [root for root in self.roots() if path.is_relative_to(root)]
        except InvalidRequest:
            return None
        return max(holding, key=lambda each: len(each.parts), default=None)

    @staticmethod
    def resolve(uri: str) -> Path | None:
        """The path of a URI, links resolved; None when it names no file."""
        path = to_fs_path(uri)
        return None if path is None else Path(path).resolve()

    # ------------------------------------------------------------------------------------------------------ sessions

    async def session(self, folder_uri: str | None) -> FolderSession:
        """The session of the longest workspace folder that contains `folder_uri`, or of the first folder when it is
        None."""
        folders = await self.folders()  # first: a folder that the editor closes meanwhile would be opened for nothing
        root: Path | None = self.roots()[0]
        if folder_uri is not None:
            wanted = self.resolve(folder_uri)
            root = None if wanted is None else self.root_of(wanted)
        if root is None:
            raise InvalidRequest(f"{folder_uri} is not in an open workspace folder. Open its folder first.")
        return self._followed(await folders.get(root))

    async def session_of(self, conversation_id: str) -> FolderSession:
        """The session that holds the conversation. Raises NotFound."""
        folders = await self.folders()
        return self._followed(await folders.with_conversation(self.roots(), cast("ConversationId", conversation_id)))

    async def session_of_turn(self, turn_id: str) -> FolderSession:
        """The session that holds the turn. Raises NotFound."""
        folders = await self.folders()
        return self._followed(await folders.with_turn(self.roots(), cast("TurnId", turn_id)))

    def _followed(self, session: FolderSession) -> FolderSession:
        """Subscribes this connection to the events of the folder, at its first use."""
        root, listeners = session.folder.root, session.folder.listeners
        if root not in self._held:
            return session  # the editor closed it while it was being opened
        for each in self.features:
            each.on_session(session)
        if self._listeners.get(root) is not listeners:
            self._unlisten(root)  # the folder was opened anew: these are the listeners of the old one
            self._listeners[root] = listeners
            self._unsubscribe[root] = listeners.add(lambda event: self._hear(session, event))
        return session

    def _unlisten(self, root: Path) -> None:
        self._listeners.pop(root, None)
        if (unsubscribe := self._unsubscribe.pop(root, None)) is not None:
            unsubscribe()

    def _hear(self, session: FolderSession, event: FolderEvent) -> None:
        from palimpsest.services.events import (
            ContextEvent,
            FactsChanged,
            HubChanged,
            McpChanged,
            MovedApart,
            PresenceChanged,
        )

        for each in self.features:
            if isinstance(event, ContextEvent):
                each.on_context_event(session, event)
            if isinstance(event, MovedApart):
                each.on_moved_apart(session, event)
            if isinstance(event, HubChanged):
                each.on_hub_changed(session)
            if isinstance(event, McpChanged):
                each.on_mcp_changed(session)
            if isinstance(event, PresenceChanged):
                each.on_presence_changed(session, event.conversation_id)
            if isinstance(event, FactsChanged):
                each.on_facts_changed(session)
            if event.changed_conversation is not None:
                each.on_conversation_changed(session, event.changed_conversation)

    # -------------------------------------------------------------------------------------------------------- ending

    async def on_stop(self) -> None:
        for each in reversed(self.features):
            await each.on_stop()
        for unsubscribe in self._unsubscribe.values():
            unsubscribe()
        if self._loading is None:
            return
        try:
            folders = await self._loading
        except PalimpsestError:
            return  # there is nothing to close, and every request got this error
        if self._owns_folders:
            await folders.close()
        else:
            for root in self._held:
                folders.leave(root, self)
