"""One conversation in the real engine, over a store of its own: what benchmarks feed and measure."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from palimpsest.data import load_model_table
from palimpsest.data.prompts import load_prompts
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import Content, ConversationId, TurnId
from palimpsest.domain.models.limits import LimitsSource, Model, ModelLimits, compute_budget
from palimpsest.domain.models.provider import Provider
from palimpsest.domain.offline.places import Found
from palimpsest.domain.settings.settings import ContextSettings, Layout, Settings
from palimpsest.domain.turns.states import TurnState
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.services.context.engine import ContextEngine, always, quoting
from palimpsest.services.context.model_switch import switch_model
from palimpsest.services.context.recall import Recall
from palimpsest.services.context.requests import Requests
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.summaries.choice import SummarizerChoice
from palimpsest.services.context.summaries.summarizers import Summarizer
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.leases import Leases
from palimpsest.services.models.catalog import Models, with_override
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.models.helper import Helpers
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.storage import leases
from palimpsest.storage.context import cuts
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.leases import HeldLease
from palimpsest.storage.store import Store, open_store
from palimpsest.storage.turns import turns
from palimpsest.storage.turns.turns import TurnEnd, TurnRequest
from palimpsest_clients.offline import OfflineProvider

_WRITER: Final = "summaries"
"""The name of the model that writes summaries."""


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

    async def rest(self) -> None:
        """What a server does while its model answers: the notebook is read, and summaries are written ahead."""
        self.engine.consider_writing_ahead(self.context)
        await self.engine.background.settle(self.state.id)

    async def switch(self, budget: int) -> None:
        """Goes on with a model of that budget: one that the conversation was opened for, or its first."""
        models = self.engine.models
        name = switched(budget) if switched(budget) in models.overrides else "offline"
        await switch_model(self.engine, self.context, models.get(name))

    async def close(self) -> None:
        await self.engine.background.close()
        await self.store.close()


@dataclass(frozen=True)
class Setup:
    """What a user's settings and model say about a conversation."""

    layout: Layout = "log"
    recalls: bool = False
    """Whether turns are told what their context lacks (`librarian.enabled`)."""
    is_capped: bool = True
    """Whether `context.max_tokens` is what limits requests; else the model's window does."""
    counts_as: str = "offline"
    """The model of the catalog whose tokens count, by its estimator."""
    summaries_by: Provider | None = None
    """The service of the model that writes summaries (`summarization.kind = hybrid`); None for none."""
    context: Mapping[str, float] = field(default_factory=dict)
    """Other fields of the context settings."""
    writer: Model | None = None
    """That model; None for one that counts as the offline one."""

    @functools.cached_property
    def estimator(self) -> Estimator:
        found = load_model_table().find(self.counts_as)
        assert found is not None
        return found.estimator

    @property
    def factor(self) -> float:
        """The model's tokens for one of cl100k."""
        return self.estimator.factor

    def raw_budget(self, budget: int) -> int:
        """Tokens of cl100k that `budget` tokens of the model are."""
        return int(budget / self.factor)


def model_of(base: Model, name: str, budget: int) -> Model:
    """A model whose window leaves exactly `budget` tokens for a request."""
    limits = ModelLimits(4 * budget, budget)
    margin = compute_budget(limits).margin
    return replace(base, name=name, limits=replace(limits, max_input=budget + margin), source=LimitsSource.OVERRIDE)


async def open_conversation(
    directory: Path, budget: int, frame: Frame, setup: Setup | None = None, more_budgets: Sequence[int] = ()
) -> Conversation:
    """A new one in a new store, with `budget` tokens for every request. `more_budgets`: of models that it may be
    switched to, which are named by `switched`. The caller closes the store."""
    setup = setup or Setup()
    settings = Settings(
        context=ContextSettings(
            max_tokens=budget if setup.is_capped else 0,
            layout=setup.layout,
            summary_model=None if setup.summaries_by is None else _WRITER,
            **dict[str, Any](setup.context),
        )
    )
    table = load_model_table()
    offline = table.find("offline")
    assert offline is not None
    base = replace(offline, estimator=setup.estimator)
    largest = budget if not setup.is_capped else 2 * budget
    providers: dict[str, Provider] = {offline.provider: OfflineProvider(_nothing)}
    models = with_override(Models(table, providers, {}, settings), model_of(base, offline.name, largest))
    for each in more_budgets:
        models = with_override(models, model_of(base, switched(each), each))
    store = await open_store(directory / "store")
    tokenizers = Tokenizers(directory / "vocabularies")
    choose_summarizer: Callable[[Model, EditorId | None], Awaitable[Summarizer]] = quoting
    if setup.summaries_by is not None:
        writer = replace(setup.writer or offline, name=_WRITER, provider=setup.summaries_by.name)
        models = with_override(models, writer)
        models = replace(models, providers={**providers, writer.provider: setup.summaries_by})
        helpers = Helpers(models, tokenizers)
        choose_summarizer = SummarizerChoice(helpers, settings.context, load_prompts()).choose
    background = Background()
    engine = ContextEngine(
        *(Leases(store, background), models, tokenizers, settings.context),
        *(always(frame), lambda _: None, choose_summarizer),
    )
    conversation_id = ConversationId("benchmark")
    await store.run(conversations.create, conversation_id, "benchmark", offline.name, utc_now())
    lease = await store.run(leases.acquire, store.writer(utc_now()), conversation_id, "a benchmark")
    context = await engine.hold(lease)
    assert context.state.budget.budget == budget
    return Conversation(store, engine, Requests(engine, Recall(store) if setup.recalls else None), context)


def switched(budget: int) -> str:
    """The name of the model with that budget."""
    return f"with-{budget}"


async def _nothing(_: ConversationId, __: str) -> Found:
    raise AssertionError("nobody asks the offline model in a benchmark")
