"""`conversation/create`, `conversation/list`, `conversation/read`."""

from __future__ import annotations

from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.features.models import doubt_model
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_conversation, to_message
from palimpsest.wire.areas.conversations import (
    ConversationInfo,
    CreateConversationParams,
    ListConversationsParams,
    ListConversationsResult,
    ReadConversationParams,
    ReadConversationResult,
    RunningTurn,
)


async def create(ls: PalimpsestServer, params: CreateConversationParams) -> ConversationInfo:
    await (await ls.folders()).look_for_keys()
    session = await ls.session(params.folder)
    record = await session.conversations.create(params.title, params.model)
    if params.model is not None:
        doubt_model(ls, session, params.model)
    return to_conversation(record, session.folder.root, None)


async def list_all(ls: PalimpsestServer, params: ListConversationsParams) -> ListConversationsResult:
    uris = [root.as_uri() for root in ls.roots()] if params.folder is None else [params.folder]
    found = [
        to_conversation(record, session.folder.root, running)
        for session in [await ls.session(uri) for uri in uris]
        for record, running in await session.conversations.list()
    ]
    return ListConversationsResult(sorted(found, key=lambda info: info.updated_at, reverse=True))


async def read(ls: PalimpsestServer, params: ReadConversationParams) -> ReadConversationResult:
    session = await ls.session_of(params.conversation_id)
    page = await session.conversations.read(ConversationId(params.conversation_id), params.start, params.limit)
    running = page.running
    return ReadConversationResult(
        conversation=to_conversation(page.record, session.folder.root, None if running is None else running.turn_id),
        messages=[to_message(message, is_hidden=message.id in page.hidden) for message in page.messages],
        next=page.next,
        running=None if running is None else RunningTurn(running.turn_id, running.last_seq, running.text),
    )
