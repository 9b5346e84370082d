"""`conversation/rename|archive|fork|rollback`, `draft/set`, `summary/expand|regenerate|undo|redo`."""

from __future__ import annotations

from palimpsest.domain.messages import ConversationId, MessageId, SummaryId
from palimpsest.lsp.features.file_changes import to_files
from palimpsest.lsp.features.parts.attachments import Attachments
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_conversation, to_usage
from palimpsest.services.context.reports import usage_status
from palimpsest.services.conversation.history import Compaction
from palimpsest.services.folder.session import FolderSession
from palimpsest.wire.areas.context import CompactionResult, SummaryParams
from palimpsest.wire.areas.conversations import (
    ArchiveParams,
    ConversationInfo,
    ForkParams,
    RenameParams,
    RollbackParams,
    RollbackResult,
    SetDraftParams,
    SetLayoutParams,
)
from palimpsest.wire.areas.places import ConversationParams, MessageRange


async def rename(ls: PalimpsestServer, params: RenameParams) -> ConversationInfo:
    session = await ls.session_of(params.conversation_id)
    record = await session.conversations.rename(ConversationId(params.conversation_id), params.title)
    return to_conversation(record, session.folder, None)


async def archive(ls: PalimpsestServer, params: ArchiveParams) -> ConversationInfo:
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    record = await session.conversations.archive(conversation_id, is_archived=params.is_archived)
    return to_conversation(record, session.folder, None)


async def set_layout(ls: PalimpsestServer, params: SetLayoutParams) -> ConversationInfo:
    session = await ls.session_of(params.conversation_id)
    layout = None if params.layout is None else params.layout.value
    record = await session.conversations.set_layout(ConversationId(params.conversation_id), layout)
    return to_conversation(record, session.folder, None)


async def set_draft(ls: PalimpsestServer, params: SetDraftParams) -> ConversationInfo:
    session = await ls.session_of(params.conversation_id)
    record = await session.conversations.set_draft(ConversationId(params.conversation_id), params.text)
    return to_conversation(record, session.folder, None)


async def fork(ls: PalimpsestServer, params: ForkParams) -> ConversationInfo:
    session = await ls.session_of(params.conversation_id)
    after = None if params.message_id is None else MessageId(params.message_id)
    record = await session.conversations.fork(ConversationId(params.conversation_id), after, params.title)
    return to_conversation(record, session.folder, None)


async def rollback(ls: PalimpsestServer, params: RollbackParams) -> RollbackResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    to = None if params.message_id is None else MessageId(params.message_id)
    done = await session.conversations.roll_back(conversation_id, to)
    files = None
    if params.take_back_changes:
        editor = ls.part(Attachments).editor(session.folder.root)
        files = to_files(await session.folder.changes.take_back_range(conversation_id, done.start, done.end, editor))
    usage = to_usage(await usage_status(session.contexts, conversation_id))
    return RollbackResult(MessageRange(done.start, done.end), done.draft, usage, files)


async def expand(ls: PalimpsestServer, params: SummaryParams) -> CompactionResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    done = await session.conversations.expand(conversation_id, SummaryId(params.summary_id))
    return await _to_result(session, conversation_id, done)


async def regenerate(ls: PalimpsestServer, params: SummaryParams) -> CompactionResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    done = await session.conversations.regenerate(
        conversation_id, SummaryId(params.summary_id), ls.part(OfferedModels).id
    )
    return await _to_result(session, conversation_id, done)


async def undo(ls: PalimpsestServer, params: ConversationParams) -> CompactionResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    done = await session.conversations.undo(conversation_id)
    return await _to_result(session, conversation_id, done)


async def redo(ls: PalimpsestServer, params: ConversationParams) -> CompactionResult:
    session = await ls.session_of(params.conversation_id)
    conversation_id = ConversationId(params.conversation_id)
    done = await session.conversations.redo(conversation_id)
    return await _to_result(session, conversation_id, done)


async def _to_result(session: FolderSession, conversation_id: ConversationId, done: Compaction) -> CompactionResult:
    usage = to_usage(await usage_status(session.contexts, conversation_id))
    return CompactionResult(
        done.tokens_before, done.tokens_after, MessageRange(done.start, done.end), usage, done.reason
    )
