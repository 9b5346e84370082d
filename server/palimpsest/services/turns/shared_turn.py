"""A turn of a shared conversation that this server runs: the store first, the hub as soon as it can be.

Nothing of a turn waits for the hub. When the hub is lost, the turn goes on here, and what it said is pushed later.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.turns.journal import EventType, Numbered
from palimpsest.services.events import ConversationChanged, FolderEvent
from palimpsest.services.turns.running import RunningTurn

_MOST_CHARS: Final = 4_000
"""Of one frame."""
_LONG: Final = 16_000
"""Characters of text in which secrets are searched for with each delta."""
_TOOLS: Final = (EventType.TOOL_CALL, EventType.TOOL_START, EventType.TOOL_RESULT, EventType.DONE)


class Frames:
    """What a turn shows, as frames for those who follow it elsewhere: text without what may not leave, and only up to
    its last space, because half a secret has no known form; of tools only that they run."""

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner
        self._text = ""
        self._n_said = 0

    def take(self, events: Sequence[Numbered]) -> list[str]:
        frames: list[str] = []
        for each in events:
            event = each.event
            if event.type is EventType.TEXT:
                self._text += event.text
                self._forget_settled()
            elif event.type in _TOOLS:
                frames += self._said(is_all=event.type is EventType.DONE)
                frames.append(json.dumps([event.type.value, "", event.name], ensure_ascii=False))
                if event.type is EventType.DONE:
                    self._text, self._n_said = "", 0
        return frames + self._said(is_all=False)

    def _forget_settled(self) -> None:
        """What was said long ago is not searched again, unless a private key may go on from there."""
        if len(self._text) < _LONG or "PRIVATE KEY" in self._text:
            return
        at = self._text.rfind("\n", 0, len(self._text) - _LONG // 2) + 1
        settled = len(self._cleaner.text(self._text[:at]))
        if 0 < settled <= self._n_said:
            self._text, self._n_said = self._text[at:], self._n_said - settled

    def _said(self, *, is_all: bool) -> list[str]:
        whole = self._cleaner.text(self._text)
        end = len(whole) if is_all else max(whole.rfind(" "), whole.rfind("\n")) + 1
        new, self._n_said = whole[self._n_said : end], max(self._n_said, end)
        return [
            json.dumps([EventType.TEXT.value, new[at : at + _MOST_CHARS], None], ensure_ascii=False)
            for at in range(0, len(new), _MOST_CHARS)
        ]


if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing, Taken


@dataclass(slots=True)
class SharedTurn:
    """From the admission to the last push."""

    sharing: Sharing
    taken: Taken
    running: RunningTurn
    is_apart: bool = False
    """Whether the hub was lost: what follows is pushed when it is back."""
    _shown: asyncio.Queue[Numbered | None] = field(default_factory=asyncio.Queue)
    """None behind the last."""
    _has_committed: asyncio.Event = field(default_factory=asyncio.Event)
    _is_over: bool = False

    def start(self) -> None:
        """Tells the hub of the turn from now on, until it has ended."""
        task = asyncio.create_task(self._run(), name=f"share turn {self.running.id}")
        self.sharing.close_later(self.running.conversation_id, task)

    async def _run(self) -> None:
        assert self.running.task is not None
        saying, pushing = asyncio.create_task(self._say()), asyncio.create_task(self._push_commits())
        keeping = asyncio.create_task(self._keep())
        forget_events = self.sharing.listeners.add(self._hear)
        forget_shown = self.running.follow(self._shown.put_nowait, 0)
        self._has_committed.set()  # the user's message
        try:
            await asyncio.wait([self.running.task])
        finally:
            forget_shown()
            forget_events()
            self._is_over = True
            self._shown.put_nowait(None)
            self._has_committed.set()
            try:
                await asyncio.gather(saying, pushing)
            finally:
                keeping.cancel()
                await self.sharing.release(self.taken)

    def _hear(self, event: FolderEvent) -> None:
        if isinstance(event, ConversationChanged) and event.conversation_id == self.running.conversation_id:
            self._has_committed.set()

    async def _push_commits(self) -> None:
        is_last = False
        while not (is_last or self.is_apart):
            await self._has_committed.wait()
            self._has_committed.clear()
            is_last = self._is_over
            await self._hold(self.sharing.push_step(self.taken))

    async def _keep(self) -> None:
        while not self.is_apart:
            await asyncio.sleep(self.sharing.lease_s / 3)
            await self._hold(self.sharing.renew(self.taken))

    async def _say(self) -> None:
        """What came while the last call was under way goes together in the next."""
        frames, n_said = Frames(self.sharing.terms.cleaner), 0
        is_over = False
        while not (is_over or self.is_apart):
            came = [await self._shown.get()]
            while not self._shown.empty():
                came.append(self._shown.get_nowait())
            is_over = None in came
            if new := frames.take([each for each in came if each is not None]):
                await self._hold(self.sharing.say(self.taken, self.running.id, n_said + 1, new))
                n_said += len(new)

    async def _hold(self, call: Awaitable[bool]) -> None:
        """Once a call did not come through, the turn is apart."""
        if not await call:
            self.is_apart = True
