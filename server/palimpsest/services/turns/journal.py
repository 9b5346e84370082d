"""The only way to stream: events become durable, then they are shown.

No timer stands before a write. An event is written at once when the writer is idle; what comes while a write is under
way is written together in the next one, and shown together.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.messages import StepId, TurnId, clean_text
from palimpsest.domain.turns.journal import JournalEvent, Numbered, merge
from palimpsest.machine import utc_now
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store
from palimpsest.storage.turns import stream_journal

_PAUSE_S: Final = 0.002
"""A stream that was silent for longer is slower than the writer. It waits for its write, which has the interpreter for
itself then, and what was said is shown earlier."""
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
    _appended_s: float = 0.0
    """When the stream was last left to go on, by the loop's clock."""
    _write: asyncio.Future[list[Numbered]] | None = None
    """The one under way, or the one that failed."""

    async def append(self, event: JournalEvent) -> None:
        """Returns before the event is durable when many come. Raises what a write raised (StoreError, LeaseLost)."""
        clock = asyncio.get_running_loop().time
        has_paused = clock() - self._appended_s > _PAUSE_S
        text, _ = clean_text(event.text)
        self._pending.append(JournalEvent(event.type, text, event.call_id, event.name, event.is_error))
        self._n_pending_chars += len(text)
        if self._write is None:
            self._begin_write()
        elif self._write.done():
            self._write.result()
        if has_paused or self._n_pending_chars > _MAX_PENDING:
            await self.drain()
        self._appended_s = clock()

    async def drain(self) -> None:
        """Waits until everything appended is durable and shown. Raises what a write raised."""
        while (write := self._write) is not None:
            await asyncio.wait({write})  # `_end_write` has run then: callbacks do in the order they were added
            write.result()

    async def finish(self) -> None:
        """As `drain`, but what a failed write has left over is written once more: the disk may have room again."""
        if self._write is not None and self._write.done() and self._write.exception() is not None:
            self._begin_write()
        await self.drain()

    def _begin_write(self) -> None:
        # Handed over here and shown in a callback, not in a task of its own: every delta would wait for the loop to
        # come by, three times.
        batch = merge(self._pending)
        write = self.store.begin(stream_journal.append, self.lease, self.turn_id, self.step_id, batch, utc_now())
        self._pending, self._n_pending_chars, self._write = [], 0, write
        write.add_done_callback(functools.partial(self._end_write, batch))

    def _end_write(self, batch: list[JournalEvent], write: asyncio.Future[list[Numbered]]) -> None:
        if write.exception() is not None:
            self._pending[:0] = batch
            return
        self.events += batch
        self._write = None
        if self._pending:
            self._begin_write()
        self.show(write.result())
