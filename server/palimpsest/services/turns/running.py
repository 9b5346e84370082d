"""A turn that this server runs, as others see it: what it has shown, how it ends, and a way to stop it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId, MessageId, TurnId
from palimpsest.domain.turns.journal import Ending, Numbered
from palimpsest.services.context.admission import Beside
from palimpsest.services.models.editor_models import EditorId
from palimpsest.storage.turns.turns import TurnEnd

Listener = Callable[[Numbered], None]


@dataclass(slots=True)
class RunningTurn:
    """Made when the turn is admitted, forgotten when it has ended and nobody follows it any more."""

    id: TurnId
    conversation_id: ConversationId
    user_message_id: MessageId
    asked_by: EditorId | None = None
    """The editor that asked for it; None for what is no editor."""
    beside: Beside | None = None
    """What it was admitted beside."""
    shown: list[Numbered] = field(default_factory=list)
    """Every event that is durable, in order, of all steps."""
    task: asyncio.Task[TurnEnd] | None = None
    """Runs the turn; set right after admission. Its result is how the turn ended; it raises only on programming
    errors and store failures."""
    _listeners: list[Listener] = field(default_factory=list)
    _has_begun: bool = False
    _stopped_as: Ending | None = None
    """How it ends, once it was asked to stop."""

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
        if self._stopped_as is not None:
            raise asyncio.CancelledError

    @property
    def stopped_as(self) -> Ending:
        """How a turn ends whose task was cancelled: as whoever stopped it said. Nobody did: the process ends."""
        return self._stopped_as or Ending.INTERRUPTED

    def cancel(self) -> None:
        """The user wants the turn to stop; what was said is kept. `wait` tells when it has."""
        self._stop(Ending.CANCELLED)

    def interrupt(self) -> None:
        """As `cancel`, where the user did not ask for it: the server ends, or nobody follows the turn any more. It is
        offered to be continued."""
        self._stop(Ending.INTERRUPTED)

    def _stop(self, ending: Ending) -> None:
        """The first who asks says why; nobody who asks again hits a tool while it cleans up."""
        if self._stopped_as is not None:
            return
        self._stopped_as = ending
        # A task that is cancelled before its first step runs none, so nothing would close the turn.
        if self._has_begun and self.task is not None:
            self.task.cancel()


async def begun(starting: Awaitable[RunningTurn | TurnId], stop: Callable[[RunningTurn], None]) -> RunningTurn | TurnId:
    """The turn that `starting` begins. When whoever waits is cancelled, the turn is begun all the same, `stop` is
    called with it, and its end waited for."""
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with contextlib.suppress(PalimpsestError):
            if isinstance(turn := await task, RunningTurn):
                stop(turn)
                await turn.wait()
        raise
