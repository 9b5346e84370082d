"""The Palimpsest server: one connection, its workspace folders, and what it is told of them.

`initialize` is answered with nothing loaded but pygls and the protocol; services, storage and tokenizers are loaded
right after it, on a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from palimpsest.__about__ import __version__
from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.lsp.contributions import Contributions
from palimpsest.lsp.features.chat_documents.documents import OpenChats
from palimpsest.lsp.features.configuration import EditorConfiguration
from palimpsest.lsp.features.editor_models import OfferedModels
from palimpsest.lsp.features.facts.diagnostics import FactNotes
from palimpsest.lsp.features.recovery import Offers
from palimpsest.lsp.features.tools import Attachments
from palimpsest.lsp.runtime.base import BaseServer
from palimpsest.lsp.runtime.protocol import Phase
from palimpsest.wire.areas.usage import ConversationChangedParams, UsageChangedParams
from palimpsest.wire.messages import PROTOCOL_VERSION

if TYPE_CHECKING:
    from palimpsest.services.events import FolderEvent, Listeners
    from palimpsest.services.folder.folders import Folders
    from palimpsest.services.folder.session import FolderSession

log = logging.getLogger(__name__)

T = TypeVar("T")


class PalimpsestServer(BaseServer):
    """Handlers find the folder a request is about here."""

    def __init__(self, load_folders: Callable[[], Folders], *, owns_folders: bool) -> None:
        """`load_folders` imports and builds the services; it is called once, on a thread. `owns_folders`: whether
        they are closed with this connection."""
        super().__init__("palimpsest", __version__)
        self.experimental = {"palimpsest": {"version": PROTOCOL_VERSION}}
        self.editor_name = ""
        """As the editor introduced itself; empty where it did not."""
        self._load_folders = load_folders
        self._owns_folders = owns_folders
        self._loading: asyncio.Task[Folders] | None = None
        self.configuration = EditorConfiguration(self)
        self.attachments = Attachments(self)
        self.editor_models = OfferedModels(self)
        self.offers = Offers(self)
        self.contributions = Contributions()
        self.fact_notes = FactNotes(self)
        self.chats = OpenChats(self)
        self._told: dict[Path, tuple[str, ...]] = {}
        """What the user of this connection knows about each folder's settings."""
        self._offered: set[ConversationId] = set()
        """Conversations that only search, whose user knows that a model is set up now."""
        self._held: tuple[Path, ...] = ()
        """The folders of which the services know that this connection has them."""
        self._listeners: dict[Path, Listeners] = {}
        """Of the folders that this connection hears of."""
        self._unsubscribe: dict[Path, Callable[[], None]] = {}
        self._changed: dict[tuple[Path, ConversationId], None] = {}
        """What is still to be told of, in its order; so is the next."""
        self._facts_changed: dict[Path, None] = {}
        self._telling: asyncio.Task[None] | None = None

    @property
    def is_leaving(self) -> bool:
        """Whether the connection is ending, as against one request being cancelled."""
        return self.exit_code is not None or self.protocol.phase is Phase.SHUT_DOWN

    def start_loading(self) -> asyncio.Task[Folders]:
        known = self._loading
        if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
            # What was in the way of the last time may be gone, such as a lack of file handles.
            self._loading = known = asyncio.create_task(asyncio.to_thread(self._load_folders))
        return known

    async def folders(self) -> Folders:
        """The services, when they have heard what the editor said first."""
        await self.configuration.settled()
        folders = await asyncio.shield(self.start_loading())
        self.editor_models.tell(folders)
        self.hold_folders(folders)
        return folders

    def hold_folders(self, folders: Folders) -> None:
        """Holds the folders that are open in the editor, and leaves those that are not any more."""
        try:
            own = self.roots()
        except InvalidRequest:
            own = []
        roots = tuple(dict.fromkeys((*own, *self.chats.roots())))
        for root in roots:
            if root not in self._held:
                folders.hold(root, self)
        left, self._held = [root for root in self._held if root not in roots], roots
        for root in left:
            self._told.pop(root, None)
            self.offers.forget(root)
            self._detach(root)
            self._facts_changed.pop(root, None)
            self._changed = {each: None for each in self._changed if each[0] != root}
            folders.leave(root, self)

    def folders_changed(self) -> None:
        """The editor has opened or closed folders, or a document that holds one."""
        loading = self._loading
        if loading is not None and loading.done() and not (loading.cancelled() or loading.exception()):
            self.hold_folders(loading.result())

    def roots(self) -> list[Path]:
        """The resolved workspace folders, in the editor's order. Raises InvalidRequest when none is open."""
        return list(self.folder_uris())

    def folder_uris(self) -> dict[Path, str]:
        """As `roots`, each with the URI the editor knows it by."""
        uris = [folder.uri for folder in self.workspace.folders.values()]
        found = {path: uri for uri in uris if (path := self.resolve(uri)) is not None}
        if not found:
            raise InvalidRequest("No folder is open. Open one: Palimpsest keeps its conversations by workspace folder.")
        return found

    @staticmethod
    def resolve(uri: str) -> Path | None:
        """The folder a URI names, links resolved; None when it names no file."""
        path = to_fs_path(uri)
        return None if path is None else Path(path).resolve()

    async def session(self, folder_uri: str | None) -> FolderSession:
        """The session of the workspace folder that holds `folder_uri` (the longest wins), or of the first folder."""
        folders = await self.folders()  # first: a folder that is closed meanwhile would be opened for nobody
        roots = self.roots()
        root = roots[0]
        if folder_uri is not None:
            wanted = self.resolve(folder_uri)
            holding = [each for each in roots if wanted is not None and wanted.is_relative_to(each)]
            if not holding:
                raise InvalidRequest(f"{folder_uri} is not in an open workspace folder. Open its folder first.")
            root = max(holding, key=lambda each: len(each.parts))
        return self._followed(await folders.get(root))

    async def session_of(self, conversation_id: str) -> FolderSession:
        """The session that holds the conversation. Raises NotFound."""
        folders = await self.folders()
        return self._followed(await folders.with_conversation(self.roots(), ConversationId(conversation_id)))

    async def session_of_turn(self, turn_id: str) -> FolderSession:
        """The session that holds the turn. Raises NotFound."""
        folders = await self.folders()
        return self._followed(await folders.with_turn(self.roots(), TurnId(turn_id)))

    def _followed(self, session: FolderSession) -> FolderSession:
        """From the first use on, this connection hears of what happens in the folder."""
        root, listeners = session.folder.root, session.folder.listeners
        if root not in self._held:
            return session  # it was left while it was being opened
        self.tell_notes(session)
        self.offers.make(session)
        if self._listeners.get(root) is not listeners:
            self._detach(root)  # from what was open before
            self._listeners[root] = listeners
            self._unsubscribe[root] = listeners.add(lambda event: self._hear(session, event))
        self.attachments.attach(session)
        return session

    def _detach(self, root: Path) -> None:
        """From what is open of a folder."""
        self.attachments.detach(root)
        self.chats.detach(root)
        self._listeners.pop(root, None)
        if (unsubscribe := self._unsubscribe.pop(root, None)) is not None:
            unsubscribe()

    async def tell_of_search(self, session: FolderSession, turn_id: TurnId) -> None:
        """Says once a conversation that no model answers, and what to do about it in this editor."""
        from palimpsest.services.models.offline_notice import next_step, notice_of, offer_of

        notice = await offer_of(session.folder.store, turn_id, session.contexts.models)
        if notice is None:
            notice = await notice_of(session.folder.store, turn_id, next_step(self.editor_name))
        elif (conversation_id := (await session.conversations.outcome(turn_id)).turn.conversation_id) in self._offered:
            return
        else:
            self._offered.add(conversation_id)
        if notice is not None:
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, notice))

    @property
    def hears_changes(self) -> bool:
        """Whether the editor takes notifications of ours. To one that has not said so each is an unknown message,
        and some show a warning for every one."""
        experimental = self.client_capabilities.experimental
        ours = experimental.get("palimpsest") if isinstance(experimental, dict) else None
        return isinstance(ours, dict) and ours.get("notifications") is True

    def tell_notes(self, session: FolderSession) -> None:
        """Tells the user what is to be known about the folder's settings, each thing once as long as it is so: what is
        so of several folders, such as a misspelt variable, once for all of them."""
        told = {note for notes in self._told.values() for note in notes}
        self._told[session.folder.root] = session.notes
        for note in session.notes:
            if note not in told:
                self.warn(note)

    def doubt_model(self, session: FolderSession, name: str) -> None:
        """Tells the user that a model's name looks like a slip; it counts all the same."""
        if (doubt := session.contexts.models.doubt(name)) is not None:
            self.warn(doubt)

    def warn(self, sentence: str) -> None:
        """Shows the user something that did not fail and may not be as they want it."""
        self.window_show_message(lsp.ShowMessageParams(type=lsp.MessageType.Warning, message=sentence))

    def _hear(self, session: FolderSession, event: FolderEvent) -> None:
        from palimpsest.lsp.to_wire import to_context_event
        from palimpsest.services.events import ContextEvent, ContextEventType, FactsChanged

        if isinstance(event, FactsChanged):
            self.fact_notes.facts_changed(session)
        if not self.hears_changes:
            return
        if isinstance(event, ContextEvent):
            self.protocol.notify("palimpsest/contextEvent", to_context_event(event))
            if event.type is not ContextEventType.RECUT:
                return
        if isinstance(event, FactsChanged):
            self._facts_changed[session.folder.root] = None
        else:
            self._changed[session.folder.root, event.conversation_id] = None
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_changes())

    async def _tell_changes(self) -> None:
        """Tells of changed facts and conversations, each once however often it changed meanwhile."""
        from palimpsest.lsp.features.facts.requests import changed_params
        from palimpsest.lsp.to_wire import to_usage
        from palimpsest.services.context.reports import usage_status

        folders = await self.folders()
        while (self._facts_changed or self._changed) and not self.is_leaving:
            if self._facts_changed:
                session = await folders.get(_first(self._facts_changed))
                self.protocol.notify("palimpsest/didChangeFacts", await changed_params(self, session))
                continue
            root, conversation_id = _first(self._changed)
            try:
                session = await folders.get(root)
                report = await usage_status(session.contexts, conversation_id)
                seq = (await session.contexts.state(conversation_id)).record.change_seq
            except PalimpsestError as error:
                log.warning("a change could not be told: %s", error.kind)
                continue
            self.protocol.notify("palimpsest/didChangeConversation", ConversationChangedParams(conversation_id, seq))
            self.protocol.notify("palimpsest/didChangeUsage", UsageChangedParams(conversation_id, to_usage(report)))

    async def on_stop(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
        await self.configuration.stop()
        self.attachments.end()
        self.editor_models.end()
        self.offers.end()
        await self.fact_notes.stop()
        await self.chats.stop()
        for unsubscribe in self._unsubscribe.values():
            unsubscribe()
        if self._loading is None:
            return
        try:
            folders = await self._loading
        except PalimpsestError:
            return  # there is nothing to close, and every request was told why
        if self._owns_folders:
            await folders.close()
        else:
            for root in self._held:
                folders.leave(root, self)


def _first(waiting: dict[T, None]) -> T:
    """The one that has waited longest; it waits no more."""
    found = next(iter(waiting))
    del waiting[found]
    return found


def build_server(load_folders: Callable[[], Folders], *, owns_folders: bool) -> PalimpsestServer:
    """A server with every handler registered."""
    from palimpsest.lsp import contributions
    from palimpsest.lsp.features import (
        adoption,
        attachments,
        chat,
        commands,
        configuration,
        confirmed_commands,
        context,
        conversations,
        credentials,
        editor_models,
        history,
        models,
        recovery,
        search,
        tools,
    )
    from palimpsest.lsp.features import purge as purging
    from palimpsest.lsp.features import rules as ledger
    from palimpsest.lsp.features import transfer as transfers
    from palimpsest.lsp.features.chat_documents import documents as chat_documents
    from palimpsest.lsp.features.facts import actions as fact_actions
    from palimpsest.lsp.features.facts import diagnostics as fact_diagnostics
    from palimpsest.lsp.features.facts import requests as facts

    server = PalimpsestServer(load_folders, owns_folders=owns_folders)

    areas = (
        configuration,
        adoption,
        attachments,
        chat,
        chat_documents,
        commands,
        confirmed_commands,
        context,
        contributions,
        conversations,
        credentials,
        editor_models,
        fact_actions,
        fact_diagnostics,
        facts,
        history,
        ledger,
        models,
        purging,
        recovery,
        search,
        tools,
        transfers,
    )
    for area in areas:
        area.register(server)
    return server
