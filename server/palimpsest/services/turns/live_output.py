"""What a running tool writes, on its way to the journal and to the screens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from palimpsest.domain.messages import ToolCallPart
from palimpsest.domain.turns.journal import EventType, JournalEvent
from palimpsest.services.turns.journal import ActiveJournal

MAX_CHARACTERS: Final = 256 * 1024
"""Of one call. The result that follows has the head and the tail of all of it."""
_NO_MORE: Final = "\n[What it writes from here on is not shown while it runs.]\n"


@dataclass(slots=True)
class LiveOutput:
    """Of one turn, whose calls run one after another. What is said outside of a call goes nowhere."""

    _journal: ActiveJournal | None = None
    _call: ToolCallPart | None = None
    _waiting: list[str] = field(default_factory=list)
    _room: int = 0
    _writing: asyncio.Task[None] | None = None

    def begin(self, journal: ActiveJournal, call: ToolCallPart) -> None:
        self._journal, self._call, self._room = journal, call, MAX_CHARACTERS

    def say(self, text: str) -> None:
        """Returns at once. What comes while the journal is written goes together in its next row."""
        if not text or self._room <= 0:
            return
        self._waiting.append(text[: self._room])
        self._room -= len(text)
        if self._room <= 0:
            self._waiting.append(_NO_MORE)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write(), name="live output")

    async def wait(self, waits: bool) -> None:
        """The running call waits for the user's word, or they agreed: returns when that is durable. Raises what a write
        raised."""
        if self._writing is not None:
            await self._writing
        if (journal := self._journal) is not None and (call := self._call) is not None:
            mark = EventType.TOOL_ASKED if waits else EventType.TOOL_ALLOWED
            await journal.append(JournalEvent(mark, "", call.call_id, call.name))
            await journal.drain()

    async def end(self) -> None:
        """The call has ended: returns when all that it said is on its way to the journal. Raises what a write raised.
        Where it is cancelled, the rest is not shown."""
        self._room = 0
        writing, self._writing = self._writing, None
        try:
            if writing is not None:
                await writing
        finally:
            if writing is not None:
                writing.cancel()
            self._waiting.clear()
            self._journal = self._call = None

    async def _write(self) -> None:
        journal, call = self._journal, self._call
        assert journal is not None
        assert call is not None
        while self._waiting:
            text = "".join(self._waiting)
            self._waiting.clear()
            await journal.append(JournalEvent(EventType.TOOL_OUTPUT, text, call.call_id, call.name))
        if self._writing is asyncio.current_task():
            self._writing = None
