"""The leases that this server holds: acquired for as long as a block runs, and given back whatever happens.

A lease that stayed with a living server would keep its conversation busy for everybody until that server ends. So it
is given back when its block ends, however it ends; when the caller is cancelled while the lease is being acquired, as
soon as that is heard of; and where the store cannot be written, as soon as it can.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from palimpsest.domain.errors import PalimpsestError, StoreError
from palimpsest.domain.messages import ConversationId
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.storage import leases
from palimpsest.storage.conversation import conversations
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store
from palimpsest.storage.turns import turns

log = logging.getLogger(__name__)

Closed = Callable[[ConversationId], None]
"""Told when something that could not be closed in time was closed later."""
_AGAIN_S: Final = 1.0
"""Between two tries."""


@dataclass(slots=True)
class Leases:
    """The leases of one store. Closing the background ends the tries; a later server closes what is left."""

    store: Store
    background: Background
    _left: dict[ConversationId, tuple[HeldLease, Closed]] = field(default_factory=dict)
    _lines: WeakValueDictionary[ConversationId, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Each for as long as somebody stands in it."""
    _n_held: int = 0
    _is_free: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether no block holds a lease, or waits for one."""

    def __post_init__(self) -> None:
        self._is_free.set()

    @property
    def is_held(self) -> bool:
        """Whether a block holds a lease, or waits for one."""
        return not self._is_free.is_set()

    async def wait_until_free(self) -> None:
        """Until no block holds a lease, or waits for one: then what they need may be closed."""
        await self._is_free.wait()

    def line(self, conversation_id: ConversationId) -> asyncio.Lock:
        """For those of this server who wait until a conversation is free: the first who came tries first."""
        return self._lines.setdefault(conversation_id, asyncio.Lock())

    @contextlib.asynccontextmanager
    async def hold(self, conversation_id: ConversationId, holder: str, closed: Closed) -> AsyncIterator[HeldLease]:
        """The conversation's lease, for as long as the block runs. `holder`: words for people, such as `a summary`.

        Raises NotFound, StoreError, and ConversationBusy while somebody else writes the conversation.
        """
        held: list[HeldLease] = []
        is_over = False

        def acquire() -> tuple[HeldLease, bool]:
            conversations.get(conversation_id)
            return turns.take(self.store.writer(utc_now()), conversation_id, holder)

        def take(taken: tuple[HeldLease, bool]) -> None:
            lease, has_closed = taken
            if has_closed:  # a dead server's turn
                closed(conversation_id)
            if is_over:  # nobody waits for it any more
                self.give_back(lease, closed)
            else:
                held.append(lease)

        self._n_held += 1
        self._is_free.clear()
        try:
            with contextlib.suppress(StoreError):  # then it is busy
                await self.settle(conversation_id)
            lease, _ = await self.store.commit(acquire, take)
            yield lease
        finally:
            is_over = True
            self._n_held -= 1
            if not self._n_held:
                self._is_free.set()
            for lease in held:
                await self.release(lease, closed)

    async def release(self, lease: HeldLease, closed: Closed) -> None:
        """Gives the lease back. Raises nothing: what was done under the lease is done."""
        if (giving_back := self.give_back(lease, closed)) is not None:
            await asyncio.wait([giving_back])

    def give_back(self, lease: HeldLease, closed: Closed) -> asyncio.Future[None] | None:
        """As `release`, without waiting: the release is with the writer's thread when this returns. None when it could
        not even be asked for; it is tried again."""

        def hear(future: asyncio.Future[None]) -> None:
            if (error := future.exception()) is not None:
                kind = error.kind if isinstance(error, PalimpsestError) else type(error).__name__
                log.error("a conversation could not be released yet: %s", kind)
                self.leave(lease, closed)

        try:
            future = self.store.begin(leases.release, lease)
        except PalimpsestError as error:
            log.error("a conversation could not be released yet: %s", error.kind)
            self.leave(lease, closed)
            return None
        future.add_done_callback(hear)
        return future

    def leave(self, lease: HeldLease, closed: Closed) -> None:
        """What is open under the lease cannot be closed now. It is as soon as the store can be written, so that nobody
        has to ask for anything before the conversation is free."""
        conversation_id = lease.conversation_id
        self._left[conversation_id] = (lease, closed)
        self.background.start(None, self._settle_later(conversation_id))

    async def settle(self, conversation_id: ConversationId) -> None:
        """Gives back now what was left of the conversation. Raises StoreError while that cannot be done."""
        if (left := self._left.get(conversation_id)) is None:
            return
        lease, closed = left

        def forget(_: None) -> None:
            if self._left.get(conversation_id) is left:
                del self._left[conversation_id]
                closed(conversation_id)

        await self.store.commit(lambda: turns.close_abandoned(lease, utc_now()), forget)

    async def _settle_later(self, conversation_id: ConversationId) -> None:
        while conversation_id in self._left:
            await asyncio.sleep(_AGAIN_S)
            with contextlib.suppress(PalimpsestError):
                await self.settle(conversation_id)
