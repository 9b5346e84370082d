"""Purges of what is shared: in the hub first, and so in every store."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from palimpsest.domain.errors import HubFailed, HubIsAway
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.sharing.status import PURGE
from palimpsest.services.sharing.hub_errors import told
from palimpsest.storage.sharing import shared
from palimpsest_hub.records import Lease

if TYPE_CHECKING:  # which imports this
    from palimpsest.services.sharing.sharing import Sharing

log = logging.getLogger(__name__)


async def purge(sharing: Sharing, stretches: Sequence[tuple[str, int, int]]) -> None:
    """Takes messages out of the hub before they are purged here: of each stretch (conversation, first, after) that
    is shared what the hub has of it. Every store that has the messages follows. What the hub refuses raises, and is
    not to be purged here either. When it is away, it purges what this member said when it is back.

    Raises ConversationBusy, HubIsAway, HubFailed.
    """
    for owner, first, after in stretches:
        at = ConversationId(owner)
        if await sharing.store.read(shared.standing, at) is not None:
            await _purge_shared(sharing, at, first, after)
        elif (was := await sharing.store.read(shared.former, at)) is not None and first < was.n_messages:
            await sharing.store.run(shared.intend_purge, at, first, min(after, was.n_messages))
            with contextlib.suppress(HubIsAway, HubFailed):
                await purge_forks(sharing, at)


async def n_refused(sharing: Sharing, stretches: Sequence[tuple[str, int, int]]) -> int:
    """How many of the messages the hub does not let this member purge: others wrote them, and he neither owns the
    conversation nor is an admin of the team. Raises HubIsAway, HubFailed."""
    n = 0
    for owner, first, after in stretches:
        standing = await sharing.store.read(shared.standing, ConversationId(owner))
        others = await sharing.store.read(shared.authors, ConversationId(owner), first, after)
        if standing is not None and others:
            with told():
                found = await sharing.hub.conversation(standing.team, owner)
                roles = {each.id: each.role for each in await sharing.hub.teams()}
            n += len(others) if found.owner != found.me and roles.get(standing.team) != "admin" else 0
    return n


async def _purge_shared(sharing: Sharing, at: ConversationId, first: int, after: int) -> None:
    try:
        async with sharing.taken(at, PURGE) as taken:
            await _purge_in_hub(sharing, taken.theirs, first, after)
    except HubIsAway:
        if await sharing.store.read(shared.authors, at, first, after):
            raise
        await sharing.store.run(shared.intend_purge, at, first, after)


async def send_waiting(sharing: Sharing, theirs: Lease) -> bool:
    """Has the hub purge what was purged here while it was away. Whether there was any. Raises HubIsAway."""
    at = ConversationId(theirs.conversation)
    intended = await sharing.store.read(shared.intended_purges, at)
    for intent_id, start, end in intended:
        try:
            await _purge_in_hub(sharing, theirs, start, end)
        except HubFailed as failed:
            log.info("the hub does not purge messages of another member: %s", failed.kind)
        await sharing.store.run(shared.forget_intent, intent_id)
    return bool(intended)


async def purge_forks(sharing: Sharing, conversation_id: ConversationId) -> None:
    """Has the hub purge what was purged here of a conversation that is shared no longer, in the shared forks that
    begin with it. What it cannot do now waits. Raises HubIsAway, HubFailed."""
    former = await sharing.store.read(shared.former, conversation_id)
    with told():
        if former is None or (await sharing.hub.identity()).hub != former.hub:
            return
        found = {each.id: each for each in await sharing.hub.conversations(former.team)}.get(conversation_id)
        if found is None and all(each.id != former.team for each in await sharing.hub.teams()):
            return  # who is out of the team sees nothing of it
    if found is not None and not found.is_unshared:
        return  # it is purged when it is shared here again
    n_messages = 0 if found is None else found.n_messages
    for intent_id, start, end in await sharing.store.read(shared.intended_purges, conversation_id):
        if start < (end := min(end, n_messages)):
            try:
                with told():
                    await sharing.hub.purge_forks(former.team, conversation_id, start, end)
            except HubFailed as failed:
                log.info("the hub does not purge messages of another member: %s", failed.kind)
        await sharing.store.run(shared.forget_intent, intent_id)


async def _purge_in_hub(sharing: Sharing, theirs: Lease, first: int, after: int) -> None:
    """What the hub has of the messages. The rest is pushed without its text, once it is purged here."""
    if first < (end := min(after, theirs.n_messages)):
        with told():
            await sharing.hub.purge(theirs, first, end)
