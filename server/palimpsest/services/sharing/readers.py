"""Who reads a shared conversation, and how far each of their stores has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from palimpsest.domain.messages import ConversationId
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.hub_errors import told
from palimpsest.storage.sharing import shared
from palimpsest.storage.sharing.members import SOMEBODY
from palimpsest_hub.records import Member

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing


@dataclass(frozen=True, slots=True)
class ReadingStore:
    """A store that has taken in some of the conversation."""

    member: str
    """The name of the member whose store it is."""
    is_this: bool
    applied_seq: int
    """The last entry of the log that it has taken in."""
    is_following: bool
    seen_at: str | None
    """None for this store before it has taken anything in."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Everybody who reads a shared conversation."""

    team: str
    """The team's id."""
    me: str
    members: Sequence[Member]
    stores: Sequence[ReadingStore]
    head_seq: int
    """The last entry of the log."""


async def readers_of(sharing: Sharing, conversation_id: ConversationId) -> Readers:
    """Raises InvalidRequest for a conversation that is not shared, HubIsAway, HubFailed."""
    members = await publication.members(sharing, conversation_id)
    names = {each.id: each.name for each in members}
    replicas = await publication.replicas(sharing, conversation_id)
    own = await sharing.store_id()
    standing = await sharing.store.read(shared.standing, conversation_id)
    team = "" if standing is None else standing.team
    with told():
        head = await sharing.hub.conversation(team, conversation_id)
    me = await sharing.me()
    applied = 0 if standing is None else standing.hub_seq
    stores = [
        ReadingStore(
            names.get(each.member, SOMEBODY),
            is_this := (each.store, each.member) == (own, me),
            applied if is_this else each.applied_seq,
            each.is_following,
            each.seen_at,
        )
        for each in replicas
    ]
    if not any(each.is_this for each in stores):
        stores.append(ReadingStore(names.get(me, SOMEBODY), True, applied, False, None))
    return Readers(team, me, [each for each in members if each.role != "left"], stores, head.head_seq)
