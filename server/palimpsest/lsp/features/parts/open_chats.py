"""The chat documents that the editor of one connection has open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from lsprotocol import types as lsp

from palimpsest.domain.errors import InvalidRequest, NotFound, PalimpsestError
from palimpsest.lsp.abilities import announces_edits, refreshes_diagnostics, refreshes_lenses
from palimpsest.lsp.features.chat_documents.names import BEGIN, OPEN, SUFFIX
from palimpsest.lsp.features.feature import Feature
from palimpsest.lsp.features.parts.fact_notes import FactNotes
from palimpsest.lsp.questions import CannotAsk, ask_user
from palimpsest.lsp.runtime.documents import open_document

if TYPE_CHECKING:
    from palimpsest.domain.messages import ConversationId
    from palimpsest.lsp.features.chat_documents.open_chat import OpenChat
    from palimpsest.lsp.features.chat_documents.remains import Remains
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.events import FolderEvent
    from palimpsest.services.folder.session import FolderSession, OpenFolder

log = logging.getLogger(__name__)

_HEAD: Final = "<!-- palimpsest-chat "
_ASK: Final = "Begin a conversation in {name}?"
_ASK_ANYWAY: Final = (
    "{name} looks like a chat document, but it belongs to no conversation of yours: it may have come with the folder. "
    "Begin a new conversation in it? The text above its input will be replaced."
)


@dataclass(frozen=True, slots=True)
class _Heard:
    """A folder whose events the open chats receive."""

    folder: OpenFolder
    unsubscribe: Callable[[], None]


class OpenChats(Feature):
    """The chat documents that one connection's editor has open."""

    def __init__(self, server: PalimpsestServer) -> None:
        super().__init__(server)
        self.chats: dict[str, OpenChat] = {}
        """The open chats by unquoted URI, because editors quote the same URI in several ways."""
        self.opening: dict[str, asyncio.Task[None]] = {}
        self._heard: dict[Path, _Heard] = {}
        """The folders of open chats. Events are received while a folder is held, even when it has left the workspace
        and no request uses its session."""
        self.closing: dict[asyncio.Task[None], None] = {}
        self._left: dict[str, OpenChat] = {}
        """Chats that were closed while a message was being sent or an edit was under way."""
        self._remains: dict[tuple[str, ConversationId], Remains] = {}
        """The remains of closed documents, by URI and conversation."""
        self._asking: dict[Path, asyncio.Task[None]] = {}
        """Questions to the user whether to begin a conversation in a document, one a document. Nothing waits for the
        answer."""
        self._moving: dict[asyncio.Task[None], None] = {}

    async def find(self, uri: str) -> OpenChat | None:
        """The chat in this document, once it is opened; None for any other document."""
        key = unquote(uri)
        if (opening := self.opening.get(key)) is not None:
            await asyncio.wait({opening})
        return self.chats.get(key)

    async def get(self, uri: str | None) -> OpenChat:
        """Like `find`; without a URI, the only chat. Raises NotFound."""
        if uri is None and len(self.chats) == 1:
            return next(iter(self.chats.values()))
        found = None if uri is None else await self.find(uri)
        if found is None:
            raise NotFound(f"That is not an open chat document of a conversation. {OPEN} creates one.")
        return found

    def opened(self, uri: str) -> None:
        if uri.endswith(SUFFIX):
            task = self.opening[unquote(uri)] = asyncio.create_task(self._open(uri))
            task.add_done_callback(lambda done: self._opened(unquote(uri), done))

    def _opened(self, key: str, done: asyncio.Task[None]) -> None:
        if self.opening.get(key) is done:  # it may have been closed and opened again
            del self.opening[key]

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        key = unquote(params.text_document.uri)
        if (chat := self.chats.get(key)) is not None:
            chat.document.hear(params)
        elif (left := self._left.get(key)) is not None:
            left.document.reported_again.set()

    def roots(self) -> set[Path]:
        """The folders of open chats, some of which may have left the workspace."""
        return {chat.root for chat in self.chats.values()}

    def on_session(self, session: FolderSession) -> None:
        """Moves the subscription to a folder that was opened anew."""
        heard = self._heard.get(session.folder.root)
        if heard is not None and heard.folder is not session.folder:
            self.on_left(session.folder.root)
            self._hear(session.folder)

    def on_left(self, root: Path) -> None:
        """The editor has closed the folder, and no chat of it is open."""
        if (heard := self._heard.pop(root, None)) is not None:
            heard.unsubscribe()

    def closed(self, uri: str) -> None:
        if (opening := self.opening.get(unquote(uri))) is not None:
            opening.cancel()
        if (chat := self.chats.pop(unquote(uri), None)) is not None:
            self._remains[unquote(uri), chat.conversation_id] = chat.document.remains
            chat.document.is_closed = True  # at once: a later edit would be of the file on disk
            if chat.is_under_way:
                self._left[unquote(uri)] = chat
            task = asyncio.create_task(_quietly(chat.close()))
            self.closing[task] = None
            task.add_done_callback(self.closing.pop)
            task.add_done_callback(lambda _: self._server.folders_changed())

    def look_again(self, uri: str) -> None:
        """Asks the editor to request lenses and diagnostics of the document again, or sends them."""
        self._server.part(FactNotes).touch(uri)
        if refreshes_lenses(self._server):
            self._server.workspace_code_lens_refresh(None)
        if refreshes_diagnostics(self._server):
            self._server.workspace_diagnostic_refresh(None)

    async def on_stop(self) -> None:
        for heard in self._heard.values():
            heard.unsubscribe()
        begun = (*self.opening.values(), *self._asking.values(), *self._moving)
        for task in begun:
            task.cancel()
        leaving = (chat.leave() for chat in self.chats.values())
        await asyncio.gather(*begun, *self.closing, *leaving, return_exceptions=True)

    async def _open(self, uri: str) -> None:
        path = self._server.resolve(uri)
        if path is None:
            return
        if (left := self._left.get(unquote(uri))) is not None:
            await left.outlast()  # its additions would look like the user's
            self._left.pop(unquote(uri), None)
        try:
            for session in await self._sessions():
                conversation_id = await session.folder.documents.conversation_of(path)
                if conversation_id is not None and await session.conversations.holds(conversation_id):
                    await self.bind(session, uri, conversation_id)
                    return
        except PalimpsestError as error:
            self._server.warn(str(error))
            return
        root = self._server.root_of(path)
        if root is not None and self._may_offer(uri) and path not in self._asking:
            self._asking[path] = asyncio.create_task(self._offer(root, uri, path))

    def could_begin(self, uri: str) -> bool:
        """Whether the document is open, belongs to no conversation, and a conversation may begin in it."""
        is_open = open_document(self._server.workspace, uri) is not None
        return is_open and uri.endswith(SUFFIX) and unquote(uri) not in self.chats

    def _may_offer(self, uri: str) -> bool:
        """Whether to ask the user about the document: not about text of their own, and not in an editor that may be
        unable to edit it. The code action and the lens remain."""
        document = open_document(self._server.workspace, uri)
        if document is None or not self.could_begin(uri) or not announces_edits(self._server):
            return False
        return not document.source.strip() or document.source.startswith(_HEAD)

    async def _offer(self, root: Path, uri: str, path: Path) -> None:
        """Begins a conversation in a document that belongs to none, if the user agrees."""
        try:
            if await self._wants_new(uri, path) and self._may_offer(uri):
                session = await self._server.session(root.as_uri())
                record = await session.conversations.create(None, None)
                await session.folder.documents.bind(path, record.id)
                await self.bind(session, uri, record.id)
        except PalimpsestError as error:
            self._server.warn(str(error))

    async def bind(
        self, session: FolderSession, uri: str, conversation_id: ConversationId, said: tuple[str, str] | None = None
    ) -> None:
        """Shows the conversation in the document, if it is still open; `said`: with a command and its answer."""
        from palimpsest.lsp.features.chat_documents.open_chat import OpenChat

        if unquote(uri) not in self._server.workspace.text_documents:
            return
        before = self._remains.pop((unquote(uri), conversation_id), None)
        chat = self.chats[unquote(uri)] = OpenChat(self._server, session.folder.root, uri, conversation_id, before)
        self._hear(session.folder)
        if said is not None:
            await chat.note_command(*said)
        await chat.show()
        self.look_again(uri)

    async def move(
        self, session: FolderSession, chat: OpenChat, conversation_id: ConversationId, said: tuple[str, str] | None
    ) -> OpenChat:
        """Shows another conversation in the document of a chat, which is being written by nobody. Raises NotFound when
        it is closed meanwhile."""
        path = self._server.resolve(chat.uri)
        if path is not None:
            await session.folder.documents.bind(path, conversation_id)
        chat.document.is_closed = True  # whatever it still does, it writes no more
        chat.document.settled.set()
        await self.bind(session, chat.uri, conversation_id, said)
        return await self.get(chat.uri)

    def note_move(self, moving: asyncio.Task[None]) -> None:
        """Ends a task that moves a chat when the connection ends. Half way through, the chat that began it is gone."""
        self._moving[moving] = None
        moving.add_done_callback(self._moving.pop)

    def _hear(self, folder: OpenFolder) -> None:
        def hear(event: FolderEvent) -> None:
            from palimpsest.services.events import HubChanged, PresenceChanged

            if isinstance(event, HubChanged | PresenceChanged):
                for chat in list(self.chats.values()):
                    if isinstance(event, HubChanged) or event.conversation_id == chat.conversation_id:
                        self.look_again(chat.uri)
            if event.changed_conversation is None:
                return
            for chat in self.chats.values():
                if chat.conversation_id == event.changed_conversation or chat.has_asides:
                    chat.changed_elsewhere()

        if folder.root not in self._heard:
            self._heard[folder.root] = _Heard(folder, folder.listeners.add(hear))

    async def _wants_new(self, uri: str, path: Path) -> bool:
        """Whether the user wants a new conversation. When the editor cannot ask, the code action remains."""
        document = open_document(self._server.workspace, uri)
        is_empty = document is None or not document.source.strip()
        question = (_ASK if is_empty else _ASK_ANYWAY).format(name=path.name)
        try:
            return await ask_user(self._server, question, (BEGIN, "Leave it alone")) == BEGIN
        except CannotAsk:
            return False

    async def _sessions(self) -> list[FolderSession]:
        """The sessions of the open folders that have a store."""
        try:
            roots = self._server.roots()
        except InvalidRequest:
            return []
        folders = await self._server.folders()
        return [await self._server.session(root.as_uri()) for root in roots if await folders.is_known(root)]


async def _quietly(work: Awaitable[None]) -> None:
    try:
        await work
    except PalimpsestError as error:
        log.warning("a chat document was not closed properly: %s", error.kind)
    except OSError as error:
        log.warning("a chat document could not be emptied: %s", type(error).__name__)
