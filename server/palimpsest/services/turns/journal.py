"""The only way to stream: an event becomes durable, then it is shown.

No timer delays a write. An event is written at once when the writer is idle. Events that come during a write are
written together by the next one, and shown together.
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
"""A stream that was silent for longer is slower than the writer. It waits for its write, which then has the interpreter
for itself, so the words are shown earlier."""
_MAX_PENDING: Final = 1 << 20
"""Characters that may wait for the writer; with more of them, the stream waits."""


@dataclass(slots=True)
class ActiveJournal:
    """The journal of the running step. One task at a time uses it: the turn's, and while a tool
    runs the one of its live output. The turn calls `drain` before the step is committed."""

    store: Store
    lease: HeldLease
    turn_id: TurnId
    step_id: StepId
    show: Callable[[list[Numbered]], None]
    """Receives durable events, in order."""
    events: list[JournalEvent] = field(default_factory=list)
    """Every appended event, durable or not. Once drained, the messages of the step are made from them."""
    _pending: list[JournalEvent] = field(default_factory=list)
    _pending_data: list[bytes] = field(default_factory=list)
    """The bytes of the pictures that pending events name."""
    _n_pending_chars: int = 0
    _appended_s: float = 0.0
    """The time of the last return to the stream, by the loop's clock."""
    _write: asyncio.Future[list[Numbered]] | None = None
    """The running write, or the one that failed."""

    async def append(self, event: JournalEvent, data: bytes | None = None) -> None:
        """Add an event, and the bytes of the picture that it names. Returns before it is durable when many come. Raises
        what a write raised (StoreError, LeaseLost)."""
        clock = asyncio.get_running_loop().time
        has_paused = clock() - self._appended_s > _PAUSE_S
        text, _ = clean_text(event.text)
        self._pending.append(JournalEvent(event.type, text, event.call_id, event.name, event.is_error))
        self._n_pending_chars += len(text)
        if data is not None:
            self._pending_data.append(data)
            self._n_pending_chars += len(data)
        if self._write is None:
            self._begin_write()
        elif self._write.done():
            self._write.result()
        if has_paused or self._n_pending_chars > _MAX_PENDING:
            await self.drain()
        self._appended_s = clock()

    async def drain(self) -> None:
        """Wait until every appended event is durable and shown. Raises what a write raised."""
        while (write := self._write) is not None:
            await asyncio.wait(
                {write}
            )  # `_end_write` has run by now: callbacks run in the order in which they were added
            write.result()

    async def finish(self) -> None:
        """Like `drain`, but the rest of a failed write is tried once more: the disk may have room again."""
        if self._write is not None and self._write.done() and self._write.exception() is not None:
            self._begin_write()
        await self.drain()

    def _begin_write(self) -> None:
        # Shown in a callback and not in a task of its own, in which every delta would wait for three rounds of the
        # loop.
        batch, data = merge(self._pending), self._pending_data
        write = self.store.begin(stream_journal.append, self.lease, self.turn_id, self.step_id, batch, utc_now(), data)
        self._pending, self._pending_data, self._n_pending_chars, self._write = [], [], 0, write
        write.add_done_callback(functools.partial(self._end_write, batch, data))

    def _end_write(self, batch: list[JournalEvent], data: list[bytes], write: asyncio.Future[list[Numbered]]) -> None:
        if write.exception() is not None:
            self._pending[:0] = batch
            self._pending_data[:0] = data
            return
        self.events += batch
        self._write = None
        if self._pending:
            self._begin_write()
        self.show(write.result())
