"""`conversation/create`, `conversation/list`, `conversation/read`."""

from __future__ import annotations

import asyncio
import base64

from palimpsest.domain.messages import ConversationId, Digest
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
    ReadPictureParams,
    ReadPictureResult,
    RunningTurn,
)


async def create(ls: PalimpsestServer, params: CreateConversationParams) -> ConversationInfo:
    await (await ls.folders()).look_for_keys()
    session = await ls.session(params.folder)
    record = await session.conversations.create(params.title, params.model)
    if params.model is not None:
        doubt_model(ls, session, params.model)
    return to_conversation(record, session.folder, None)


async def list_all(ls: PalimpsestServer, params: ListConversationsParams) -> ListConversationsResult:
    uris = [root.as_uri() for root in ls.roots()] if params.folder is None else [params.folder]
    found = [
        to_conversation(record, session.folder, running)
        for session in [await ls.session(uri) for uri in uris]
        for record, running in await session.conversations.list()
    ]
    return ListConversationsResult(sorted(found, key=lambda info: info.updated_at, reverse=True))


async def picture(ls: PalimpsestServer, params: ReadPictureParams) -> ReadPictureResult:
    session = await ls.session_of(params.conversation_id)
    part, data = await session.conversations.picture(ConversationId(params.conversation_id), Digest(params.digest))
    encoded = await asyncio.to_thread(lambda: base64.b64encode(data).decode("ascii"))
    return ReadPictureResult(part.media_type, encoded, part.label, part.width, part.height)


async def read(ls: PalimpsestServer, params: ReadConversationParams) -> ReadConversationResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id, sharing = ConversationId(params.conversation_id), session.folder.sharing
    page = await session.conversations.read(conversation_id, params.start, params.limit)
    if page.record.shared is not None and not page.record.shared.is_detached:
        sharing.look_at(conversation_id)
    running, remote = page.running, sharing.turn_in(conversation_id)
    shown = None if running is None else RunningTurn(running.turn_id, running.last_seq, running.text)
    if shown is None and remote is not None:
        shown = RunningTurn(remote.id, remote.last_seq, remote.text)
    return ReadConversationResult(
        conversation=to_conversation(page.record, session.folder, None if running is None else running.turn_id),
        messages=[
            to_message(message, is_hidden=message.id in page.hidden, author=page.authors.get(message.id))
            for message in page.messages
        ],
        next=page.next,
        running=shown,
    )
