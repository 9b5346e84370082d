"""One conversation in the real engine, over a store of its own: what benchmarks feed and measure."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from palimpsest.data import load_model_table
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import Content, ConversationId, TurnId
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.settings.settings import ContextSettings, Layout, Settings
from palimpsest.domain.turns.states import TurnState
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.services.context.engine import ContextEngine, always
from palimpsest.services.context.recall import Recall
from palimpsest.services.context.requests import Requests
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.leases import Leases
from palimpsest.services.models.catalog import Models, with_override
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.storage import leases
from palimpsest.storage.context import cuts
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store, open_store
from palimpsest.storage.turns import turns
from palimpsest.storage.turns.turns import TurnEnd, TurnRequest


@dataclass(slots=True)
class Conversation:
    """With the offline model: its tokens are cl100k's, and its summaries need no model."""

    store: Store
    engine: ContextEngine
    requests: Requests
    context: WritableContext
    _turn_id: TurnId | None = None
    """The turn that goes on."""

    @property
    def state(self) -> ContextState:
        return self.context.state

    async def ask(self, content: Content) -> TurnId:
        """Stores a user's message as the beginning of a turn, which ends when the next one begins."""
        state, store = self.state, self.store
        accepted = await self.engine.accept(state, [content])
        turn_id = TurnId(uuid.uuid4().hex)

        def write() -> tuple[StoredMessage, HeldLease]:
            if self._turn_id is None:
                leases.release(self.context.lease)
            else:
                turns.end_turn(self.context.lease, self._turn_id, TurnEnd(TurnState.COMMITTED), utc_now())
            writer = store.writer(utc_now())
            admitted = turns.admit(writer, turn_id, state.id, TurnRequest(turn_id, content, accepted.counts))
            assert admitted.lease is not None
            assert admitted.message is not None
            return admitted.message, admitted.lease

        stored, self.context.lease = await store.run(write)
        self._turn_id = turn_id
        self.engine.appended(state, [stored], accepted)
        return turn_id

    async def append(self, contents: Sequence[Content]) -> None:
        """Stores messages in one transaction, as a step of a turn does."""
        state = self.state
        accepted = await self.engine.accept(state, contents)

        def write() -> list[StoredMessage]:
            stored = message_log.append(state.id, contents, utc_now(), turn_id=self._turn_id, counts=accepted.counts)
            previews = {stored[index].id: preview for index, preview in accepted.previews.items()}
            cuts.write_previews(state.id, state.cut.version, previews)
            return stored

        self.engine.appended(state, await self.store.run(write), accepted)


async def open_conversation(
    directory: Path, budget: int, frame: Frame, layout: Layout = "log", *, recalls: bool = False
) -> Conversation:
    """A new one in a new store, with `budget` tokens for every request. `recalls`: whether turns are told what their
    context does not hold. The caller closes the store."""
    settings = Settings(context=ContextSettings(max_tokens=budget, layout=layout))
    table = load_model_table()
    offline = table.find("offline")
    assert offline is not None
    models = with_override(Models(table, {}, {}, settings), with_window(offline, 2 * budget))
    store = await open_store(directory / "store")
    engine = ContextEngine(
        Leases(store, Background()),
        models,
        Tokenizers(directory / "vocabularies"),
        settings.context,
        always(frame),
        lambda _: None,
    )
    conversation_id = ConversationId("benchmark")
    await store.run(conversations.create, conversation_id, "benchmark", offline.name, utc_now())
    lease = await store.run(leases.acquire, store.writer(utc_now()), conversation_id, "a benchmark")
    context = await engine.hold(lease)
    state = context.state
    assert state.budget.budget == state.budget.wall == budget
    return Conversation(store, engine, Requests(engine, Recall(store) if recalls else None), context)
