"""Other servers on the same folder: their changes are seen by SQLite's data version and published like our own.

Servers communicate through the store only. A server that follows a turn reads the durable events of the server that
runs it. A server that wants to stop a turn writes that to the store, and the server that runs it looks there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from traceback import format_tb
from typing import Final

from palimpsest.domain.errors import CLOSED, PalimpsestError, StoreError
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.turns.journal import EventType, JournalEvent, Numbered
from palimpsest.machine import utc_now
from palimpsest.services.turns.running import Listener, RunningTurn
from palimpsest.storage.store import Store
from palimpsest.storage.turns import stream_journal, turn_records, turns
from palimpsest.storage.turns.turn_records import ConversationState

log = logging.getLogger(__name__)

INTERVAL_S: Final = 0.1
CANCEL_WAIT_S: Final = 10
"""The longest wait of a cancel for the server that runs the turn."""


@dataclass(slots=True)
class Following:
    """Watches one store while it is open, and looks only while somebody is interested."""

    store: Store
    running: Mapping[TurnId, RunningTurn]
    """The running turns of this server."""
    changed: Callable[[ConversationId], None]
    """Called with each conversation that another server has changed, locked or unlocked. It may also be called for a
    change of this server."""
    is_watched: Callable[[], bool]
    """Whether an editor is attached."""
    interval_s: float = INTERVAL_S
    _version: int = 0
    _states: Mapping[ConversationId, ConversationState] = field(default_factory=dict)
    _cancelled: frozenset[TurnId] = frozenset()
    """Turns that were stopped for another server: a second cancel would interrupt their cleanup."""
    _buried: set[str] = field(default_factory=set)
    """Dead servers whose turns are closed already."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at the next change, and then replaced by a new one."""
    _n_followers: int = 0
    _followed_no_more: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while nobody follows a turn here."""
    _is_closed: bool = False
    _watching: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self._followed_no_more.set()

    @property
    def is_followed(self) -> bool:
        """Whether anybody follows a turn here."""
        return self._n_followers > 0

    async def wait_until_free(self) -> None:
        """Wait until nobody follows a turn here."""
        await self._followed_no_more.wait()

    async def start(self) -> None:
        """Begin to watch."""
        self._version = await self.store.data_version()
        self._states = await self.store.read(turn_records.conversation_states)
        self._watching = asyncio.create_task(self._watch(), name="following")

    async def close(self) -> None:
        """Stop watching, before the store closes. The followers of turns get an error."""
        self._is_closed = True
        self._news.set()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def follow(self, turn_id: TurnId, after_seq: int, show: Listener) -> None:
        """Show the events of a turn, from the one after `after_seq` to its end. The turn runs on another server, or has
        just begun on this one.

        A step that was committed before its events were read comes as one piece of text, in full also when `after_seq`
        lies in it. Returns early when no server will end the turn, because this one could not close it. Raises
        NotFound, and StoreError when the store is closed meanwhile.
        """
        last, of_step, n_shown = after_seq, None, 0
        self._n_followers += 1
        self._followed_no_more.clear()
        try:
            while True:
                news = self._news
                said = await self.store.read(stream_journal.progress_after, turn_id, last)
                for step_id, last_seq, text in said.committed:
                    if rest := text[n_shown if step_id == of_step else 0 :]:
                        show(Numbered(last_seq, JournalEvent(EventType.TEXT, rest)))
                    last = last_seq
                of_step, n_shown = said.open_step, said.n_before
                for each in said.events:
                    show(each)
                    last = each.seq
                    n_shown += len(each.event.text) if each.event.type is EventType.TEXT else 0
                if said.turn.state.is_final:
                    return
                if said.holder == self.store.server_id:
                    await self._follow_own(turn_id, last, show)
                    return
                if self._is_closed:
                    raise StoreError(CLOSED)
                if said.holder is None:
                    await self._close_open_turns()
                else:
                    await news.wait()
        finally:
            self._n_followers -= 1
            if not self._n_followers:
                self._followed_no_more.set()

    async def _follow_own(self, turn_id: TurnId, after_seq: int, show: Listener) -> None:
        """A turn of this server that the caller did not find running: it is in the store a moment earlier."""
        await self.store.data_version()  # after the admission, on the writer's thread
        if (own := self.running.get(turn_id)) is None:
            return
        unfollow = own.follow(show, after_seq)
        try:
            await own.wait()
        finally:
            unfollow()

    async def cancel(self, turn_id: TurnId) -> None:
        """Ask the server that runs the turn to stop it, and wait for that, with a time limit: that server may hang."""
        await self.store.run(turn_records.request_cancel, turn_id)
        if (own := self.running.get(turn_id)) is not None:
            own.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CANCEL_WAIT_S):
                await self.follow(turn_id, sys.maxsize, lambda _: None)

    async def _watch(self) -> None:
        has_failed = False
        while True:
            await asyncio.sleep(self.interval_s)
            if not (self.running or self._n_followers or self.is_watched()):
                continue
            try:
                await self._look()
                has_failed = False
            except Exception as error:  # whatever it is, the next look may succeed, and nobody else looks
                if not has_failed:
                    kind = error.kind if isinstance(error, PalimpsestError) else type(error).__name__
                    frames = "" if isinstance(error, PalimpsestError) else "".join(format_tb(error.__traceback__))
                    log.warning("other servers cannot be followed: %s\n%s", kind, frames.rstrip())
                has_failed = True

    async def _look(self) -> None:
        version = await self.store.data_version()
        if version != self._version:
            await self._take_in()
            self._version = version
        holders = {each.holder for each in self._states.values() if each.holder is not None}
        others = holders - self._buried - {self.store.server_id}
        # A dying server writes nothing, so its lock is checked each time.
        if others and (dead := await asyncio.to_thread(self._dead_of, others)):
            await self._close_open_turns()
            self._buried |= dead

    def _dead_of(self, server_ids: set[str]) -> set[str]:
        return {each for each in server_ids if not self.store.is_alive(each)}

    async def _close_open_turns(self) -> None:
        """Close the turns of dead servers: commit what these turns had shown."""
        await self.store.run(turns.recover, self.store.writer(utc_now()))
        await self._take_in()

    async def _take_in(self) -> None:
        """Read the changes and publish them."""
        own = list(self.running)

        def read() -> tuple[dict[ConversationId, ConversationState], list[TurnId]]:
            return turn_records.conversation_states(), turn_records.cancels_among(own) if own else []

        states, cancels = await self.store.read(read)
        for turn_id in cancels:
            if turn_id not in self._cancelled and (turn := self.running.get(turn_id)) is not None:
                turn.cancel()
        self._cancelled = frozenset(cancels)
        before, self._states = self._states, states
        news, self._news = self._news, asyncio.Event()
        news.set()
        for conversation_id, state in states.items():
            if before.get(conversation_id) != state:
                self.changed(conversation_id)
