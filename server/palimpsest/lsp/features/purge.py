"""`conversation/purge`, `conversation/purge/plan`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.lsp.features.sharing import to_stores
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_usage
from palimpsest.services.context.reports import usage_status
from palimpsest.services.conversation.purge import Purging, set_aside
from palimpsest.services.folder.session import FolderSession
from palimpsest.wire.areas.places import MessageRange
from palimpsest.wire.areas.purge import PurgeParams, PurgePlan, PurgePlanParams, PurgeResult

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.readers import Readers


async def purge(ls: PalimpsestServer, params: PurgeParams) -> PurgeResult:
    session, purging, wanted = await _purging(ls, params)
    conversation_id = ConversationId(params.conversation_id)
    scope = await purging.purge(conversation_id, wanted, is_confirmed=bool(params.confirm))
    reached = await _reached(session, conversation_id)
    return PurgeResult(
        MessageRange(scope.start, scope.end),
        scope.n_contents,
        scope.n_summaries,
        list(scope.others),
        to_usage(await usage_status(session.contexts, conversation_id)),
        set_aside(session.folder.store.directory),
        None if reached is None else reached.head_seq,
        None if reached is None else to_stores(reached),
        True if reached is None and await _is_shared(session, conversation_id) else None,
    )


async def plan(ls: PalimpsestServer, params: PurgePlanParams) -> PurgePlan:
    _, purging, wanted = await _purging(ls, params)
    scope = await purging.scope_of(ConversationId(params.conversation_id), wanted)
    messages = MessageRange(scope.start, scope.end)
    return PurgePlan(messages, scope.n_contents, scope.n_summaries, scope.n_facts, list(scope.others))


async def _reached(session: FolderSession, conversation_id: ConversationId) -> Readers | None:
    """The stores that have a shared conversation; None for another one, and when the hub cannot be asked now."""
    if (sharing := session.folder.sharing.current) is None:
        return None
    from palimpsest.services.sharing.readers import readers_of

    with contextlib.suppress(PalimpsestError):
        await sharing.pull(conversation_id)  # its entry in the log: then this store counts too
        return await readers_of(sharing, conversation_id)
    return None


async def _is_shared(session: FolderSession, conversation_id: ConversationId) -> bool:
    mark = (await session.conversations.read(conversation_id, None, 1)).record.shared
    return mark is not None and not mark.is_detached


async def what_would_go(ls: PalimpsestServer, params: PurgeParams) -> str:
    """The purge's effect as a question for the user. Raises the errors of the purge."""
    _, purging, wanted = await _purging(ls, params)
    return await purging.what_would_go(ConversationId(params.conversation_id), wanted)


async def _purging(
    ls: PalimpsestServer, params: PurgeParams | PurgePlanParams
) -> tuple[FolderSession, Purging, tuple[MessageId, MessageId] | None]:
    session = await ls.session_of(params.conversation_id)
    wanted = None if params.range is None else (MessageId(params.range.start), MessageId(params.range.end))
    return session, session.purging, wanted
