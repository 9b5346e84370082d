"""A change of a conversation is one unit of work: wherever its request is cut off, either all of it happened or none,
in the store and in memory; its lease is given back; and what is hidden or purged is nowhere afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.services.scripted import Bench, Opener, open_bench, says
from tests.slow import slow
from tests.waiting import WAIT_S

from palimpsest.domain.context.cut import SummaryPiece, is_partition
from palimpsest.domain.errors import (
    ConversationBusy,
    ErrorKind,
    InvalidRequest,
    ProviderError,
    RecentMessagesTooLarge,
    StoreError,
)
from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.domain.models.provider import Finished, StopReason, TextDelta, TokenUsage
from palimpsest.domain.turns.recovery import Resolution
from palimpsest.services.conversation.pending_work import do_pending_work
from palimpsest.services.conversation.purge import resume
from palimpsest.services.turns.recovery import Recovery
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage import sql
from palimpsest.storage.conversation import conversations as stored
from palimpsest.storage.conversation import message_log, pending_work
from palimpsest.storage.conversation.pending_work import Kind
from palimpsest.storage.leases import Writer
from palimpsest.storage.lifecycle import purge as purging
from palimpsest.storage.store import Store

LONG = "A sentence about pumps and valves that says little. " * 40
SECRET = "zqxsecret7731"
OVERLOADED = ProviderError(ErrorKind.OVERLOADED, "The model is overloaded.")


async def talk(bench: Opener) -> Bench:
    """Three exchanges: the first is a summary, and the answer of the last broke off."""
    b = await bench([*(says(f"Answer {n}. {LONG}") for n in range(2)), [TextDelta("half"), OVERLOADED]], window=32_000)
    for number in range(3):
        await b.ask(f"Question {number}. {LONG}", f"turn {number}")
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(2)))
    return b


async def roll_back(b: Bench) -> object:
    return await b.session.conversations.roll_back(b.conversation_id, MessageId(0))  # within the summary


async def undo(b: Bench) -> object:
    return await b.session.conversations.undo(b.conversation_id)


async def expand(b: Bench) -> object:
    state = await b.session.contexts.state(b.conversation_id)
    block = next(piece for piece in state.pieces if isinstance(piece, SummaryPiece))
    return await b.session.conversations.expand(b.conversation_id, block.summary.id)


async def give_way(b: Bench) -> object:
    """An expanded summary is taken back, because no other cut makes room."""
    await expand(b)
    async with b.session.contexts.writing(b.conversation_id, "a test", lambda _: None) as context:
        await (await b.session.contexts.compactor(context)).to_the_least(context, 20_000)
    return None


async def switch(b: Bench) -> object:
    return await b.session.conversations.switch_model(b.conversation_id, "offline")


async def discard(b: Bench) -> object:
    recovery = Recovery(b.session.turns)
    (broken,) = await recovery.unresolved()
    return await recovery.resolve(broken.turn.id, Resolution.DISCARD)


async def freed(b: Bench) -> None:
    """Waits until the conversation is free: a lease that was being acquired is given back when that is heard of."""
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                async with b.session.contexts.writing(b.conversation_id, "a test", lambda _: None):
                    return
            except ConversationBusy:
                await asyncio.sleep(0)


async def check_in_step(b: Bench) -> None:
    """The state in memory equals a fresh load and holds nothing hidden."""
    page = await b.session.conversations.read(b.conversation_id, None, 1000)
    held = await b.session.contexts.state(b.conversation_id)
    assert is_partition(held.pieces, held.n_messages, page.hidden)
    known = held.pieces, held.cut.version, held.expansions
    b.session.contexts.forget(b.conversation_id)
    fresh = await b.session.contexts.state(b.conversation_id)
    assert (fresh.pieces, fresh.cut.version, fresh.expansions) == known


@pytest.mark.parametrize("change", [roll_back, slow(undo), slow(expand), give_way, slow(switch), slow(discard)])
async def test_a_change_that_is_cut_off_anywhere_leaves_the_conversation_free_and_in_step(
    bench: Opener, change: Callable[[Bench], Awaitable[object]]
) -> None:
    n_steps, was_finished = 0, False
    while not was_finished:
        b = await talk(bench)
        request = asyncio.ensure_future(change(b))
        for _ in range(n_steps):
            await asyncio.sleep(0)
            # As on a slow loop: what the threads have done until now is heard of in the next round.
            await b.store.read(stored.get, b.conversation_id)
        was_finished = request.done()
        request.cancel()
        await asyncio.wait([request])
        await freed(b)
        await check_in_step(b)
        b.provider.replies = [says("Yes.")]
        assert await b.ask("And now?", "after") == "committed"
        await check_in_step(b)
        n_steps += 1
    assert n_steps > 2


async def test_what_was_expanded_stays_so_where_not_even_that_makes_room(bench: Opener) -> None:
    b = await talk(bench)
    await expand(b)
    async with b.session.contexts.writing(b.conversation_id, "a test", lambda _: None) as context:
        state = context.state
        before = state.expansions
        with pytest.raises(RecentMessagesTooLarge):
            await (await b.session.contexts.compactor(context)).to_the_least(context, 100)
        assert state.expansions == before == ((0, 2),)
    await check_in_step(b)


async def test_a_turn_that_is_cancelled_anywhere_leaves_no_step_open(bench: Opener) -> None:
    for n_steps in range(12):
        b = await bench([says("Yes.")])
        turn = await b.session.turns.start(b.conversation_id, "turn", user_message("Question."))
        assert not isinstance(turn, str)
        for _ in range(n_steps):
            await b.store.read(stored.get, b.conversation_id)
        turn.cancel()
        await asyncio.wait_for(turn.wait(), WAIT_S)

        def open_steps() -> int:
            ((n_open,),) = sql.execute("SELECT COUNT(*) FROM step WHERE ending IS NULL")
            return int(n_open)

        assert await b.store.read(open_steps) == 0
        await freed(b)
        await check_in_step(b)


async def test_two_who_ask_at_once_get_one_state(bench: Opener) -> None:
    b = await bench([says("Yes.")])
    await b.ask("Question.")
    contexts = b.session.contexts
    contexts.forget(b.conversation_id)
    states = await asyncio.gather(*(contexts.state(b.conversation_id) for _ in range(5)))
    assert len({id(state) for state in states}) == 1
    async with contexts.writing(b.conversation_id, "a test", lambda _: None) as written:
        await contexts.push_message(written, user_message("More."))
        assert await contexts.state(b.conversation_id) is written.state


async def test_what_must_follow_a_commit_does_although_nobody_waits_and_not_when_it_failed(bench: Opener) -> None:
    store = (await bench([])).session.folder.store
    heard: list[int] = []
    request = asyncio.create_task(store.commit(lambda: 1, heard.append))
    await asyncio.sleep(0)
    request.cancel()
    await asyncio.wait([request])
    await store.run(lambda: None)
    assert heard == [1]

    def fail() -> int:
        raise StoreError("The disk is full.")

    with pytest.raises(StoreError):
        await store.commit(fail, heard.append)
    assert heard == [1]


async def test_rolling_back_again_hides_nothing_more_and_keeps_the_draft(bench: Opener) -> None:
    b = await bench([says(f"Answer {n}.") for n in range(4)])
    for number in range(4):
        await b.ask(f"Question {number}.")
    await b.session.conversations.roll_back(b.conversation_id, MessageId(6))
    before = await b.session.conversations.read(b.conversation_id, None, 100)
    for hidden in (6, 7):
        with pytest.raises(InvalidRequest, match="is hidden or purged"):
            await b.session.conversations.roll_back(b.conversation_id, MessageId(hidden))
    after = await b.session.conversations.read(b.conversation_id, None, 100)
    assert set(after.hidden) == set(before.hidden) == {6, 7}
    assert after.record.draft == before.record.draft == "Question 3."
    done = await b.session.conversations.roll_back(b.conversation_id, MessageId(4))
    assert (done.start, done.draft) == (4, "Question 2.")


async def test_a_turn_goes_on_from_a_message_that_a_summary_stands_for(bench: Opener) -> None:
    b = await bench([says(LONG), [TextDelta("half"), OVERLOADED], *(says(str(n)) for n in range(4))], window=32_000)
    for number in range(4):
        await b.ask(f"Question {number}. {LONG}", f"turn {number}")
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(4)))
    await b.session.conversations.roll_back(b.conversation_id, MessageId(4))
    recovery = Recovery(b.session.turns)
    turn_id = await recovery.last_turn(b.conversation_id)
    turn = await recovery.resolve(turn_id, Resolution.CONTINUE)
    assert isinstance(turn, RunningTurn)
    assert (await turn.wait()).state.value == "committed"
    assert any("Question 1." in message.text for message in b.provider.seen[-1].messages)
    await check_in_step(b)


async def test_a_message_that_its_service_took_can_be_sent_again_although_it_counted_more_than_was_thought(
    bench: Opener,
) -> None:
    b = await bench([], window=8_000, reserve=1_000)
    state = await b.session.contexts.state(b.conversation_id)
    room = state.budget.budget - state.fixed_tokens
    text = "pump " * (room * 9 // 10)
    b.provider.replies = [[TextDelta("Yes."), Finished(StopReason.END, TokenUsage(state.budget.budget + 20))]]
    await b.ask(text, "first")
    b.provider.replies = [says("Otherwise.")]
    recovery = Recovery(b.session.turns)
    turn = await recovery.resolve(await recovery.last_turn(b.conversation_id), Resolution.RETRY)
    assert isinstance(turn, RunningTurn)
    assert (await turn.wait()).state.value == "committed"


async def test_the_last_answer_can_be_tried_again_in_a_fork_and_stays_where_it_was(bench: Opener) -> None:
    b = await bench([says("First."), says("Second."), says("Otherwise."), says("Once more.")])
    await b.ask("Question one.")
    await b.ask("Question two.")
    fork = await b.session.conversations.fork(b.conversation_id, MessageId(1), None)
    recovery = Recovery(b.session.turns)
    for expected in ("Otherwise.", "Once more."):
        turn_id = await recovery.last_turn(fork.id)
        turn = await b.session.turns.go_on(turn_id, Resolution.RETRY, fork.id)
        assert not isinstance(turn, str)
        assert (await turn.wait()).state.value == "committed"
        state = await b.session.contexts.state(fork.id)
        assert [piece.content.text for piece in state.pieces] == ["Question one.", expected]
    assert [text for _, text, _ in await b.said()] == ["Question one.", "First.", "Question two.", "Second."]


# ------------------------------------------------------------------------------------------ long work that is cut off


async def test_a_purge_that_is_cut_off_shows_nothing_any_more_and_is_finished_by_the_next_server(
    bench: Opener,
) -> None:
    b = await bench([says(f"Answer {SECRET}."), says("Fine.")])
    await b.ask(f"Question {SECRET}.", "first")
    await b.ask("Something else.")
    store = b.store

    def begin() -> None:  # and nothing more: its server ends here
        dead = Writer("dead", store.is_alive, "2026-01-01")
        purging.purge(dead, b.conversation_id, (MessageId(0), MessageId(2)))

    await store.run(begin)
    assert [text for _, text, _ in await b.said()] == ["", "", "Something else.", "Fine."]
    state = await b.session.contexts.state(b.conversation_id)
    assert [piece.start for piece in state.pieces] == [2, 3]
    assert any(SECRET.encode() in path.read_bytes() for path in store.directory.glob("store.db*"))
    await store.close()
    again = await open_bench(store.directory)
    await resume(again.session.purging)
    assert await again.session.folder.store.read(pending_work.n_left, Kind.PURGE) == 0
    assert not any(SECRET.encode() in path.read_bytes() for path in store.directory.rglob("store.db*"))
    await again.session.folder.close()


async def test_a_purge_that_is_cut_off_before_the_log_is_emptied_is_finished_by_the_next_server(bench: Opener) -> None:
    b = await bench([says(f"Answer {SECRET}.")])
    await b.ask(f"Question {SECRET}.", "first")
    store = b.store
    await store.run(purging.purge, store.writer("2026-01-01"), b.conversation_id, None)
    await do_pending_work(store)  # and nothing more: its server ends here
    assert any(SECRET.encode() in path.read_bytes() for path in store.directory.glob("store.db*"))
    await resume(b.session.purging)
    assert not any(SECRET.encode() in path.read_bytes() for path in store.directory.rglob("store.db*"))
    assert not await store.read(pending_work.is_any_left_of_a_purge)


async def test_a_purge_does_not_take_what_another_server_has_just_begun_to_purge_for_done(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await bench([says("An answer."), says(f"Answer {SECRET}.")])
    await b.ask("A question.", "first")
    await b.ask(f"Question {SECRET}.", "second")
    store = b.store
    others = [(MessageId(2), MessageId(4))]

    async def while_another_begins(store: Store) -> None:
        await do_pending_work(store)
        if others:  # which ends when the rows are empty and the index is not written anew
            await store.run(purging.purge, store.writer("2026-01-01"), b.conversation_id, others.pop())
            assert await store.run(pending_work.do_some) is Kind.PURGE

    monkeypatch.setattr("palimpsest.services.conversation.purge.do_pending_work", while_another_begins)
    await b.session.purging.purge(b.conversation_id, (MessageId(0), MessageId(2)), is_confirmed=True)
    assert not any(SECRET.encode() in path.read_bytes() for path in store.directory.rglob("store.db*"))
    assert not await store.read(pending_work.is_any_left_of_a_purge)


async def test_others_write_between_the_pieces_of_long_work(bench: Opener) -> None:
    b = await bench([])
    store, other = b.store, ConversationId("other")
    contents = [user_message(f"Message {n} about pumps.") for n in range(200)]
    await store.run(stored.create, other, "", "offline", "2026-01-01")
    await store.run(message_log.append_many, other, contents, "2026-01-01")
    n_before = await store.read(pending_work.n_left, Kind.INDEX)
    purge = b.session.purging.purge(other, None, is_confirmed=True)
    work = asyncio.create_task(purge)
    n_between = 0
    while not work.done():
        n_between += 0 < await store.run(pending_work.n_left, Kind.PURGE)
    assert n_before == 1
    assert n_between > 2
    assert (await work).n_contents == 200
    left = await b.session.conversations.read(other, None, 1000)
    assert all(message.purged for message in left.messages)
