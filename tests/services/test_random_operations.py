"""Whatever is done to a conversation, in whatever order, the invariants of its history and context hold (1, 4-9)."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.services.scripted import Bench, calls, open_bench, says

from palimpsest.domain.chain import first_broken
from palimpsest.domain.cut import Block, is_partition
from palimpsest.domain.errors import InvalidRequest, RecentMessagesTooLarge
from palimpsest.domain.ledger import missing
from palimpsest.domain.limits import with_window
from palimpsest.domain.messages import MessageId, SummaryId
from palimpsest.domain.provider import ToolSchema
from palimpsest.services.models import with_override
from palimpsest.services.replay import pairs_are_whole
from palimpsest.services.tools import Tool, ToolOutput
from palimpsest.storage import conversations as stored

RULES = [
    "Never use tabs.",
    "Always use tabs.",
    "Always run the linter before you commit.",
    "From now on, use metric units.",
]


async def check(b: Bench) -> None:
    """Everything that must hold between two operations."""
    page = await b.session.conversations.read(b.conversation_id, 0, 1000)
    assert first_broken(page.messages) is None
    state = await b.session.contexts.state(b.conversation_id)
    hidden = await b.session.store.read(stored.hidden_ranges, b.conversation_id)
    ids = {MessageId(each) for h in hidden for each in range(h.start, h.end)}
    assert is_partition(state.pieces, page.record.n_messages, ids)
    assert pairs_are_whole(tuple(piece.content for piece in state.pieces))
    pieces = state.pieces
    b.session.contexts.forget(b.conversation_id)
    assert (await b.session.contexts.state(b.conversation_id)).pieces == pieces, "a restart shows another context"
    for context in b.provider.seen:
        assert pairs_are_whole(context.messages)
    b.provider.seen.clear()


class Operations:
    """Things a user and a model may do, drawn at random."""

    def __init__(self, b: Bench, chance: random.Random) -> None:
        self.b, self.chance, self.n_asked = b, chance, 0

    async def ask(self) -> None:
        self.n_asked += 1
        rule = self.chance.choice(RULES) if self.chance.random() < 0.2 else ""
        text = f"{rule} Question {self.n_asked}. " + "It is wet here. " * self.chance.randint(1, 60)
        self.b.provider.replies = [says("The pump is on. " * self.chance.randint(1, 120))]
        if self.chance.random() < 0.4:
            named = [(f"{self.n_asked}-{n}", "read", "{}") for n in range(self.chance.randint(1, 3))]
            self.b.provider.replies.insert(0, calls(*named))
        assert await self.b.ask(text, f"request {self.n_asked}") == "committed"
        ledger_of = await self.b.session.contexts.compactor(await self.b.session.contexts.state(self.b.conversation_id))
        state = await self.b.session.contexts.state(self.b.conversation_id)
        lost = missing(await ledger_of.ledger(state), state.pieces)
        assert not lost

    async def summarize(self) -> None:
        end = (await self.b.session.contexts.state(self.b.conversation_id)).n_messages
        if end > 1:
            start = self.chance.randint(0, end - 2)
            wanted = (MessageId(start), MessageId(self.chance.randint(start + 1, end)))
            await self.b.session.conversations.summarize(self.b.conversation_id, wanted)

    async def expand(self) -> None:
        if summary := await self._any_summary():
            with contextlib.suppress(InvalidRequest):
                await self.b.session.conversations.expand(self.b.conversation_id, summary)

    async def regenerate(self) -> None:
        if summary := await self._any_summary():
            with contextlib.suppress(InvalidRequest):
                await self.b.session.conversations.regenerate(self.b.conversation_id, summary)

    async def undo(self) -> None:
        with contextlib.suppress(InvalidRequest):
            await self.b.session.conversations.undo(self.b.conversation_id)

    async def roll_back(self) -> None:
        end = (await self.b.session.contexts.state(self.b.conversation_id)).n_messages
        if end:
            to = MessageId(self.chance.randint(max(0, end - 12), end - 1))
            await self.b.session.conversations.roll_back(self.b.conversation_id, to)

    async def fork(self) -> None:
        end = (await self.b.session.contexts.state(self.b.conversation_id)).n_messages
        if end:
            after = MessageId(self.chance.randint(0, end - 1))
            self.b.conversation_id = (await self.b.session.conversations.fork(self.b.conversation_id, after, None)).id

    async def switch(self) -> None:
        model = self.chance.choice(["offline", "offline-large"])
        with contextlib.suppress(RecentMessagesTooLarge):
            await self.b.session.conversations.switch_model(self.b.conversation_id, model)

    async def _any_summary(self) -> SummaryId | None:
        state = await self.b.session.contexts.state(self.b.conversation_id)
        found = [piece.summary.id for piece in state.pieces if isinstance(piece, Block)]
        return self.chance.choice(found) if found else None


@pytest.mark.parametrize("seed", range(6))
async def test_any_sequence_of_operations_keeps_the_invariants(tmp_path: Path, seed: int) -> None:
    print(f"seed {seed}")  # noqa: T201
    chance = random.Random(seed)

    async def read(_: str) -> ToolOutput:
        return ToolOutput("some line of code\n" * chance.randint(1, 300))

    tool = Tool(ToolSchema("read", "read", {"type": "object"}), read)
    b = await open_bench(tmp_path, [], window=6_000, reserve=800, tools=(tool,))
    models = b.session.contexts.models
    large = replace(with_window(models.get("offline"), 40_000), name="offline-large")
    b.session.contexts.models = with_override(models, large)
    todo = Operations(b, chance)
    others = [todo.summarize, todo.expand, todo.regenerate, todo.undo, todo.roll_back, todo.fork, todo.switch]
    try:
        for _ in range(50):
            operation = todo.ask if chance.random() < 0.6 else chance.choice(others)
            await operation()
            await check(b)
    finally:
        await b.session.close()
