"""`hub/status`, and sharing: `conversation/share`, `unshare`, `listShared`, `openShared`, `members`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.places import folder_uri
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_conversation, to_writer
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.sharing import publication
from palimpsest.wire.areas.conversations import ConversationInfo
from palimpsest.wire.areas.sharing import (
    HubState,
    HubStatus,
    HubStatusParams,
    ListSharedParams,
    ListSharedResult,
    MemberInfo,
    MembersParams,
    MembersResult,
    OpenSharedParams,
    Removal,
    SharedHeader,
    ShareParams,
    ShareResult,
    StoreInfo,
    UnshareParams,
)

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.readers import Readers


async def status(ls: PalimpsestServer, params: HubStatusParams) -> HubStatus:
    return to_status(ls, await ls.session(params.folder))


def to_status(ls: PalimpsestServer, session: FolderSession) -> HubStatus:
    """How the folder's way to the hub is."""
    found = session.folder.sharing.status
    return HubStatus(
        folder_uri(ls, session),
        HubState(found.state.value),
        found.n_unsent,
        found.since,
        found.team,
        found.role,
        found.problem,
    )


async def share(ls: PalimpsestServer, params: ShareParams) -> ShareResult:
    session = await ls.session_of(params.conversation_id)
    sharing, conversation_id = session.folder.sharing.require(), ConversationId(params.conversation_id)
    from palimpsest.services.sharing.dry_run import dry_run

    team = await publication.team(sharing, params.team or session.settings.hub.team)
    tried = await dry_run(sharing, conversation_id, team.id)
    done: ConversationInfo | None = None
    if params.confirm:
        done = await _info(session, await publication.share(sharing, conversation_id, team.id))
    me = await sharing.me()
    return ShareResult(
        team=team.name,
        readers=[MemberInfo(each.name, each.role, each.id == me) for each in tried.plan.readers],
        message_count=tried.plan.n_messages,
        byte_count=tried.n_bytes,
        result_byte_count=tried.n_result_bytes,
        removals=[Removal(kind, list(ids)) for kind, ids in tried.removals.items()],
        files=list(tried.files),
        shares_tool_results=sharing.terms.shares_results,
        is_copy=tried.plan.is_copy,
        conversation=done,
    )


async def unshare(ls: PalimpsestServer, params: UnshareParams) -> ConversationInfo:
    session = await ls.session_of(params.conversation_id)
    await publication.unshare(session.folder.sharing.require(), ConversationId(params.conversation_id))
    return await _info(session, ConversationId(params.conversation_id))


async def list_shared(ls: PalimpsestServer, params: ListSharedParams) -> ListSharedResult:
    session = await ls.session(params.folder)
    sharing = session.folder.sharing.require()
    from palimpsest.services.sharing.offers import offers

    team = await publication.team(sharing, params.team or session.settings.hub.team)
    headers = [
        SharedHeader(
            conversation_id=each.header.id,
            title=each.header.title,
            owner=each.owner,
            message_count=each.header.n_messages,
            created_at=each.header.created_at,
            is_here=each.is_here,
            updated_at=each.updated_at,
            writer=None if each.writing is None else to_writer(each.writing),
        )
        for each in await offers(sharing, team.id)
    ]
    return ListSharedResult(team.name, headers)


async def open_shared(ls: PalimpsestServer, params: OpenSharedParams) -> ConversationInfo:
    session = await ls.session(params.folder)
    sharing = session.folder.sharing.require()
    team = await publication.team(sharing, params.team or session.settings.hub.team)
    return await _info(session, await publication.open_shared(sharing, team.id, ConversationId(params.conversation_id)))


async def members(ls: PalimpsestServer, params: MembersParams) -> MembersResult:
    session = await ls.session_of(params.conversation_id)
    sharing = session.folder.sharing.require()
    from palimpsest.services.sharing.readers import readers_of

    found = await readers_of(sharing, ConversationId(params.conversation_id))
    named = [MemberInfo(each.name, each.role, each.id == found.me) for each in found.members]
    return MembersResult(named, to_stores(found), found.head_seq)


def to_stores(found: Readers) -> list[StoreInfo]:
    return [
        StoreInfo(each.member, each.is_this, each.applied_seq, each.is_following, each.seen_at) for each in found.stores
    ]


async def _info(session: FolderSession, conversation_id: ConversationId) -> ConversationInfo:
    page = await session.conversations.read(conversation_id, None, 1)
    running = None if page.running is None else page.running.turn_id
    return to_conversation(page.record, session.folder, running)
