"""A turn that this server runs: its events, its end, and a way to stop it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import ConversationId, MessageId, TurnId
from palimpsest.domain.models.provider import Pause
from palimpsest.domain.turns.journal import Ending, Numbered
from palimpsest.services.context.admission import Beside
from palimpsest.services.models.editor_models import EditorId
from palimpsest.storage.turns.turns import TurnEnd

Listener = Callable[[Numbered], None]


@dataclass(slots=True)
class RunningTurn:
    """A running turn. It exists from the admission until the turn has ended and nobody follows it."""

    id: TurnId
    conversation_id: ConversationId
    user_message_id: MessageId
    asked_by: EditorId | None = None
    """The editor that started it; None when it was not an editor."""
    beside: Beside | None = None
    """The frame of its admission."""
    shown: list[Numbered] = field(default_factory=list)
    """Every durable event of all steps, in order."""
    task: asyncio.Task[TurnEnd] | None = None
    """The task of the turn, set right after the admission. Its result is the end of the turn. It raises only on
    programming errors and store failures."""
    pause: Pause | None = None
    """The last event of the model call, when the service could not answer and is asked again later."""
    _listeners: list[Listener] = field(default_factory=list)
    _has_begun: bool = False
    _stopped_as: Ending | None = None
    """The state in which it ends, once somebody stopped it."""

    @property
    def n_followers(self) -> int:
        return len(self._listeners)

    def show(self, events: list[Numbered]) -> None:
        """Publish durable events."""
        self.shown += events
        for listener in list(self._listeners):
            for event in events:
                listener(event)

    def follow(self, listener: Listener, after_seq: int) -> Callable[[], None]:
        """Call `listener` with every event after `after_seq`: past events now, later ones as they come. Returns the
        function that ends this."""
        for event in self.shown:
            if event.seq > after_seq:
                listener(event)
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def wait(self) -> TurnEnd:
        """Wait for the end of the turn and return it. Cancelling the waiting task does not cancel the turn."""
        assert self.task is not None
        return await asyncio.shield(self.task)

    def begin(self) -> None:
        """The first call in its task. Raises CancelledError when the turn was stopped before."""
        self._has_begun = True
        if self._stopped_as is not None:
            raise asyncio.CancelledError

    @property
    def stopped_as(self) -> Ending:
        """The end of a turn whose task was cancelled: as `cancel` or `interrupt` said. When neither was called, the
        process ends."""
        return self._stopped_as or Ending.INTERRUPTED

    def cancel(self) -> None:
        """Stop the turn for the user and keep the partial answer. `wait` returns when it has ended."""
        self._stop(Ending.CANCELLED)

    def interrupt(self) -> None:
        """Stop the turn for another reason than the user's wish: the server ends, or nobody follows the turn. The user
        can continue it later."""
        self._stop(Ending.INTERRUPTED)

    def retry_now(self) -> bool:
        """Ask the model again at once. Returns whether the turn waited for that."""
        pause, self.pause = self.pause, None
        if pause is not None:
            pause.skip()
        return pause is not None

    def _stop(self, ending: Ending) -> None:
        """The first caller decides the state. A later call does not cancel again, which would hit a tool that cleans
        up."""
        if self._stopped_as is not None:
            return
        self._stopped_as = ending
        # A task that is cancelled before its first step runs no step, so nothing would close the turn.
        if self._has_begun and self.task is not None:
            self.task.cancel()


async def begun(starting: Awaitable[RunningTurn | TurnId], stop: Callable[[RunningTurn], None]) -> RunningTurn | TurnId:
    """The turn that `starting` begins. When the waiting task is cancelled, the turn begins all the same; then `stop` is
    called with it, and its end is awaited."""
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with contextlib.suppress(PalimpsestError):
            if isinstance(turn := await task, RunningTurn):
                stop(turn)
                await turn.wait()
        raise
