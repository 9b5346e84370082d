"""One conversation in the real engine, over a store of its own: what benchmarks feed and measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from palimpsest.data import load_model_table
from palimpsest.domain.chain import StoredMessage
from palimpsest.domain.layout import Frame
from palimpsest.domain.limits import with_window
from palimpsest.domain.messages import Content, ConversationId
from palimpsest.domain.settings import ContextSettings, Settings
from palimpsest.services.clock import utc_now
from palimpsest.services.context_state import ContextState
from palimpsest.services.contexts import ContextEngine
from palimpsest.services.models import Models, with_override
from palimpsest.services.tokenizers import Tokenizers
from palimpsest.storage import contexts, conversations, leases
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store, open_store


@dataclass(frozen=True, slots=True)
class Conversation:
    """With the offline model: its tokens are cl100k's, and its summaries need no model."""

    store: Store
    engine: ContextEngine
    state: ContextState
    lease: HeldLease

    async def append(self, contents: Sequence[Content]) -> None:
        """Stores messages in one transaction, as a step of a turn does."""
        state = self.state
        accepted = await self.engine.accept(state, contents)

        def write() -> list[StoredMessage]:
            stored = conversations.append(state.id, contents, utc_now(), counts=accepted.counts)
            previews = {stored[index].id: preview for index, preview in accepted.previews.items()}
            contexts.write_previews(state.id, state.cut.version, previews)
            return stored

        self.engine.appended(state, await self.store.run(write), accepted)


async def open_conversation(directory: Path, budget: int, frame: Frame) -> Conversation:
    """A new one in a new store, with `budget` tokens for every request. The caller closes the store."""
    settings = Settings(context=ContextSettings(max_tokens=budget))
    table = load_model_table()
    offline = table.find("offline")
    assert offline is not None
    models = with_override(Models(table, {}, {}, settings), with_window(offline, 2 * budget))
    store = await open_store(directory / "store")
    engine = ContextEngine(
        store, models, Tokenizers(directory / "vocabularies"), settings.context, frame, lambda _: None
    )
    conversation_id = ConversationId("benchmark")
    await store.run(conversations.create, conversation_id, "benchmark", offline.name, utc_now())
    lease = await store.run(leases.acquire, conversation_id, store.server_id, "a benchmark", store.is_alive, utc_now())
    state = await engine.state(conversation_id)
    assert state.budget.budget == state.budget.wall == budget
    return Conversation(store, engine, state, lease)
