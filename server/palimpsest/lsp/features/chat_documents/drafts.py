"""The draft of a message, shown in a chat document: for editors that have no chat of their own."""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp

from palimpsest.lsp.abilities import could_apply, shows_documents
from palimpsest.lsp.features.chat_documents.commands import open_document_of
from palimpsest.lsp.features.parts.open_chats import OpenChats
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession


async def show_draft(ls: PalimpsestServer, session: FolderSession, text: str) -> dict[str, Any]:
    """Adds the text to the input of the folder's chat document that was opened last, or begins a conversation with it
    in a new one. Raises InvalidRequest while an answer is written into that document. In an editor that cannot change
    documents the text is the draft of a new conversation only."""
    root = session.folder.root
    chats = [chat for chat in ls.part(OpenChats).chats.values() if chat.root == root] if could_apply(ls) else []
    if chats:
        chat = chats[-1]
        await chat.add_to_input(text)
        return {**await open_document_of(ls, session, chat.conversation_id, chat.uri), "draft": text}
    record = await session.conversations.create(None, None)
    await session.conversations.set_draft(record.id, text)
    if could_apply(ls):
        # An editor that must open it by hand often has a server for the files of one project only.
        in_folder = not shows_documents(ls)
        return {**await open_document_of(ls, session, record.id, in_folder=in_folder), "draft": text}
    message = "The question is the draft of a new conversation. Read it and send it."
    ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, message))
    return {"conversationId": record.id, "draft": text}
