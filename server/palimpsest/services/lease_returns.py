"""Gives the leases of this server back: at once, or, where the store cannot be written, as soon as it can.

A lease that stayed with a living server would keep its conversation busy for everybody until that server ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId
from palimpsest.services.background import Background
from palimpsest.services.clock import utc_now
from palimpsest.storage import leases, turns
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store

log = logging.getLogger(__name__)

_AGAIN_S: Final = 1.0
"""Between two tries."""


@dataclass(slots=True)
class LeaseReturns:
    """Of one store. Whoever closes the background ends the tries; a later server closes what is left."""

    store: Store
    background: Background
    _left: dict[ConversationId, tuple[HeldLease, Callable[[ConversationId], None]]] = field(default_factory=dict)

    async def release(self, lease: HeldLease, closed: Callable[[ConversationId], None]) -> None:
        """Raises nothing: what was done under the lease is done. `closed`: told when it took another try."""
        try:
            await self.store.run(leases.release, lease)
        except PalimpsestError as error:
            log.error("a conversation could not be released yet: %s", error.kind)
            self.leave(lease, closed)

    def leave(self, lease: HeldLease, closed: Callable[[ConversationId], None]) -> None:
        """What is open under the lease cannot be closed now. It is as soon as the store can be written, so that nobody
        has to ask for anything before the conversation is free."""
        conversation_id = lease.conversation_id
        self._left[conversation_id] = (lease, closed)
        self.background.start(conversation_id, self._settle_later(conversation_id))

    async def settle(self, conversation_id: ConversationId) -> None:
        """Gives back now what was left of the conversation. Raises StoreError while that cannot be done."""
        if (left := self._left.get(conversation_id)) is None:
            return
        lease, closed = left
        await self.store.run(turns.close_abandoned, lease, utc_now())
        if self._left.get(conversation_id) is left:
            del self._left[conversation_id]
            closed(conversation_id)

    async def _settle_later(self, conversation_id: ConversationId) -> None:
        while conversation_id in self._left:
            await asyncio.sleep(_AGAIN_S)
            with contextlib.suppress(PalimpsestError):
                await self.settle(conversation_id)
