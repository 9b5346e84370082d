"""The turn engine: admits turns, starts them, and knows which ones run.

A turn is a task of its own. It outlives the request that started it: an editor may leave, and the turn goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import (
    HubIsAway,
    InvalidRequest,
    SharedIsAway,
)
from palimpsest.domain.messages import Content, ConversationId, TurnId
from palimpsest.domain.turns.recovery import Rerun
from palimpsest.domain.turns.states import TURN
from palimpsest.machine import machine, utc_now
from palimpsest.services.context.admission import Admission, Beside
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.turns.reruns import check_again
from palimpsest.services.turns.run import TurnRun, TurnServices
from palimpsest.services.turns.running import RunningTurn
from palimpsest.services.turns.shared_turn import SharedTurn
from palimpsest.storage import leases
from palimpsest.storage.conversation import conversations
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store
from palimpsest.storage.turns import recovery as recovering
from palimpsest.storage.turns import turn_records, turns
from palimpsest.storage.turns.recovery import Reopened
from palimpsest.storage.turns.turn_records import TurnRecord
from palimpsest.storage.turns.turns import TurnEnd, TurnRequest

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.sharing import Sharing, Taken


@dataclass(slots=True)
class _Held:
    """The right to write a shared conversation, until a turn begins with it."""

    sharing: Sharing | None
    taken: Taken | None
    """None: the conversation is not shared."""
    has_begun: bool = False

    @property
    def mine(self) -> HeldLease | None:
        return None if self.taken is None else self.taken.mine

    def begin(self, running: RunningTurn) -> None:
        if self.sharing is not None and self.taken is not None:
            self.has_begun = True
            SharedTurn(self.sharing, self.taken, running).start()


def _hand_over(held: HeldLease | None) -> None:
    """Inside the transaction that takes the lease anew for a turn. Raises LeaseLost."""
    if held is not None:
        leases.check(held)
        leases.release(held)


@dataclass(slots=True)
class TurnEngine:
    """The turns of one store: at most one per conversation, in many conversations at once."""

    services: TurnServices
    running: dict[TurnId, RunningTurn] = field(default_factory=dict)
    asked_by: dict[ConversationId, EditorId | None] = field(default_factory=dict)
    """The editor that asked for the newest turn of each conversation."""

    @property
    def store(self) -> Store:
        return self.services.store

    @property
    def contexts(self) -> ContextEngine:
        return self.services.contexts

    async def start(
        self,
        conversation_id: ConversationId,
        request_id: str,
        content: Content,
        asked_by: EditorId | None = None,
        pictures: Sequence[bytes] = (),
    ) -> RunningTurn | TurnId:
        """Admit a turn with the user's message and start it, for the editor `asked_by`. `pictures`: the bytes of those
        in the message. Returns the id of the turn
        when an earlier call with this `request_id` began one that has ended.

        The user's message is durable when this returns. Raises InvalidRequest, NotFound, ConversationBusy or
        RecentMessagesTooLarge; nothing is stored then. Cancelling the caller meanwhile cancels the turn.
        """
        return await _started(self._start(conversation_id, request_id, content, None, asked_by, pictures))

    async def begin(
        self,
        conversation: ConversationRecord,
        request_id: str,
        content: Content,
        asked_by: EditorId | None = None,
        pictures: Sequence[bytes] = (),
    ) -> RunningTurn | TurnId:
        """Like `start`, for a new conversation, which is stored together with its first message or not at all."""
        return await _started(self._start(conversation.id, request_id, content, conversation, asked_by, pictures))

    async def go_on(
        self,
        ended: TurnId,
        how: Rerun,
        conversation_id: ConversationId | None = None,
        asked_by: EditorId | None = None,
    ) -> RunningTurn | TurnId:
        """Start a turn for the user's message of an ended turn: to continue its partial answer, or to hide that answer
        and write another. Returns the id of the turn when an earlier call with the same choice began one that has
        ended. `conversation_id`: a fork of the ended turn's conversation; None means that conversation itself.

        Raises InvalidRequest, NotFound or ConversationBusy; nothing is changed then. Cancelling the caller meanwhile
        cancels the turn.
        """
        return await _started(self._go_on(ended, how, conversation_id, asked_by))

    async def _start(
        self,
        conversation_id: ConversationId,
        request_id: str,
        content: Content,
        new: ConversationRecord | None,
        asked_by: EditorId | None,
        pictures: Sequence[bytes],
    ) -> RunningTurn | TurnId:
        async with self._held(None if new is not None else conversation_id, request_id) as held:
            while True:
                frame = await self.contexts.frame_now()  # the message must fit beside the frame
                state = await (self.contexts.state(conversation_id) if new is None else self.contexts.begin(new, frame))
                self.contexts.models.provider(state.model)  # may raise, and no turn has begun yet
                if not content.text.strip() and not content.images:
                    raise InvalidRequest("The message has no readable character. Write something, then send it.")
                if content.images and state.model.images is None:
                    raise InvalidRequest(
                        f"The model {state.model.name} sees no pictures, so nothing was sent. Take the picture out of "
                        "the message, or choose a model that sees. If this one does, set "
                        f"`models.{state.model.service_name}.images` to true."
                    )
                accepted, beside = await Admission(self.contexts).check(state, content, frame)
                await self.contexts.leases.settle(conversation_id)
                with contextlib.suppress(conversations.Switched):  # it is checked again, for the new model or layout
                    request = TurnRequest(request_id, accepted.contents[0], accepted.counts, pictures)
                    admission = await self.store.run(self._admit, state.record, request, new, held.mine)
                    break
            turn, lease = admission.turn, admission.lease
            if lease is None:
                return self.running.get(turn.id) or turn.id
            # Messages that came in between (from another server, or from a turn just closed) are not in `state`. It is
            # left behind the store then, and read again when the turn runs.
            if admission.message is not None and admission.message.id == state.n_messages:
                self.contexts.appended(state, [admission.message], accepted)
            return self._set_going(turn, lease, None, asked_by, beside, held)

    def _admit(
        self,
        checked: ConversationRecord,
        request: TurnRequest,
        new: ConversationRecord | None,
        held: HeldLease | None,
    ) -> turns.Admission:
        """Runs in a transaction. Raises Switched when the message was checked for another model or layout, and before
        that ConversationBusy: beside a running turn, the check used that turn's model. `held`: the lease that the turn
        takes over."""
        turn_id, writer = TurnId(machine.new_id()), self.store.writer(utc_now())
        _hand_over(held)
        admission = turns.admit(writer, turn_id, checked.id, request, new)
        if new is None and admission.lease is not None:
            conversations.require_same(checked)
        return admission

    async def _go_on(
        self, ended: TurnId, how: Rerun, fork: ConversationId | None, asked_by: EditorId | None
    ) -> RunningTurn | TurnId:
        record = await self.store.read(turn_records.find, ended)
        conversation_id = fork or record.conversation_id
        if (made := await self.store.read(recovering.made_by, ended, how, conversation_id)) is not None:
            return self.running.get(made.id) or made.id
        async with self._held(conversation_id, None) as held:
            while True:
                state = await self.contexts.state(conversation_id)
                self.contexts.models.provider(state.model)  # may raise, and no turn has begun yet
                if (made := await self.store.read(recovering.made_by, ended, how, conversation_id)) is not None:
                    return self.running.get(made.id) or made.id
                frame = await self.contexts.frame_now()
                beside = await check_again(self.contexts, state, record.user_message_id, how, frame)
                await self.contexts.leases.settle(conversation_id)
                with contextlib.suppress(conversations.Switched):
                    reopened = await self.store.run(self._reopen, state.record, ended, how, held.mine)
                    break
            if reopened.lease is None:
                return self.running.get(reopened.turn.id) or reopened.turn.id
            return self._set_going(reopened.turn, reopened.lease, reopened, asked_by, beside, held)

    def _reopen(self, checked: ConversationRecord, ended: TurnId, how: Rerun, held: HeldLease | None) -> Reopened:
        """Runs in a transaction. Raises Switched like `_admit`."""
        turn_id, writer = TurnId(machine.new_id()), self.store.writer(utc_now())
        _hand_over(held)
        reopened = recovering.reopen(writer, turn_id, ended, how, checked.id)
        if reopened.lease is not None:
            conversations.require_same(checked)
        return reopened

    @contextlib.asynccontextmanager
    async def _held(self, conversation_id: ConversationId | None, request_id: str | None) -> AsyncIterator[_Held]:
        """The right to write a shared conversation; it is given back unless a turn begins with it. Nothing is held of
        one that is not shared, or not stored yet (None), nor for a request that has made a turn already."""
        sharing, taken = self.services.sharing, None
        if sharing is not None and conversation_id is not None:
            known = None if request_id is None else await self.store.read(turn_records.find_requested, request_id)
            try:
                taken = None if known is not None else await sharing.take(conversation_id, TURN)
            except HubIsAway as error:
                raise SharedIsAway from error
        held = _Held(sharing, taken)
        try:
            yield held
        finally:
            if sharing is not None and taken is not None and not held.has_begun:
                await sharing.give_back(taken)

    def _set_going(
        self,
        turn: TurnRecord,
        lease: HeldLease,
        reopened: Reopened | None,
        asked_by: EditorId | None,
        beside: Beside,
        held: _Held,
    ) -> RunningTurn:
        running = RunningTurn(turn.id, turn.conversation_id, turn.user_message_id, asked_by, beside)
        self.running[turn.id] = running
        self.asked_by[turn.conversation_id] = asked_by
        run = TurnRun(self.services, running, lease, reopened).run()
        running.task = asyncio.create_task(run, name=f"turn {turn.id}")
        running.task.add_done_callback(lambda task: self._forget(turn.id, lease, task))
        held.begin(running)
        self.services.changed(turn.conversation_id)
        return running

    def _forget(self, turn_id: TurnId, lease: HeldLease, task: asyncio.Task[TurnEnd]) -> None:
        self.running.pop(turn_id, None)
        self.contexts.let_go(lease)
        if not task.cancelled():
            task.exception()  # already logged; a caller that waits for the turn gets it too


async def _started(starting: Coroutine[None, None, RunningTurn | TurnId]) -> RunningTurn | TurnId:
    """The turn, begun entirely or not at all. When the waiting task is cancelled, the turn is cancelled once it
    began."""
    task = asyncio.create_task(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_cancel_started)
        raise


def _cancel_started(starting: asyncio.Task[RunningTurn | TurnId]) -> None:
    if not starting.cancelled() and starting.exception() is None and isinstance(turn := starting.result(), RunningTurn):
        turn.cancel()
