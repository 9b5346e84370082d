"""What people do with shared conversations: see what sharing would do, share, end it, and open what others share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from palimpsest.domain.errors import HubIsAway, InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.domain.sharing.log import SharedConversation
from palimpsest.domain.transfer.conversation import MessageLine, Transfer
from palimpsest.machine import utc_now
from palimpsest.services.sharing.copies import cannot_stay, clean_copy, own_messages, to_clean
from palimpsest.services.sharing.hub_errors import told
from palimpsest.storage.conversation import conversations
from palimpsest.storage.lifecycle import transfer as transfers
from palimpsest.storage.sharing import joining, shared
from palimpsest.storage.sharing.shared import Standing
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.records import Member, NewConversation, Replica, Team

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing


class CopyReason(StrEnum):
    """Why a copy is shared and the original stays as it is, for people to read."""

    REMOVED = "something is taken out of it before"
    FORK = "this is a fork of a conversation that is not shared with the team"
    OTHERS = "other members wrote some of its messages"
    BEFORE = "it was shared before"


@dataclass(frozen=True, slots=True)
class Plan:
    """What sharing a conversation would do."""

    readers: tuple[Member, ...]
    transfer: Transfer
    """The conversation."""
    leaving: tuple[MessageLine, ...]
    """The messages that would leave this machine: all of them, or of a fork of a shared conversation its own."""
    cleaned: tuple[MessageId, ...]
    """Those of them that hold something which may not leave: a secret of a known form, or a place here."""
    copy_reason: CopyReason | None
    """None when the conversation itself is shared."""

    @property
    def n_messages(self) -> int:
        return len(self.transfer.messages)

    @property
    def is_copy(self) -> bool:
        return self.copy_reason is not None


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
    await _bring_beginning_into_step(sharing, conversation_id)
    transfer = await sharing.store.search(transfers.read, conversation_id)
    reason = await _copy_reason(sharing, transfer, team)
    leaving = own_messages(transfer) if reason is None else transfer.messages
    cleaned = await asyncio.to_thread(to_clean, leaving, sharing.terms.cleaner)
    return Plan(who, transfer, tuple(leaving), tuple(cleaned), reason)


async def share(sharing: Sharing, conversation_id: ConversationId, team: str) -> ConversationId:
    """Shares the conversation with the team, or a copy of it where the plan says so. Returns what is shared. Asking
    again is safe. Raises NotFound, ConversationBusy, HubIsAway, HubFailed."""
    if (standing := await sharing.store.read(shared.standing, conversation_id)) is not None:
        await sharing.require_same_hub(standing)
        if standing.team != team:
            raise InvalidRequest("This conversation is shared with another team already. Share a fork of it.")
        await sharing.reconcile(conversation_id)
        return conversation_id
    await _bring_beginning_into_step(sharing, conversation_id)
    mine = await sharing.take_here(
        conversation_id, "the beginning of its sharing"
    )  # what is said meanwhile would not be cleaned
    try:
        at = await _share(sharing, conversation_id, team)
    finally:
        await sharing.contexts.leases.release(mine, sharing.changed)
    sharing.changed(at)
    with contextlib.suppress(HubIsAway):  # it is shared, and pushed when the hub is back
        await sharing.reconcile(at)
    return at


async def _share(sharing: Sharing, conversation_id: ConversationId, team: str) -> ConversationId:
    """Nothing changes here before the hub has agreed, and nothing that was said goes out before that is known here: a
    purge would miss it. So the title comes as the first entry."""
    transfer = await sharing.store.search(transfers.read, conversation_id)
    copy: Transfer | None = None
    if await _copy_reason(sharing, transfer, team) is not None:
        # The same one when it is tried again, because nobody knows whether the hub heard the last try.
        copy_id = await sharing.store.run(shared.id_of_copy, conversation_id)
        copy = await asyncio.to_thread(clean_copy, transfer, sharing.terms.cleaner, copy_id)
    header = (copy or transfer).header
    new = NewConversation(header.id, "", header.model, header.created_at, header.parent, header.fork_start)
    with told():
        await sharing.hub.share(team, new)
        found = await sharing.hub.conversation(team, header.id)

    def attach() -> None:
        if copy is not None:
            transfers.write(copy, utc_now())
            shared.forget_id_of_copy(conversation_id)
        shared.attach(found, sharing.terms)

    await sharing.store.run(attach)
    if copy is not None:
        sharing.make_findable()
    return header.id


async def unshare(sharing: Sharing, conversation_id: ConversationId) -> None:
    """Takes the text out of the hub. What other stores took in stays there."""
    standing = await _standing(sharing, conversation_id)
    with told():
        await sharing.hub.unshare(standing.team, conversation_id)
    await sharing.store.run(shared.detach, conversation_id)
    sharing.changed(conversation_id)


async def offered(sharing: Sharing, team: str) -> Sequence[SharedConversation]:
    """The conversations that are shared with the team now, the first created first; without forks of what is shared no
    longer, unless this store has it."""
    with told():
        found = {each.id: each for each in await sharing.hub.conversations(team)}
    here = {each.id for each in await sharing.store.read(conversations.list_all)}

    def can_be_opened(each: SharedConversation) -> bool:
        while each.id not in here:
            if each.is_unshared or (each.parent is not None and each.parent not in found):
                return False
            if each.parent is None:
                return True
            each = found[each.parent]
        return True

    return [each for each in found.values() if not each.is_unshared and can_be_opened(each)]


async def open_shared(sharing: Sharing, team: str, conversation_id: ConversationId) -> ConversationId:
    """Takes a shared conversation in, with those it was forked from. Raises NotFound, InvalidRequest for another one of
    that id that is here, ConversationBusy, HubIsAway, HubFailed, Unsound."""
    for found in reversed(await _missing(sharing, team, conversation_id)):
        moved = await sharing.store.run(joining.join, sharing.store.writer(utc_now()), found, sharing.terms)
        if moved is not None:
            sharing.has_moved(ConversationId(found.id), *moved)
        await sharing.pull(ConversationId(found.id))
    sharing.changed(conversation_id)
    return conversation_id


async def _missing(sharing: Sharing, team: str, conversation_id: ConversationId) -> list[SharedConversation]:
    """The conversation, then those it was forked from, up to one of which this store has enough."""
    missing: list[SharedConversation] = []
    at = conversation_id
    while True:
        with told():
            found = await sharing.hub.conversation(team, at)
        if found.is_unshared and not missing:
            raise NotFound("This conversation is not shared any more.")
        if found.is_unshared:
            raise NotFound(
                "The conversation that this is a fork of is not shared any more, so its beginning cannot be had."
            )
        missing.append(found)
        if found.parent is None:
            return missing
        at = ConversationId(found.parent)
        here = await sharing.store.read(conversations.find, at)
        if here is not None and here.n_messages >= found.fork_at:
            return missing


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
    """Raises InvalidRequest, and HubFailed for a conversation that is shared through another hub."""
    standing = await sharing.store.read(shared.standing, conversation_id)
    if standing is None:
        raise InvalidRequest("This conversation is not shared.")
    await sharing.require_same_hub(standing)
    return standing


async def _bring_beginning_into_step(sharing: Sharing, conversation_id: ConversationId) -> None:
    """What a fork begins with may not be in the hub yet, or the hub may have others there, and then it moves apart."""
    for owner, _, _ in await sharing.store.read(conversations.lineage, conversation_id):
        if owner != conversation_id and await sharing.store.read(shared.standing, ConversationId(owner)) is not None:
            await sharing.reconcile(ConversationId(owner))


async def _copy_reason(sharing: Sharing, transfer: Transfer, team: str) -> CopyReason | None:
    header = transfer.header
    if await asyncio.to_thread(to_clean, own_messages(transfer), sharing.terms.cleaner):
        return CopyReason.REMOVED
    if header.parent is not None and not await sharing.store.read(shared.begins_shared, header.id, team):
        return CopyReason.FORK
    if await sharing.store.read(shared.has_others, header.id, await sharing.me()):
        return CopyReason.OTHERS
    if cannot_stay(transfer):
        return CopyReason.BEFORE
    with told():
        try:
            is_unshared = (await sharing.hub.conversation(team, header.id)).is_unshared
        except HubRefused as refused:
            if refused.kind != "not_shared":
                raise
            return None
    return CopyReason.BEFORE if is_unshared else None
