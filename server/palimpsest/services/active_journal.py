"""The only way to stream: events become durable, then they are shown (invariant 2).

No timer stands before a write. An event is written at once when the writer is idle; what comes while a write is under
way is written together in the next one, and shown together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.errors import StoreError
from palimpsest.domain.journal import JournalEvent, Numbered, merge
from palimpsest.domain.messages import StepId, TurnId, clean_text
from palimpsest.services.clock import utc_now
from palimpsest.storage import turns
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store

_MAX_PENDING: Final = 1 << 20
"""Characters that may wait for the writer before the stream has to wait too."""


@dataclass(slots=True)
class ActiveJournal:
    """Proof that a step is in flight. Used by one task; `drain` before the step is committed."""

    store: Store
    lease: HeldLease
    turn_id: TurnId
    step_id: StepId
    show: Callable[[list[Numbered]], None]
    """Called with events that are durable, in order."""
    events: list[JournalEvent] = field(default_factory=list)
    """Everything appended, durable or not: what the messages of the step are made of, once drained."""
    _pending: list[JournalEvent] = field(default_factory=list)
    _n_pending_chars: int = 0
    _pump: asyncio.Task[None] | None = None

    async def append(self, event: JournalEvent) -> None:
        """Returns at once while the writer keeps up. Raises what a write raised (StoreError, LeaseLost)."""
        text, _ = clean_text(event.text)
        self._pending.append(JournalEvent(event.type, text, event.call_id, event.name, event.is_error))
        self._n_pending_chars += len(text)
        if self._pump is None or self._pump.done():
            await self._check()
            self._pump = asyncio.create_task(self._write_pending())
        if self._n_pending_chars > _MAX_PENDING:
            await self.drain()

    async def drain(self) -> None:
        """Waits until everything appended is durable and shown. Raises what a write raised."""
        if self._pump is not None:
            await asyncio.shield(self._pump)

    async def finish(self) -> None:
        """As `drain`, but what a failed write has left over is written once more: the disk may have room again."""
        if self._pump is not None and self._pump.done() and self._pump.exception() is not None:
            self._pump = asyncio.create_task(self._write_pending())
        await self.drain()

    async def _check(self) -> None:
        if self._pump is not None:
            await self._pump

    async def _write_pending(self) -> None:
        while self._pending:
            batch, self._pending, self._n_pending_chars = merge(self._pending), [], 0
            try:
                numbered = await self.store.run(
                    turns.append_events, self.lease, self.turn_id, self.step_id, batch, utc_now()
                )
            except StoreError:
                self._pending[:0] = batch
                raise
            self.events += batch
            self.show(numbered)
