"""A turn that this server runs, as others see it: what it has shown, how it ends, and a way to stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from palimpsest.domain.journal import Numbered
from palimpsest.domain.messages import ConversationId, MessageId, TurnId
from palimpsest.storage.turns import TurnEnd

Listener = Callable[[Numbered], None]


@dataclass(slots=True)
class RunningTurn:
    """Made when the turn is admitted, forgotten when it has ended and nobody follows it any more."""

    id: TurnId
    conversation_id: ConversationId
    user_message_id: MessageId
    shown: list[Numbered] = field(default_factory=list)
    """Every event that is durable, in order, of all steps."""
    task: asyncio.Task[TurnEnd] | None = None
    """Runs the turn; set right after admission. Its result is how the turn ended; it raises only on programming
    errors and store failures."""
    _listeners: list[Listener] = field(default_factory=list)
    _has_begun: bool = False
    _is_cancelled: bool = False
    """Whether it was asked to stop before it had begun."""

    @property
    def n_followers(self) -> int:
        return len(self._listeners)

    def show(self, events: list[Numbered]) -> None:
        """Publishes durable events."""
        self.shown += events
        for listener in list(self._listeners):
            for event in events:
                listener(event)

    def follow(self, listener: Listener, after_seq: int) -> Callable[[], None]:
        """Calls `listener` with every event after `after_seq`: those shown already at once, the others as they come.
        Returns what ends it."""
        for event in self.shown:
            if event.seq > after_seq:
                listener(event)
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def wait(self) -> TurnEnd:
        """How it ended. Cancelling the waiting task does not cancel the turn."""
        assert self.task is not None
        return await asyncio.shield(self.task)

    def begin(self) -> None:
        """First thing in its task. Raises CancelledError when it was asked to stop before."""
        self._has_begun = True
        if self._is_cancelled:
            raise asyncio.CancelledError

    def cancel(self) -> None:
        """Asks the turn to stop; what was said is kept. `wait` tells when it has."""
        # A task that is cancelled before its first step runs none, so nothing would close the turn.
        self._is_cancelled = True
        if self._has_begun and self.task is not None:
            self.task.cancel()
