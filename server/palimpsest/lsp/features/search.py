"""`conversation/search`."""

from __future__ import annotations

from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.conversation.search import DEFAULT_HITS, Wanted, find
from palimpsest.wire.areas.conversations import MessageRole
from palimpsest.wire.areas.search import SearchHit, SearchParams, SearchResult


async def search(ls: PalimpsestServer, params: SearchParams) -> SearchResult:
    if params.conversation_id is not None:
        sessions = [await ls.session_of(params.conversation_id)]
    else:
        uris = [root.as_uri() for root in ls.roots()] if params.folder_uri is None else [params.folder_uri]
        sessions = [await ls.session(uri) for uri in uris]
    wanted = Wanted(
        params.query,
        None if params.conversation_id is None else ConversationId(params.conversation_id),
        DEFAULT_HITS if params.limit is None else params.limit,
        bool(params.include_hidden),
    )
    return SearchResult(
        [
            SearchHit(
                hit.conversation_id,
                hit.title,
                hit.message_id,
                MessageRole(hit.role.value),
                hit.snippet,
                hit.created_at,
                hit.is_hidden,
            )
            for session in sessions
            for hit in await find(session.folder.store, wanted)
        ]
    )
