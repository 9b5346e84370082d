"""The conversations that are shared with a team, as a list to open one from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from palimpsest.domain.sharing.log import SharedConversation
from palimpsest.domain.sharing.status import Writing
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.hub_errors import told
from palimpsest.storage.conversation import conversations
from palimpsest.storage.sharing.members import SOMEBODY

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing


@dataclass(frozen=True, slots=True)
class Offer:
    """One of them."""

    header: SharedConversation
    owner: str
    """The name of the member who shares it."""
    is_here: bool
    """Whether this store has it."""
    updated_at: str | None
    """When its log grew last, UTC, ISO 8601; None without an entry."""
    writing: Writing | None
    """Who writes it on another machine."""


async def offers(sharing: Sharing, team: str) -> list[Offer]:
    """Those shared now, the last changed first. Raises HubIsAway, HubFailed."""
    found = await publication.offered(sharing, team)
    with told():
        names = {each.id: each.name for each in await sharing.hub.members(team)}
        updated = await sharing.hub.updated(team)
    me, own = await sharing.me(), await sharing.store_id()
    here = {each.id for each in await sharing.store.read(conversations.list_all)}
    listed = [
        Offer(
            each,
            names.get(each.owner, SOMEBODY),
            each.id in here,
            updated.get(each.id),
            None
            if each.writer is None or each.writer_store == own
            else Writing(names.get(each.writer, SOMEBODY), each.writes or "something", each.writer == me),
        )
        for each in found
    ]
    return sorted(listed, key=lambda each: (each.updated_at or "", each.header.id), reverse=True)
