"""What people do with shared conversations: see what sharing would do, share, end it, and open what others share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.domain.sharing.log import SharedConversation
from palimpsest.domain.transfer.conversation import Transfer
from palimpsest.machine import utc_now
from palimpsest.services.sharing.copies import cannot_stay, clean_copy, to_clean
from palimpsest.services.sharing.hub_errors import told
from palimpsest.storage.lifecycle import transfer as transfers
from palimpsest.storage.sharing import outgoing, shared
from palimpsest.storage.sharing.shared import Standing
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import Member, NewConversation, Replica, Team

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing


@dataclass(frozen=True, slots=True)
class Plan:
    """What sharing a conversation would do."""

    readers: tuple[Member, ...]
    n_messages: int
    n_bytes: int
    """Of text."""
    cleaned: tuple[MessageId, ...]
    """The messages that hold something which may not leave this machine: a secret of a known form, or a place here."""
    is_copy: bool
    """Whether a copy without that is shared, and the original stays as it is."""


async def team(sharing: Sharing, name: str | None) -> Team:
    """The team of that name, or the only one. Raises InvalidRequest, HubIsAway, HubFailed."""
    with told():
        teams = await sharing.hub.teams()
    found = [each for each in teams if name in (None, each.name)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(each.name for each in teams) or "none"
    if name is not None and not found:
        raise InvalidRequest(f"You are in no team {name!r}. Your teams: {listed}. Change `hub.team`.")
    raise InvalidRequest(f"Set `hub.team` to one of your teams: {listed}.")


async def readers(sharing: Sharing, team: str) -> Sequence[Member]:
    """The members of the team now."""
    with told():
        return [each for each in await sharing.hub.members(team) if each.role != "left"]


async def plan(sharing: Sharing, conversation_id: ConversationId, team: str) -> Plan:
    """Raises NotFound, HubIsAway, HubFailed."""
    who = tuple(await readers(sharing, team))
    transfer = await sharing.store.read(transfers.read, conversation_id)
    cleaned = await asyncio.to_thread(to_clean, transfer, sharing.terms.cleaner)
    n_bytes = sum(len(str(each.content.to_json())) for each in transfer.messages if each.content is not None)
    is_copy = bool(cleaned) or await _must_be_copied(sharing, transfer, team)
    return Plan(who, len(transfer.messages), n_bytes, tuple(cleaned), is_copy)


async def share(sharing: Sharing, conversation_id: ConversationId, team: str) -> ConversationId:
    """Shares the conversation with the team, or a copy of it where the plan says so. Returns what is shared. Asking
    again is safe. Raises NotFound, ConversationBusy, HubIsAway, HubFailed."""
    if (standing := await sharing.store.read(shared.standing, conversation_id)) is not None:
        if standing.team != team:
            raise InvalidRequest("This conversation is shared with another team already. Share a fork of it.")
        await sharing.reconcile(conversation_id)
        return conversation_id
    mine = await sharing.take_here(conversation_id, "sharing it")  # what is said meanwhile would not be cleaned
    try:
        at = await _share(sharing, conversation_id, team)
    finally:
        await sharing.contexts.leases.release(mine, sharing.changed)
    await sharing.reconcile(at)
    sharing.changed(at)
    return at


async def _share(sharing: Sharing, conversation_id: ConversationId, team: str) -> ConversationId:
    transfer = await sharing.store.read(transfers.read, conversation_id)
    cleaned = await asyncio.to_thread(to_clean, transfer, sharing.terms.cleaner)
    if cleaned or await _must_be_copied(sharing, transfer, team):
        copy = await asyncio.to_thread(clean_copy, transfer, sharing.terms.cleaner)
        await sharing.store.run(transfers.write, copy, utc_now())
        sharing.make_findable()
        transfer = copy
    header = transfer.header
    title = sharing.terms.cleaner.text(header.title)[:300]
    new = NewConversation(header.id, title, header.model, header.created_at, header.parent, header.fork_start)
    with told():
        await sharing.hub.share(team, new)
        found = await sharing.hub.conversation(team, header.id)
    await sharing.store.run(shared.attach, found, sharing.terms)
    return header.id


async def unshare(sharing: Sharing, conversation_id: ConversationId) -> None:
    """Takes the text out of the hub. What other stores took in stays there."""
    standing = await _standing(sharing, conversation_id)
    with told():
        await sharing.hub.unshare(standing.team, conversation_id)
    await sharing.store.run(shared.detach, conversation_id)
    sharing.changed(conversation_id)


async def offered(sharing: Sharing, team: str) -> Sequence[SharedConversation]:
    """The conversations that are shared with the team now, the first created first."""
    with told():
        return [each for each in await sharing.hub.conversations(team) if not each.is_unshared]


async def open_shared(sharing: Sharing, team: str, conversation_id: ConversationId) -> ConversationId:
    """Takes a shared conversation in, with those it was forked from."""
    with told():
        found = await sharing.hub.conversation(team, conversation_id)
    if found.is_unshared:
        raise NotFound("This conversation is not shared any more.")
    if found.parent is not None and await sharing.store.read(shared.standing, ConversationId(found.parent)) is None:
        await open_shared(sharing, team, ConversationId(found.parent))
    await sharing.store.run(shared.attach, found, sharing.terms)
    await sharing.pull(conversation_id)
    if (alone := await sharing.store.read(outgoing.said_alone, conversation_id)) is not None:
        await sharing.move_apart(conversation_id, alone)
    sharing.changed(conversation_id)
    return conversation_id


async def members(sharing: Sharing, conversation_id: ConversationId) -> Sequence[Member]:
    standing = await _standing(sharing, conversation_id)
    with told():
        return await sharing.hub.members(standing.team)


async def replicas(sharing: Sharing, conversation_id: ConversationId) -> Sequence[Replica]:
    """How far each store has come, this one included."""
    standing = await _standing(sharing, conversation_id)
    with told():
        return await sharing.hub.replicas(standing.team, conversation_id)


async def _standing(sharing: Sharing, conversation_id: ConversationId) -> Standing:
    standing = await sharing.store.read(shared.standing, conversation_id)
    if standing is None:
        raise InvalidRequest("This conversation is not shared.")
    return standing


async def _must_be_copied(sharing: Sharing, transfer: Transfer, team: str) -> bool:
    """Whether the conversation is a fork of one that is not shared with the team, or holds messages that only
    others can push."""
    if (parent := transfer.header.parent) is not None:
        standing = await sharing.store.read(shared.standing, ConversationId(parent))
        if standing is None or standing.team != team:
            return True
    with told():
        if cannot_stay(transfer, await sharing.hub.me()):
            return True
        try:
            return (await sharing.hub.conversation(team, transfer.header.id)).is_unshared
        except HubRefused as refused:
            if refused.kind != "not_shared":
                raise
            return False
