"""What another server does is told here within one look; nothing it says is lost or shown twice, whatever was committed
between two looks; no look is taken while nobody would see what is found."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from tests.services.scripted import Bench, Opener, calls, says
from tests.waiting import WAIT_S

from palimpsest.domain.errors import StoreError
from palimpsest.domain.messages import ConversationId, TurnId, user_message
from palimpsest.domain.models.provider import TextDelta
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.turns.journal import EventType, Numbered
from palimpsest.domain.turns.states import TurnState
from palimpsest.services.folder.other_servers import Following
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.store import Store, open_store
from palimpsest.storage.turns import turn_records, turns
from palimpsest.storage.turns.turns import TurnRequest

NOW = "2026-01-01T00:00:00.000Z"
QUICK_S = 0.005


class Other:
    """Another server on the folder of a bench, as far as following goes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.changes: asyncio.Queue[ConversationId] = asyncio.Queue()
        self.is_watched = True
        self.following = Following(store, {}, self.changes.put_nowait, lambda: self.is_watched, QUICK_S)
        self.shown: list[Numbered] = []
        self.news = asyncio.Event()

    def show(self, event: Numbered) -> None:
        self.shown.append(event)
        self.news.set()

    @property
    def text(self) -> str:
        return "".join(each.event.text for each in self.shown if each.event.type is EventType.TEXT)

    async def until_text(self, text: str) -> None:
        async with asyncio.timeout(WAIT_S):
            while self.text != text:
                self.news.clear()
                await self.news.wait()

    async def look_away(self) -> None:
        """Until `following` is started again."""
        watching = self.following._watching
        assert watching is not None
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    async def follow(self, turn_id: TurnId, after_seq: int = 0) -> None:
        async with asyncio.timeout(WAIT_S):
            await self.following.follow(turn_id, after_seq, self.show)


Joiner = Callable[[Bench], Awaitable[Other]]


@pytest.fixture
async def join(tmp_path: Path) -> AsyncIterator[Joiner]:
    async with contextlib.AsyncExitStack() as stack:

        async def join_one(bench: Bench) -> Other:
            other = Other(await open_store(bench.store.directory))
            await other.following.start()
            stack.push_async_callback(other.store.close)
            stack.push_async_callback(other.following.close)
            return other

        yield join_one


async def start(bench: Bench) -> RunningTurn:
    running = await bench.session.turns.start(bench.conversation_id, "r", user_message("question"))
    assert isinstance(running, RunningTurn)
    return running


async def said(running: RunningTurn, text: str) -> None:
    """Waits until the turn has shown `text`."""
    reached = asyncio.Event()

    def hear(_: Numbered) -> None:
        if "".join(each.event.text for each in running.shown if each.event.type is EventType.TEXT) == text:
            reached.set()

    unfollow = running.follow(hear, 0)
    await asyncio.wait_for(reached.wait(), WAIT_S)
    unfollow()


async def test_what_another_server_changes_is_told_and_what_it_only_reads_is_not(bench: Opener, join: Joiner) -> None:
    b = await bench([])
    other = await join(b)
    second = await b.session.conversations.create("second", None)
    assert await asyncio.wait_for(other.changes.get(), WAIT_S) == second.id
    await b.session.conversations.rename(b.conversation_id, "renamed")
    assert await asyncio.wait_for(other.changes.get(), WAIT_S) == b.conversation_id
    assert other.changes.empty()


async def test_a_turn_of_this_server_that_has_just_begun_is_followed_to_its_end(bench: Opener) -> None:
    """A caller may see the turn in the store before it is among the running ones."""
    may_go_on = asyncio.Event()
    b = await bench([[TextDelta("one "), may_go_on, TextDelta("two")]])
    running = await start(b)
    following = Following(b.store, b.session.folder.running, lambda _: None, lambda: False, QUICK_S)
    shown: list[Numbered] = []
    follower = asyncio.create_task(following.follow(running.id, 0, shown.append))
    await said(running, "one ")
    may_go_on.set()
    await asyncio.wait_for(follower, WAIT_S)
    assert "".join(each.event.text for each in shown if each.event.type is EventType.TEXT) == "one two"
    assert running.n_followers == 0


async def test_a_turn_of_this_server_that_has_just_begun_is_cancelled(bench: Opener) -> None:
    b = await bench([[TextDelta("one "), asyncio.Event()]])
    running = await start(b)
    following = Following(b.store, b.session.folder.running, lambda _: None, lambda: False, QUICK_S)
    await asyncio.wait_for(following.cancel(running.id), WAIT_S)
    assert (await asyncio.wait_for(running.wait(), WAIT_S)).state is TurnState.CANCELLED


async def test_a_look_that_fails_is_not_the_last(bench: Opener, join: Joiner) -> None:
    b = await bench([says("one"), says("two")])
    other = await join(b)
    told = other.following.changed
    failed = asyncio.Event()

    def fail_once(conversation_id: ConversationId) -> None:
        if not failed.is_set():
            failed.set()
            raise RuntimeError
        told(conversation_id)

    other.following.changed = fail_once
    await b.ask("1")
    await asyncio.wait_for(failed.wait(), WAIT_S)
    await b.ask("2")
    assert await asyncio.wait_for(other.changes.get(), WAIT_S) == b.conversation_id


async def test_what_this_server_writes_itself_is_no_news(bench: Opener, join: Joiner) -> None:
    b = await bench([])
    other = await join(b)
    before = await other.store.data_version()
    await other.store.run(conversations.rename, b.conversation_id, "by itself", NOW)
    assert await other.store.data_version() == before
    await b.session.conversations.rename(b.conversation_id, "by another")
    assert await other.store.data_version() != before


async def test_nothing_is_read_while_nobody_watches_and_all_of_it_is_told_then(bench: Opener, join: Joiner) -> None:
    b = await bench([])
    other = await join(b)
    other.is_watched = False
    await b.session.conversations.rename(b.conversation_id, "renamed")
    looked = asyncio.Event()

    def is_watched() -> bool:
        looked.set()
        return other.is_watched

    other.following.is_watched = is_watched
    for _ in range(2):
        looked.clear()
        await asyncio.wait_for(looked.wait(), WAIT_S)
    assert other.changes.empty()
    other.is_watched = True
    assert await asyncio.wait_for(other.changes.get(), WAIT_S) == b.conversation_id


async def test_a_follower_is_shown_each_event_once_as_it_comes(bench: Opener, join: Joiner) -> None:
    gates = [asyncio.Event() for _ in range(2)]
    b = await bench([[TextDelta("one "), gates[0], TextDelta("two "), gates[1], *says("three")]])
    other = await join(b)
    running = await start(b)
    following = asyncio.create_task(other.follow(running.id))
    await other.until_text("one ")
    gates[0].set()
    await other.until_text("one two ")
    gates[1].set()
    await running.wait()
    await following
    assert other.text == "one two three"
    seqs = [each.seq for each in other.shown]
    assert seqs == sorted(set(seqs))


async def test_of_what_was_committed_between_two_looks_the_rest_comes_once_for_every_step(
    bench: Opener, join: Joiner
) -> None:
    async def run(_: str) -> ToolOutput:
        return ToolOutput("done")

    gate = asyncio.Event()
    b = await bench(
        [[TextDelta("seen "), gate, TextDelta("missed; "), *calls(("1", "t", "{}"))], says("second step")],
        tools=(Tool(ToolSchema("t", "a tool", {"type": "object"}), run),),
    )
    other = await join(b)
    running = await start(b)
    following = asyncio.create_task(other.follow(running.id))
    await other.until_text("seen ")
    await other.look_away()  # no look is taken while both steps are committed
    gate.set()
    assert (await running.wait()).state is TurnState.COMMITTED
    assert other.text == "seen "
    await other.following.start()
    await b.session.conversations.rename(b.conversation_id, "something to see")
    await following
    assert other.text == "seen missed; second step"
    seqs = [each.seq for each in other.shown]
    assert seqs == sorted(set(seqs))


async def test_who_attaches_in_the_middle_of_a_step_is_shown_only_the_rest_after_it_is_committed(
    bench: Opener, join: Joiner
) -> None:
    gate = asyncio.Event()
    b = await bench([[TextDelta("first "), gate, *says("second")]])
    other = await join(b)
    running = await start(b)
    await said(running, "first ")
    following = asyncio.create_task(other.follow(running.id, running.shown[-1].seq))
    await asyncio.sleep(0)
    await other.store.read(lambda: None)  # the follower has read how far the step is
    gate.set()
    await running.wait()
    await following
    assert other.text == "second"


async def test_who_follows_a_turn_when_the_folder_is_closed_is_told_so(bench: Opener, join: Joiner) -> None:
    b = await bench([[TextDelta("one "), asyncio.Event()]])
    running = await start(b)
    other = await join(b)
    follower = asyncio.create_task(other.follow(running.id))
    await other.until_text("one ")
    assert other.following.is_followed
    await other.following.close()
    with pytest.raises(StoreError, match="has left the folder"):
        await follower
    await asyncio.wait_for(other.following.wait_until_free(), WAIT_S)


async def test_a_cancel_from_another_server_keeps_what_was_said(bench: Opener, join: Joiner) -> None:
    b = await bench([[TextDelta("half"), asyncio.Event()]])
    own = Following(b.store, b.session.folder.running, lambda _: None, lambda: False, QUICK_S)
    await own.start()
    other = await join(b)
    running = await start(b)
    await said(running, "half")
    await other.following.cancel(running.id)
    assert (await other.store.read(turn_records.find, running.id)).state is TurnState.CANCELLED
    assert await b.said() == [("user", "question", "complete"), ("assistant", "half", "cancelled")]
    await own.close()


async def test_a_cancel_of_a_turn_that_is_over_changes_nothing(bench: Opener, join: Joiner) -> None:
    b = await bench([says("whole")])
    other = await join(b)
    running = await start(b)
    await running.wait()
    await other.following.cancel(running.id)
    assert (await other.store.read(turn_records.find, running.id)).state is TurnState.COMMITTED


async def test_a_dead_servers_turn_is_closed_and_told(tmp_path: Path, bench: Opener, join: Joiner) -> None:
    b = await bench([])
    dead = await open_store(b.store.directory)
    counts = message_log.Counts("bytes", (1,))
    turn_id = TurnId("t")
    admission = await dead.run(
        turns.admit, dead.writer(NOW), turn_id, b.conversation_id, TurnRequest("r", user_message("q"), counts)
    )
    assert admission.lease is not None
    other = await join(b)
    following = asyncio.create_task(other.follow(turn_id))
    await dead.close()  # lets go of its lock, as the end of a process does
    await following
    assert (await other.store.read(turn_records.find, turn_id)).state is TurnState.INTERRUPTED
    assert await asyncio.wait_for(other.changes.get(), WAIT_S) == b.conversation_id
