"""The commands of chat documents (`NAME.chat.md`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.domain.chat_documents.document import parse
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.abilities import could_apply, shows_documents
from palimpsest.lsp.errors import answers
from palimpsest.lsp.features.chat_documents.names import SUFFIX
from palimpsest.lsp.features.chat_documents.open_chat import NO_EDITS, OpenChat
from palimpsest.lsp.features.chat_documents.positions import normal
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.runtime.documents import open_document
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession

Do = Callable[[PalimpsestServer, dict[str, Any]], Awaitable[Any]]


def _command(do: Do) -> Callable[..., Awaitable[Any]]:
    """A command of at most one argument, an object."""

    @answers
    async def run(ls: Any, *arguments: Any) -> Any:  # pygls reads these annotations to call the command
        if len(arguments) > 1 or not all(isinstance(each, dict) for each in arguments):
            raise InvalidRequest("The command takes at most one argument, an object.")
        return await do(ls, arguments[0] if arguments else {})

    return run


def _text(given: dict[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidRequest(f"`{name}` must be a string.")
    return value


def _message_in(ls: PalimpsestServer, uri: str | None) -> str:
    """The message in the document's input now, whether or not its chat is open yet; without a URI, in the only chat.
    Empty when there is no such document."""
    if uri is None:
        chats = list(ls.part(OpenChats).chats.values())
        uri = chats[0].uri if len(chats) == 1 else ""
    document = open_document(ls.workspace, uri)
    return "" if document is None else parse(normal(document.source)).message


def send(ls: Any, *arguments: Any) -> Awaitable[Any]:
    """Sends the message that is in the input at the time of the call. A coroutine begins later, when the editor may
    have reported more typing."""
    uri = arguments[0].get("uri") if arguments and isinstance(arguments[0], dict) else None
    asked = _message_in(ls, uri if isinstance(uri, str) else None)

    async def send_asked(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
        return await (await _chat(ls, given)).send(asked)

    return _command(send_asked)(ls, *arguments)


@_command
async def stop(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
    await (await _chat(ls, given)).stop()


@_command
async def expand(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
    summary_id = given.get("summaryId")
    if not isinstance(summary_id, int):
        raise InvalidRequest("Name a summary by `summaryId`.")
    chat = await _chat(ls, given)
    await chat.require_edits()
    await chat.expand(summary_id)


@_command
async def show(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
    chat = await _chat(ls, given)
    await chat.require_edits()
    await chat.show()


@_command
async def fork(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
    """The document goes on in a fork of its conversation, and sends what stands in its input there: somebody else
    writes the conversation now, or the hub is away."""
    chat = await _chat(ls, given)
    await chat.require_edits()
    session = await chat.session()
    record = await session.conversations.fork(chat.conversation_id, None, None)
    moved = await chat.go_on_in(record.id)
    message = moved.document.parsed.message
    return await moved.send(message) if message else {"conversationId": record.id}


async def _chat(ls: PalimpsestServer, given: dict[str, Any]) -> OpenChat:
    await ls.folders()
    return await ls.part(OpenChats).get(_text(given, "uri"))


@_command
async def open_(ls: PalimpsestServer, given: dict[str, Any]) -> Any:
    """Opens a chat document. Arguments, all optional: `conversationId`, or `folderUri` and `title` for a new
    conversation; `inFolder`; or `uri`, a document to begin a conversation in. The answer names the document even if the
    editor cannot show it."""
    conversation_id, uri = _text(given, "conversationId"), _text(given, "uri")
    if uri is not None and not could_apply(ls):
        raise InvalidRequest(NO_EDITS)
    if conversation_id is not None:
        session = await ls.session_of(conversation_id)
        record = (await session.conversations.read(ConversationId(conversation_id), 0, 1)).record
    else:
        session = await ls.session(_text(given, "folderUri") or uri)
        record = await session.conversations.create(_text(given, "title"), None)
    documents = session.folder.documents
    if uri is not None:
        path = ls.resolve(uri)
        if path is None or not path.name.endswith(SUFFIX):
            raise InvalidRequest(f"A chat document is a file whose name ends with {SUFFIX}.")
        await documents.bind(path, record.id)
        await ls.part(OpenChats).bind(session, uri, record.id)
        if (chat := await ls.part(OpenChats).find(uri)) is not None:
            await chat.require_edits()
        return {"uri": uri, "path": str(path), "conversationId": record.id}
    return await open_document_of(ls, session, record.id, in_folder=given.get("inFolder") is True)


async def open_document_of(
    ls: PalimpsestServer,
    session: FolderSession,
    conversation_id: ConversationId,
    uri: str | None = None,
    *,
    in_folder: bool = False,
) -> dict[str, Any]:
    """Has the editor show the conversation's document, which is created when there is none. `uri`: the document, when
    the editor has it open. The answer names it even if the editor cannot show it."""
    documents, path = session.folder.documents, None if uri is None else ls.resolve(uri)
    path = path or await documents.document_of(conversation_id)
    if path is None:
        title = (await session.conversations.read(conversation_id, 0, 1)).record.title
        path = await documents.create(conversation_id, title, in_folder=in_folder)
    is_shown = await _show_document(ls, uri or path.as_uri())
    if not is_shown:
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, f"The chat document is {path}. Open it."))
    return {"uri": uri or path.as_uri(), "path": str(path), "conversationId": conversation_id}


async def _show_document(ls: PalimpsestServer, uri: str) -> bool:
    if not shows_documents(ls):
        return False
    try:
        return (await ls.window_show_document_async(lsp.ShowDocumentParams(uri, take_focus=True))).success
    except JsonRpcException:
        return False
