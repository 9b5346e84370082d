"""Whatever is done to conversations, in whatever order, the invariants of the context engine hold.

Operations are drawn by hypothesis; after every one of them each invariant is checked. docs/invariants.md lists all.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples
from tests.services.scripted import Bench, calls, open_bench, says

from palimpsest.domain.context.cut import CutCause, SummaryPiece, is_partition
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.rules.rule_set import missing
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.context.tokens import count_content, count_tools
from palimpsest.domain.conversation.chain import content_digest, first_broken
from palimpsest.domain.conversation.exchanges import exchange_starts
from palimpsest.domain.errors import InvalidRequest, RecentMessagesTooLarge
from palimpsest.domain.messages import ConversationId, Digest, MessageId, SummaryId
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.context.rules import read_rules
from palimpsest.services.context.state import ContextState
from palimpsest.services.conversation.transfer import Outcome, Transfers
from palimpsest.services.events import ContextEvent
from palimpsest.services.maintenance.replay import pairs_are_whole
from palimpsest.services.models.catalog import with_override
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.storage.context import statistics, summary_tree
from palimpsest.storage.conversation import conversations as stored
from palimpsest.storage.conversation import hidden_ranges, message_log

RULES = [
    "Never use tabs.",
    "Always use tabs.",
    "Always run the linter before you commit.",
    "From now on, use metric units.",
]
N_OPERATIONS = 36


@dataclass
class World:
    """A folder with its conversations, and what was seen of it before."""

    b: Bench
    chance: random.Random
    n_asked: int = 0
    requests: list[tuple[PreparedContext, int]] = field(default_factory=list)
    """Every request, with the number of compactions before it."""
    digests: dict[tuple[ConversationId, MessageId], tuple[Digest, Digest]] = field(default_factory=dict)
    forest: dict[SummaryId, Summary] = field(default_factory=dict)
    is_purged: bool = False
    regenerated: bool = False
    was_turn: bool = False
    """Whether the last operation was a turn."""

    @property
    def state(self) -> Awaitable[ContextState]:
        return self.b.session.contexts.state(self.b.conversation_id)

    def count_compactions(self) -> int:
        return sum(isinstance(e, ContextEvent) and e.type is ContextEventType.COMPACTION for e in self.b.events)

    def saw(self, context: PreparedContext) -> None:
        self.requests.append((context, self.count_compactions()))

    # What may be done.

    async def ask(self) -> None:
        self.n_asked += 1
        rule = self.chance.choice(RULES) if self.chance.random() < 0.2 else ""
        text = f"{rule} Question {self.n_asked}. " + "It is wet here. " * self.chance.randint(1, 60)
        self.b.provider.replies = [says("The pump is on. " * self.chance.randint(1, 120))]
        if self.chance.random() < 0.4:
            named = [(f"{self.n_asked}-{n}", "read", "{}") for n in range(self.chance.randint(1, 3))]
            self.b.provider.replies.insert(0, calls(*named))
        assert await self.b.ask(text, f"request {self.n_asked}") == "committed"

    async def summarize(self) -> None:
        end = (await self.state).n_messages
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
            self.regenerated = True

    async def undo(self) -> None:
        with contextlib.suppress(InvalidRequest):
            await self.b.session.conversations.undo(self.b.conversation_id)

    async def roll_back(self) -> None:
        end = (await self.state).n_messages
        if end:
            to = MessageId(self.chance.randint(max(0, end - 12), end - 1))
            with contextlib.suppress(InvalidRequest):  # it is hidden or purged already
                await self.b.session.conversations.roll_back(self.b.conversation_id, to)

    async def fork(self) -> None:
        end = (await self.state).n_messages
        if end:
            after = MessageId(self.chance.randint(0, end - 1))
            self.b.conversation_id = (await self.b.session.conversations.fork(self.b.conversation_id, after, None)).id

    async def switch(self) -> None:
        model = self.chance.choice(["offline", "offline-large"])
        with contextlib.suppress(RecentMessagesTooLarge):
            await self.b.session.conversations.switch_model(self.b.conversation_id, model)

    async def purge(self) -> None:
        end = (await self.state).n_messages
        if end > 1:
            start = self.chance.randint(0, end - 2)
            wanted = (MessageId(start), MessageId(min(end, start + self.chance.randint(1, 4))))
            purging = self.b.session.purging
            await purging.purge(self.b.conversation_id, wanted, is_confirmed=True)
            self.is_purged = True

    async def pin(self) -> None:
        pinning = RuleCommands(self.b.session.contexts)
        rules = await pinning.pin(self.b.conversation_id, f"Keep promise {self.chance.randint(1, 3)}.")
        if self.chance.random() < 0.5:
            await pinning.withdraw(self.b.conversation_id, str(self.chance.choice(rules.whole.open_entries()).id))

    async def export(self) -> None:
        """The export holds the conversation as it is."""
        transfers = Transfers(self.b.session.conversations)
        text = (await transfers.export(self.b.conversation_id)).text
        assert (await transfers.import_text(text)).outcome is Outcome.PRESENT

    async def _any_summary(self) -> SummaryId | None:
        found = [piece.summary.id for piece in (await self.state).pieces if isinstance(piece, SummaryPiece)]
        return self.chance.choice(found) if found else None


async def messages_never_change(world: World) -> None:
    """1: what was said stays as it was, and the chain verifies; a purge leaves the digests."""
    for record in await world.b.store.read(stored.list_all):
        messages = await world.b.store.read(message_log.read, record.id, 0)
        assert first_broken(messages) is None
        for message in messages:
            own = message.purged or content_digest(message.content)
            assert world.digests.setdefault((record.id, message.id), (message.digest, own)) == (message.digest, own)
        assert len(messages) == record.n_messages


async def requests_fit(world: World) -> None:
    """4: counted again, every request fits the limit it carries."""
    state = await world.state
    count = state.tokenizer.count
    for context, _ in world.requests[-3:]:
        raw = count(context.system) + 4 + count_tools(context.tools, count)
        raw += sum(count_content(content, count) for content in context.messages)
        assert raw <= context.upper_tokens + len(context.messages) <= context.limit_tokens + len(context.messages)


async def pairs_stay_together(world: World) -> None:
    """5: no cut separates a call from its result."""
    state = await world.state
    assert pairs_are_whole(tuple(piece.content for piece in state.pieces))
    assert all(pairs_are_whole(context.messages) for context, _ in world.requests[-3:])


async def the_forest_grows(world: World) -> None:
    """6: summaries are a forest over whole exchanges; none changes and none is deleted, but by a purge; the cut covers
    every visible message once."""
    state = await world.state
    store = world.b.store
    summaries = await store.read(summary_tree.read, world.b.conversation_id)
    by_id = {summary.id: summary for summary in summaries}
    for summary in summaries:
        children = [by_id[child] for child in summary.children if child in by_id]
        assert all(summary.start <= child.start and child.end <= summary.end for child in children)
        assert all(before.end <= after.start for before, after in itertools.pairwise(children))
        assert all(child.level < summary.level for child in children)
        assert world.forest.setdefault(summary.id, summary) == summary
    messages = await store.read(message_log.read, world.b.conversation_id, 0)
    starts = {*exchange_starts([message.content for message in messages]), len(messages)}
    if not world.is_purged:
        assert all({summary.start, summary.end} <= starts for summary in summaries)
    hidden = await store.read(hidden_ranges.read, world.b.conversation_id)
    absent = {MessageId(each) for h in hidden for each in range(h.start, h.end)}
    assert is_partition(state.pieces, state.n_messages, absent)


async def a_restart_shows_the_same(world: World) -> None:
    """6: what is read anew is what was in memory. Most operations go on from memory, as a server does."""
    if world.chance.random() < 0.25:
        state = await world.state
        pieces, front = state.pieces, state.front
        world.b.session.contexts.forget(world.b.conversation_id)
        again = await world.state
        assert (again.pieces, again.front) == (pieces, front)


async def compaction_makes_smaller(world: World) -> None:
    """7: a compaction that summarized something made the context strictly smaller, unless it was written again."""
    reports = await world.b.store.read(statistics.compaction_reports, world.b.conversation_id)
    made = [report for cause, report in reports if report.saved and not (cause is CutCause.USER and world.regenerated)]
    assert all(report.tokens_after < report.tokens_before for report in made)


async def prefixes_hold(world: World) -> None:
    """8: between compactions a request begins with the one before it."""
    for (before, n_before), (after, n_after) in itertools.pairwise(world.requests):
        if before.conversation_id == after.conversation_id and n_before == n_after:
            lines = before.lines()
            assert after.lines()[: len(lines)] == lines
    del world.requests[:-1]


async def rules_stand_verbatim(world: World) -> None:
    """9: every open rule is in the context of the turn that ended, verbatim; pins too, once a turn began after them."""
    state = await world.state
    rules = await read_rules(world.b.session.contexts, state)
    lost = missing(rules.kept, state.pieces, state.front.text)
    assert not [entry for entry in lost if not entry.is_pin]
    if world.requests:
        said = "\n".join(content.text for content in world.requests[-1][0].messages)
        asked_last = world.requests[-1][0].conversation_id == world.b.conversation_id
        told = world.was_turn and asked_last
        assert not told or all(entry.text in said for entry in rules.kept.open_entries() if entry.is_pin)


CHECKS: tuple[Callable[[World], Awaitable[None]], ...] = (
    messages_never_change,
    requests_fit,
    pairs_stay_together,
    the_forest_grows,
    a_restart_shows_the_same,
    compaction_makes_smaller,
    rules_stand_verbatim,
    prefixes_hold,  # the last, because it forgets the requests that it has compared
)


@examples(10, shrinks=False)
@given(chance=st.randoms(use_true_random=False))
async def test_any_sequence_of_operations_keeps_the_invariants(chance: random.Random) -> None:
    with tempfile.TemporaryDirectory() as directory:
        await play(Path(directory), chance)


async def play(directory: Path, chance: random.Random) -> None:
    async def read(_: str) -> ToolOutput:
        return ToolOutput("some line of code\n" * chance.randint(1, 300))

    tool = Tool(ToolSchema("read", "read", {"type": "object"}), read)
    b = await open_bench(directory, [], window=6_000, reserve=800, tools=(tool,))
    models = b.session.contexts.models
    large = replace(with_window(models.get("offline"), 40_000), name="offline-large")
    b.session.contexts.models = with_override(models, large)
    world = World(b, chance)
    b.provider.look = world.saw
    others = [world.summarize, world.expand, world.regenerate, world.undo, world.roll_back, world.fork, world.switch]
    others += [world.purge, world.pin, world.export]
    try:
        for _ in range(N_OPERATIONS):
            world.was_turn = chance.random() < 0.6
            await (world.ask if world.was_turn else chance.choice(others))()
            for check in CHECKS:
                await check(world)
    finally:
        await b.session.folder.close()
