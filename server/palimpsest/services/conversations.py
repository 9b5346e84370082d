"""Conversations as people use them: begin, list, read, summarise, switch models."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from palimpsest.domain.chain import StoredMessage
from palimpsest.domain.errors import ErrorDetail, ErrorKind, InvalidRequest, PalimpsestError
from palimpsest.domain.journal import shown_text
from palimpsest.domain.messages import ConversationId, MessageId, Role, TurnId, clean_text
from palimpsest.domain.turns import TurnState, title_of
from palimpsest.services.clock import utc_now
from palimpsest.services.contexts import ContextEngine, Summarized, Switch
from palimpsest.storage import conversations, leases, turns
from palimpsest.storage.conversations import ConversationRecord
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store
from palimpsest.storage.turns import TurnRecord

MAX_PAGE = 1000
DEFAULT_PAGE = 200


class TurnFailed(PalimpsestError):
    """A turn that ended in an error. What it had said is kept."""

    def __init__(self, turn: TurnRecord, error: PalimpsestError) -> None:
        super().__init__(str(error), error.detail)
        self.kind = error.kind
        self.is_retryable = error.is_retryable
        self.turn_id = turn.id


@dataclass(frozen=True, slots=True)
class Running:
    """A turn whose answer is still coming."""

    turn_id: TurnId
    last_seq: int
    text: str
    """What its open step has said so far."""


@dataclass(frozen=True, slots=True)
class Page:
    """Messages, oldest first."""

    record: ConversationRecord
    messages: tuple[StoredMessage, ...]
    next: MessageId | None
    running: Running | None


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """A turn as the store knows it."""

    turn: TurnRecord
    message_ids: tuple[MessageId, ...]
    text: str
    """Everything the assistant has said in it that is committed."""


@dataclass(frozen=True, slots=True)
class Conversations:
    """The conversations of one folder."""

    store: Store
    contexts: ContextEngine
    changed: Callable[[ConversationId], None]

    async def create(self, title: str | None, model: str | None) -> ConversationRecord:
        """A new conversation; without a title, its first message will give one. Raises NotFound for the model."""
        models = self.contexts.models
        chosen = models.default() if model is None else models.get(model)
        models.provider(chosen)
        cleaned, _ = clean_text(title or "")
        conversation_id = ConversationId(uuid.uuid4().hex)
        return await self.store.run(conversations.create, conversation_id, title_of(cleaned), chosen.name, utc_now())

    async def list(self) -> list[tuple[ConversationRecord, TurnId | None]]:
        """The last changed first, each with the turn that runs in it."""

        def read() -> list[tuple[ConversationRecord, TurnId | None]]:
            return [
                (record, None if (turn := turns.running_turn(record.id)) is None else turn.id)
                for record in conversations.list_all()
            ]

        return await self.store.read(read)

    async def holds(self, conversation_id: ConversationId) -> bool:
        return await self.store.read(conversations.find, conversation_id) is not None

    async def holds_turn(self, turn_id: TurnId) -> bool:
        return await self.store.read(turns.has_turn, turn_id)

    async def read(self, conversation_id: ConversationId, start: int | None, limit: int | None) -> Page:
        """A page of messages, and what a running turn has said so far, as of one moment."""
        first = 0 if start is None else start
        count = DEFAULT_PAGE if limit is None else limit
        if first < 0 or not 1 <= count <= MAX_PAGE:
            raise InvalidRequest(f"Read from message 0 or later, and 1 to {MAX_PAGE} messages at a time.")

        def read() -> Page:
            record = conversations.get(conversation_id)
            messages = conversations.read_messages(conversation_id, first, first + count)
            turn = turns.running_turn(conversation_id)
            running = None
            if turn is not None:
                events = [numbered.event for numbered in turns.read_journal(turn.id)]
                running = Running(turn.id, turn.last_seq, shown_text(events))
            following = MessageId(first + count) if first + count < record.n_messages else None
            return Page(record, tuple(messages), following, running)

        return await self.store.read(read)

    async def outcome(self, turn_id: TurnId) -> TurnOutcome:
        """A turn and its committed messages. Raises NotFound."""

        def read() -> TurnOutcome:
            turn = turns.find(turn_id)
            ids = turns.message_ids(turn_id)
            messages = conversations.read_messages(turn.conversation_id, ids[0], ids[-1] + 1) if ids else []
            said = [m.content.text for m in messages if m.turn_id == turn_id and m.content.role is Role.ASSISTANT]
            return TurnOutcome(turn, tuple(ids), "".join(said))

        return await self.store.read(read)

    async def require_success(self, turn_id: TurnId) -> TurnOutcome:
        """The outcome of an ended turn. Raises TurnFailed for one that errored."""
        outcome = await self.outcome(turn_id)
        turn = outcome.turn
        if turn.state is TurnState.ERRORED:
            error = PalimpsestError(turn.error_message or "The turn failed.", ErrorDetail(model=turn.model))
            error.kind = turn.error_kind or ErrorKind.INTERNAL
            error.is_retryable = error.kind in (ErrorKind.OVERLOADED, ErrorKind.RATE_LIMITED, ErrorKind.NETWORK)
            raise TurnFailed(turn, error)
        return outcome

    async def conversation_of_request(self, request_id: str) -> ConversationId | None:
        """Where a request that is repeated had made its turn."""
        return await self.store.read(turns.conversation_of_request, request_id)

    async def summarize(
        self, conversation_id: ConversationId, wanted: tuple[MessageId, MessageId] | None
    ) -> Summarized:
        """Raises ConversationBusy while a turn or another change holds the conversation."""
        async with self._writing(conversation_id, "a summary") as lease:
            state = await self.contexts.state(conversation_id)
            return await self.contexts.summarize(state, lease, wanted)

    async def switch_model(self, conversation_id: ConversationId, name: str) -> Switch:
        """Raises NotFound for a model that is unknown or not configured, ConversationBusy while a turn runs."""
        models = self.contexts.models
        model = models.get(name)
        models.provider(model)
        async with self._writing(conversation_id, "a model switch") as lease:
            state = await self.contexts.state(conversation_id)
            switch = await self.contexts.switch_model(state, lease, model)
        self.changed(conversation_id)
        return switch

    @contextlib.asynccontextmanager
    async def _writing(self, conversation_id: ConversationId, holder: str) -> AsyncIterator[HeldLease]:
        """The conversation's lease, for as long as the block runs."""

        def acquire() -> HeldLease:
            conversations.get(conversation_id)
            return leases.acquire(conversation_id, self.store.server_id, holder, self.store.is_alive, utc_now())

        lease = await self.store.run(acquire)
        try:
            yield lease
        finally:
            await self.store.run(leases.release, lease)
