"""Without summaries (`context.infinity = false`) the oldest exchanges are left out of requests, the user is told which,
and what the user ruled in them stands in front; nothing is lost, and all of it can come back.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.services.scripted import Bench, Opener, calls, open_bench, says

from palimpsest.domain.context.cut import MessagePiece, SummaryPiece, is_partition
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.rules.rule_set import missing
from palimpsest.domain.conversation.chain import first_broken
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import MessageId
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.context.reports import explain
from palimpsest.services.context.rules import read_rules
from palimpsest.services.context.state import ContextState
from palimpsest.services.events import ContextEvent
from palimpsest.services.maintenance.replay import pairs_are_whole
from palimpsest.services.models.catalog import with_override
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.storage.context import summary_tree
from palimpsest.storage.conversation import hidden_ranges, message_log

RULE = "Never use tabs in this project."


async def talk(b: Bench, n_turns: int, seed: int = 11) -> None:
    print(f"seed {seed}")  # noqa: T201
    chance = random.Random(seed)
    for number in range(n_turns):
        b.provider.replies = [says(f"Answer {number}. " + "The pump is on. " * chance.randint(1, 60))]
        if number % 3 == 2:
            b.provider.replies.insert(0, calls((f"{number}-a", "read", "{}"), (f"{number}-b", "read", "{}")))
        text = f"Question {number}. " + "It is wet. " * chance.randint(1, 30)
        request = f"request {seed} {len(b.events)} {number}"
        assert await b.ask(f"{RULE} {text}" if number == 1 else text, request) == "committed"


async def read(_: str) -> ToolOutput:
    return ToolOutput("some line of code\n" * 10)


READ = Tool(ToolSchema("read", "read", {"type": "object"}), read)
OFF = {"infinity": False}


async def opened(bench: Opener, n_turns: int = 14) -> Bench:
    b = await bench([], window=4_000, reserve=500, tools=(READ,), context=OFF)
    await talk(b, n_turns)
    return b


def events(b: Bench, type: ContextEventType) -> list[ContextEvent]:
    return [e for e in b.events if isinstance(e, ContextEvent) and e.type is type]


async def checked(b: Bench) -> ContextState:
    """The state, in which everything holds that must hold, and which a restart finds again."""
    state = await b.session.contexts.state(b.conversation_id)
    pieces, front, left_out = state.pieces, state.front, state.cut.left_out
    b.session.contexts.forget(b.conversation_id)
    state = await b.session.contexts.state(b.conversation_id)
    assert (state.pieces, state.front, state.cut.left_out) == (pieces, front, left_out)
    hidden = await b.store.read(hidden_ranges.read, b.conversation_id)
    gone = [(each.start, each.end) for each in hidden] + list(left_out)
    ids = {MessageId(each) for start, end in gone for each in range(start, end)}
    assert is_partition(state.pieces, state.n_messages, ids)
    assert pairs_are_whole(tuple(piece.content for piece in state.pieces))
    rules = await read_rules(b.session.contexts, state)
    assert missing(rules.kept, state.pieces, state.front.text) == ()
    return state


async def test_over_the_threshold_the_oldest_exchanges_are_left_out_down_to_the_target_at_once(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500, tools=(READ,), context=OFF)
    for number in range(1, 40):
        n_before = len(events(b, ContextEventType.LEFT_OUT))
        await talk(b, 1, number)
        if len(events(b, ContextEventType.LEFT_OUT)) > n_before:
            break
    state = await checked(b)
    (event,) = events(b, ContextEventType.LEFT_OUT)
    assert event.left_out == state.cut.left_out
    ((start, end),) = state.cut.left_out
    assert (start, end) == (0, state.pieces[0].start)
    (compaction,) = events(b, ContextEventType.COMPACTION)
    budget = state.budget.budget
    assert compaction.new_token_count is not None
    assert compaction.new_token_count <= 0.5 * budget
    assert b.provider.seen[-2].estimated_tokens > 0.5 * budget
    before = await b.store.read(message_log.read, b.conversation_id, 0)
    assert await b.store.read(summary_tree.read, b.conversation_id) == []
    assert first_broken(before) is None
    assert len(before) == state.n_messages


async def test_nothing_is_summarized_nor_deleted_however_long_it_goes_on(bench: Opener) -> None:
    b = await opened(bench, 24)
    state = await checked(b)
    told = events(b, ContextEventType.LEFT_OUT)
    assert len(told) > 2
    assert told[-1].left_out == state.cut.left_out
    for before, after in itertools.pairwise(told):
        assert before.left_out
        assert after.left_out
        assert all(any(s <= start and end <= e for s, e in after.left_out) for start, end in before.left_out)
    assert all(isinstance(piece, MessagePiece) for piece in state.pieces)
    assert await b.store.read(summary_tree.read, b.conversation_id) == []
    assert len(await b.said()) == state.n_messages


async def test_prefixes_hold_between_compactions_and_the_newest_are_always_sent(bench: Opener) -> None:
    b = await opened(bench, 18)
    said = await b.store.read(message_log.read, b.conversation_id, 0)
    n_broken = 0
    for before, after in itertools.pairwise(b.provider.seen):
        assert after.upper_tokens <= after.limit_tokens
        assert pairs_are_whole(after.messages)
        n_broken += after.lines()[: len(before.lines())] != before.lines()
    assert 0 < n_broken == len(events(b, ContextEventType.COMPACTION))
    for context in b.provider.seen:
        sent = {s.message_ids[0] for s in context.segments if s.message_ids is not None}
        last = max(sent)
        newest = {m.id for m in said if last - 4 < m.id <= last}
        request = max(m.id for m in said if m.content.role.value == "user" and m.id <= last)
        assert newest | {request} <= sent


async def test_rules_in_what_is_left_out_stand_in_front_verbatim(bench: Opener) -> None:
    b = await opened(bench, 18)
    state = await checked(b)
    assert any(start <= 2 < end for start, end in state.cut.left_out)
    assert f"- {RULE}" in state.front.text.split("\n")
    said = ["\n".join(message.text for message in context.messages) for context in b.provider.seen[4:]]
    assert all(text.count(RULE) == 1 for text in said)


async def test_a_rule_in_a_large_message_that_stays_is_never_shown_cut(bench: Opener) -> None:
    b = await bench([], window=4_000, reserve=500, context=OFF)
    large = f"{'It is wet. ' * 180}{RULE} {'It is dry. ' * 180}"
    b.provider.replies = [says("Yes. " * 300), says("No. ")]
    assert await b.ask(large) == "committed"
    assert await b.ask("Go on. " * 400) == "committed"
    state = await checked(b)
    assert [isinstance(p, MessagePiece) and p.preview is not None for p in state.pieces] == [False, True, False, False]
    assert state.cut.left_out == ()
    assert RULE in b.provider.seen[-1].messages[0].text


async def test_a_larger_model_brings_back_what_was_left_out(bench: Opener) -> None:
    b = await opened(bench)
    models = b.session.contexts.models
    large = replace(with_window(models.get("offline"), 200_000), name="large")
    b.session.contexts.models = with_override(models, large)
    await b.session.conversations.switch_model(b.conversation_id, "large")
    state = await checked(b)
    assert (state.cut.left_out, len(state.pieces)) == ((), state.n_messages)
    assert events(b, ContextEventType.LEFT_OUT)[-1].left_out == ()
    assert state.front.text == ""
    await b.session.conversations.switch_model(b.conversation_id, "offline")
    state = await checked(b)
    assert state.cut.left_out
    assert events(b, ContextEventType.LEFT_OUT)[-1].left_out == state.cut.left_out
    await talk(b, 2, 5)
    await checked(b)


async def test_a_fork_leaves_out_the_same_and_goes_its_own_way(bench: Opener) -> None:
    b = await opened(bench)
    state = await checked(b)
    first, last, left_out = b.conversation_id, state.n_messages - 1, state.cut.left_out
    b.conversation_id = (await b.session.conversations.fork(first, MessageId(last), None)).id
    fork = await checked(b)
    assert (fork.cut.left_out, fork.front) == (state.cut.left_out, state.front)
    await talk(b, 8, 3)
    assert len((await checked(b)).pieces) > 0
    within = left_out[0][1] - 1
    b.conversation_id = (await b.session.conversations.fork(first, MessageId(within), None)).id
    await checked(b)
    await talk(b, 3, 4)
    await checked(b)
    b.conversation_id = first
    assert (await checked(b)).cut.left_out == left_out


async def test_rolling_back_into_what_is_left_out_brings_what_is_before_it_back(bench: Opener) -> None:
    b = await opened(bench)
    state = await checked(b)
    await b.session.conversations.roll_back(b.conversation_id, MessageId(state.n_messages - 1))
    assert (await checked(b)).cut.left_out
    to = state.cut.left_out[0][1] - 2
    done = await b.session.conversations.roll_back(b.conversation_id, MessageId(to))
    state = await checked(b)
    assert state.pieces[-1].end == done.start, "what can be sent is not sent"
    await talk(b, 3, 2)
    await checked(b)


async def test_leaving_out_is_undone_and_done_again(bench: Opener) -> None:
    b = await opened(bench)
    while not events(b, ContextEventType.LEFT_OUT) or b.provider.seen[-1].estimated_tokens > 2_300:
        await talk(b, 1, len(b.provider.seen))
    state = await checked(b)
    left_out, pieces = state.cut.left_out, list(state.pieces)
    await b.session.conversations.undo(b.conversation_id)
    undone = await checked(b)
    assert undone.pieces[-len(pieces) :] == pieces
    assert (len(undone.pieces) > len(pieces), undone.cut.left_out != left_out) == (True, True)
    await b.session.conversations.redo(b.conversation_id)
    again = await checked(b)
    assert (again.cut.left_out, again.pieces) == (left_out, pieces)
    await b.session.conversations.undo(b.conversation_id)
    await talk(b, 4, 9)
    await checked(b)


async def test_a_summary_on_request_is_refused_with_a_sentence(bench: Opener) -> None:
    b = await opened(bench, 4)
    state = await checked(b)
    pieces = list(state.pieces)
    with pytest.raises(InvalidRequest, match="switched off") as caught:
        await b.session.conversations.summarize(b.conversation_id, None)
    assert str(caught.value).endswith(".")
    assert (await checked(b)).pieces == pieces


async def test_a_dry_run_says_what_a_turn_would_send(bench: Opener) -> None:
    b = await opened(bench, 12)
    text = "It is wet. " * 300
    plan = await explain(b.session.contexts, b.conversation_id, text)
    assert (plan.problem, plan.would_summarize) == (None, ())
    state = await b.session.contexts.state(b.conversation_id)
    version = state.cut.version
    b.provider.replies = [says("Yes.")]
    assert await b.ask(text) == "committed"
    assert state.cut.version == version + 1
    sent = b.provider.seen[-1]
    assert [s.message_ids for s in plan.segments] == [s.message_ids for s in sent.segments]
    assert plan.upper_tokens == sent.upper_tokens


@pytest.mark.parametrize("first", ["ask", "summarize"])
async def test_switching_summaries_on_again_brings_everything_back(tmp_path: Path, first: str) -> None:
    b = await open_bench(tmp_path, [], window=4_000, reserve=500, tools=(READ,), context=OFF)
    await talk(b, 16)
    await checked(b)
    await b.session.folder.close()
    on = await open_bench(tmp_path, [], window=4_000, reserve=500, tools=(READ,))
    on.conversation_id = b.conversation_id
    try:
        if first == "summarize":
            await on.session.conversations.summarize(on.conversation_id, None)
        else:
            await talk(on, 1, 1)
        state = await checked(on)
        assert state.cut.left_out == ()
        assert (state.pieces[0].start, isinstance(state.pieces[0], SummaryPiece)) == (0, True)
        await talk(on, 3, 2)
        state = await checked(on)
        assert RULE in "\n".join(message.text for message in on.provider.seen[-1].messages)
        assert all(context.upper_tokens <= context.limit_tokens for context in on.provider.seen)
    finally:
        await on.session.folder.close()
