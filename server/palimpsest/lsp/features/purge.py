"""`conversation/purge`."""

from __future__ import annotations

from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_usage
from palimpsest.services.context.reports import usage_status
from palimpsest.services.conversation.purge import Purging, set_aside
from palimpsest.services.folder.session import FolderSession
from palimpsest.wire.areas.places import MessageRange
from palimpsest.wire.areas.purge import PurgeParams, PurgeResult


async def purge(ls: PalimpsestServer, params: PurgeParams) -> PurgeResult:
    session, purging, wanted = await _purging(ls, params)
    conversation_id = ConversationId(params.conversation_id)
    scope = await purging.purge(conversation_id, wanted, is_confirmed=bool(params.confirm))
    return PurgeResult(
        MessageRange(scope.start, scope.end),
        scope.n_contents,
        scope.n_summaries,
        list(scope.others),
        to_usage(await usage_status(session.contexts, conversation_id)),
        set_aside(session.folder.store.directory),
    )


async def what_would_go(ls: PalimpsestServer, params: PurgeParams) -> str:
    """The purge's effect as a question for the user. Raises the errors of the purge."""
    _, purging, wanted = await _purging(ls, params)
    return await purging.what_would_go(ConversationId(params.conversation_id), wanted)


async def _purging(
    ls: PalimpsestServer, params: PurgeParams
) -> tuple[FolderSession, Purging, tuple[MessageId, MessageId] | None]:
    session = await ls.session_of(params.conversation_id)
    wanted = None if params.range is None else (MessageId(params.range.start), MessageId(params.range.end))
    return session, session.purging, wanted
