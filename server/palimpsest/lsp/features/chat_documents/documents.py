"""Chat documents as plain LSP: `NAME.chat.md` is opened, sent, stopped and followed with what any editor can do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.domain.errors import InvalidRequest, NotFound, PalimpsestError
from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.errors import answers
from palimpsest.lsp.questions import CannotAsk, ask_user
from palimpsest.lsp.runtime.documents import open_document

if TYPE_CHECKING:
    from palimpsest.lsp.features.chat_documents.open_chat import OpenChat, Remains
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.conversation.documents import ChatDocuments
    from palimpsest.services.folder.session import FolderSession

log = logging.getLogger(__name__)

SEND: Final = "palimpsest.chat.send"
STOP: Final = "palimpsest.chat.stop"
OPEN: Final = "palimpsest.chat.open"
EXPAND: Final = "palimpsest.chat.expand"
SHOW: Final = "palimpsest.chat.show"
_SUFFIX: Final = ".chat.md"
_HEAD: Final = "<!-- palimpsest-chat "
BEGIN: Final = "Begin a conversation"
_ASK: Final = (
    "This looks like a chat document, but it belongs to no conversation of yours: it may have come with the folder. "
    "Begin a new conversation in it? What stands above its input is replaced then."
)


def register(server: PalimpsestServer) -> None:
    from palimpsest.lsp.features.chat_documents import shown as chat_features

    chat_features.register(server)
    server.contributions.opened.append(lambda ls, params: ls.chats.opened(params.text_document.uri))
    server.contributions.changed.append(lambda ls, params: ls.chats.changed(params))
    server.contributions.closed.append(lambda ls, params: ls.chats.closed(params.text_document.uri))
    server.command(SEND)(_send)
    for name, do in _COMMANDS.items():
        server.command(name)(_command(do))


class OpenChats:
    """The chat documents that one connection's editor has open."""

    def __init__(self, server: PalimpsestServer) -> None:
        self._ls = server
        self._chats: dict[str, OpenChat] = {}
        """By unquoted URI, because editors quote one and the same URI in several ways."""
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._unsubscribe: dict[Path, Callable[[], None]] = {}
        self._closing: dict[asyncio.Task[None], None] = {}
        self._left: dict[str, OpenChat] = {}
        """Those that were closed while something was on its way into the document, or was being sent."""
        self._remains: dict[tuple[str, ConversationId], Remains] = {}
        """Of documents that were closed, and what they showed."""
        self._asking: dict[Path, asyncio.Task[None]] = {}
        """Questions whether a conversation is to begin in a document, each asked once. Nothing waits for an answer."""

    async def find(self, uri: str) -> OpenChat | None:
        """The chat in that document, once it is opened; None for any other document."""
        key = unquote(uri)
        if (opening := self._opening.get(key)) is not None:
            await asyncio.wait({opening})
        return self._chats.get(key)

    def message_in(self, uri: str | None) -> str:
        """What stands in the input of the document now, whether or not its chat is open yet; without a URI, of the only
        chat. Empty where there is none."""
        from palimpsest.domain.chat_documents.document import parse
        from palimpsest.lsp.features.chat_documents.open_chat import normal

        if uri is None:
            uri = next((chat.uri for chat in self._chats.values()), "") if len(self._chats) == 1 else ""
        document = open_document(self._ls.workspace, uri)
        return "" if document is None else parse(normal(document.source)).message

    async def get(self, uri: str | None) -> OpenChat:
        """As `find`; without a URI, the only one. Raises NotFound."""
        if uri is None and len(self._chats) == 1:
            return next(iter(self._chats.values()))
        found = None if uri is None else await self.find(uri)
        if found is None:
            raise NotFound(f"That is no open chat document of a conversation. {OPEN} makes one.")
        return found

    def opened(self, uri: str) -> None:
        if uri.endswith(_SUFFIX):
            task = self._opening[unquote(uri)] = asyncio.create_task(self._open(uri))
            task.add_done_callback(lambda done: self._opened(unquote(uri), done))

    def _opened(self, key: str, done: asyncio.Task[None]) -> None:
        if self._opening.get(key) is done:  # it may be closed and open again
            del self._opening[key]

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        key = unquote(params.text_document.uri)
        if (chat := self._chats.get(key)) is not None:
            chat.hear(params)
        elif (left := self._left.get(key)) is not None:
            left.told_since.set()

    def roots(self) -> set[Path]:
        """The folders of open chats, which may have left the workspace meanwhile."""
        return {chat.root for chat in self._chats.values()}

    def detach(self, root: Path) -> None:
        """The editor has closed the folder, and no chat of it is open."""
        if (unsubscribe := self._unsubscribe.pop(root, None)) is not None:
            unsubscribe()

    def closed(self, uri: str) -> None:
        if (opening := self._opening.get(unquote(uri))) is not None:
            opening.cancel()
        if (chat := self._chats.pop(unquote(uri), None)) is not None:
            self._remains[unquote(uri), chat.conversation_id] = chat.remains
            chat.is_closed = True  # at once: an edit from now on would be of what stands on disk
            if chat.is_under_way:
                self._left[unquote(uri)] = chat
            task = asyncio.create_task(_quietly(chat.close()))
            self._closing[task] = None
            task.add_done_callback(self._closing.pop)
            task.add_done_callback(lambda _: self._ls.folders_changed())

    def look_again(self, uri: str) -> None:
        """Lenses and diagnostics of the document are to be asked for, or are sent, anew."""
        self._ls.fact_notes.touch(uri)
        workspace = self._ls.client_capabilities.workspace
        if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self._ls.workspace_code_lens_refresh(None)
        if workspace is not None and workspace.diagnostics is not None and workspace.diagnostics.refresh_support:
            self._ls.workspace_diagnostic_refresh(None)

    async def stop(self) -> None:
        for unsubscribe in self._unsubscribe.values():
            unsubscribe()
        for task in (*self._opening.values(), *self._asking.values()):
            task.cancel()
        await asyncio.gather(*self._closing, *(chat.leave() for chat in self._chats.values()), return_exceptions=True)

    async def _open(self, uri: str) -> None:
        path = self._ls.resolve(uri)
        if path is None:
            return
        if (left := self._left.get(unquote(uri))) is not None:
            await left.outlast()  # what it adds would be taken for the user's
            self._left.pop(unquote(uri), None)
        try:
            for session in await self._sessions():
                conversation_id = await documents_of(session).conversation_of(path)
                if conversation_id is not None and await session.conversations.holds(conversation_id):
                    await self.bind(session, uri, conversation_id)
                    return
        except PalimpsestError as error:
            self._ls.warn(str(error))
            return
        root = self._root_of(path)
        if root is not None and self.could_begin(uri) and path not in self._asking:
            self._asking[path] = asyncio.create_task(self._offer(root, uri, path))

    def could_begin(self, uri: str) -> bool:
        """Whether the document is open, belongs to no conversation, and a conversation may begin in it."""
        from palimpsest.lsp.features.chat_documents.open_chat import can_apply

        document = open_document(self._ls.workspace, uri)
        is_free = document is not None and uri.endswith(_SUFFIX) and unquote(uri) not in self._chats
        if document is None or not is_free or not can_apply(self._ls):
            return False
        return not document.source.strip() or document.source.startswith(_HEAD)

    async def _offer(self, root: Path, uri: str, path: Path) -> None:
        """Begins a conversation in a document that belongs to none, when the user says so."""
        try:
            if await self._wants_new() and self.could_begin(uri):
                session = await self._ls.session(root.as_uri())
                record = await session.conversations.create(None, None)
                await documents_of(session).bind(path, record.id)
                await self.bind(session, uri, record.id)
        except PalimpsestError as error:
            self._ls.warn(str(error))

    async def bind(self, session: FolderSession, uri: str, conversation_id: ConversationId) -> None:
        """The document, which is open, shows the conversation from now on."""
        from palimpsest.lsp.features.chat_documents.open_chat import OpenChat, Remains

        if unquote(uri) not in self._ls.workspace.text_documents:
            return
        before = self._remains.pop((unquote(uri), conversation_id), Remains())
        chat = self._chats[unquote(uri)] = OpenChat(self._ls, session.folder.root, uri, conversation_id, before)
        self._hear(session)
        await chat.show()
        self.look_again(uri)

    def _hear(self, session: FolderSession) -> None:
        from palimpsest.services.events import ContextEvent, ContextEventType, FactsChanged, FolderEvent

        def hear(event: FolderEvent) -> None:
            if isinstance(event, FactsChanged):
                return
            if isinstance(event, ContextEvent) and event.type is not ContextEventType.RECUT:
                return
            for chat in self._chats.values():
                if chat.conversation_id == event.conversation_id or chat.has_asides:
                    chat.changed_elsewhere()

        if session.folder.root not in self._unsubscribe:
            self._unsubscribe[session.folder.root] = session.folder.listeners.add(hear)

    async def _wants_new(self) -> bool:
        """What the user says. An editor that cannot ask them has the code action."""
        try:
            return await ask_user(self._ls, _ASK, (BEGIN, "Leave it alone")) == BEGIN
        except CannotAsk:
            return False

    def _root_of(self, path: Path) -> Path | None:
        try:
            holding = [root for root in self._ls.roots() if path.is_relative_to(root)]
        except InvalidRequest:
            return None
        return max(holding, key=lambda each: len(each.parts), default=None)

    async def _sessions(self) -> list[FolderSession]:
        """Of the open folders of which something is kept."""
        try:
            roots = self._ls.roots()
        except InvalidRequest:
            return []
        folders = await self._ls.folders()
        return [await self._ls.session(root.as_uri()) for root in roots if await folders.is_known(root)]


def documents_of(session: FolderSession) -> ChatDocuments:
    from palimpsest.services.conversation.documents import ChatDocuments

    return ChatDocuments(session.folder.root, session.folder.store)


async def _quietly(work: Awaitable[None]) -> None:
    try:
        await work
    except PalimpsestError as error:
        log.warning("a chat document was not closed in order: %s", error.kind)
    except OSError as error:
        log.warning("a chat document could not be emptied: %s", type(error).__name__)


# --------------------------------------------------------------------------------------------------------- the commands

Do = Callable[["PalimpsestServer", dict[str, Any]], Awaitable[Any]]


def _command(do: Do) -> Callable[..., Awaitable[Any]]:
    """A command of at most one argument, an object."""

    @answers
    async def run(ls: Any, *arguments: Any) -> Any:  # pygls reads these annotations when it runs the command
        if len(arguments) > 1 or not all(isinstance(each, dict) for each in arguments):
            raise InvalidRequest("The command takes at most one argument, an object.")
        return await do(ls, arguments[0] if arguments else {})

    return run


def _text(given: dict[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidRequest(f"`{name}` must be a string.")
    return value


def _send(ls: Any, *arguments: Any) -> Awaitable[Any]:
    """Sends what stands in the input as this is called: a coroutine begins later, and the editor may have told by then
    what its user typed after sending."""
    uri = arguments[0].get("uri") if arguments and isinstance(arguments[0], dict) else None
    asked = ls.chats.message_in(uri if isinstance(uri, str) else None)

    async def send(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
        return await (await _chat(ls, given)).send(asked)

    return _command(send)(ls, *arguments)


async def _stop(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
    await (await _chat(ls, given)).stop()


async def _expand(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
    summary_id = given.get("summaryId")
    if not isinstance(summary_id, int):
        raise InvalidRequest("Say which summary, by `summaryId`.")
    await (await _chat(ls, given)).expand(summary_id)


async def _show(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
    await (await _chat(ls, given)).show()


async def _chat(ls: PalimpsestServer, given: dict[str, Any]) -> OpenChat:
    from palimpsest.lsp.features.chat_documents.open_chat import NO_EDITS, can_apply

    await ls.folders()
    if not can_apply(ls):
        raise InvalidRequest(NO_EDITS)
    return await ls.chats.get(_text(given, "uri"))


async def _open(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
    """Arguments, all optional: `conversationId`, or `folderUri` and `title` for a new one; `inFolder`; or the `uri` of
    a document to begin a conversation in. The answer names the document, whether or not it could be shown."""
    conversation_id, uri = _text(given, "conversationId"), _text(given, "uri")
    if conversation_id is not None:
        session = await ls.session_of(conversation_id)
        record = (await session.conversations.read(ConversationId(conversation_id), 0, 1)).record
    else:
        session = await ls.session(_text(given, "folderUri") or uri)
        record = await session.conversations.create(_text(given, "title"), None)
    documents = documents_of(session)
    if uri is not None:
        path = ls.resolve(uri)
        if path is None or not path.name.endswith(_SUFFIX):
            raise InvalidRequest(f"A chat document is a file whose name ends with {_SUFFIX}.")
        await documents.bind(path, record.id)
        await ls.chats.bind(session, uri, record.id)
        return {"uri": uri, "path": str(path), "conversationId": record.id}
    path = await documents.document_of(record.id)
    if path is None:
        path = await documents.create(record.id, record.title, in_folder=given.get("inFolder") is True)
    is_shown = await _show_document(ls, path.as_uri())
    if not is_shown:
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, f"The chat document is {path}. Open it."))
    return {"uri": path.as_uri(), "path": str(path), "conversationId": record.id}


async def _show_document(ls: PalimpsestServer, uri: str) -> bool:
    window = ls.client_capabilities.window
    if window is None or window.show_document is None or not window.show_document.support:
        return False
    try:
        return (await ls.window_show_document_async(lsp.ShowDocumentParams(uri, take_focus=True))).success
    except JsonRpcException:
        return False


_COMMANDS: Final[dict[str, Do]] = {STOP: _stop, OPEN: _open, EXPAND: _expand, SHOW: _show}
