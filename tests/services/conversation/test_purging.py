"""What was purged is in no file of the store, in no context and in no fork; everything else goes on as before, and the
chain still verifies."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.services.scripted import Action, Bench, Opener, calls, open_bench, says

from palimpsest.domain.context.cut import SummaryPiece, is_partition
from palimpsest.domain.conversation.chain import StoredMessage, first_broken
from palimpsest.domain.errors import ConversationBusy, InvalidRequest, StoreError
from palimpsest.domain.messages import ConversationId, Digest, MessageId, Role
from palimpsest.domain.tools import ToolSchema
from palimpsest.domain.turns.journal import EventType
from palimpsest.services.conversation.conversations import Conversations
from palimpsest.services.conversation.documents import ChatDocuments
from palimpsest.services.conversation.purge import resume
from palimpsest.services.conversation.search import Wanted, find
from palimpsest.services.events import ConversationChanged
from palimpsest.services.maintenance.replay import pairs_are_whole
from palimpsest.services.tools.toolbox import Tool, ToolOutput
from palimpsest.storage import backups, leases, sql, tables
from palimpsest.storage.context import summary_tree
from palimpsest.storage.conversation import conversations as stored
from palimpsest.storage.conversation import pending_work
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.lifecycle import purge as purging
from palimpsest.storage.lifecycle.purge import Scope

SECRET = "zqxsecret7731"
"""Not a word whose stem differs, nor one that shares a beginning with others in the index."""


def question(number: int, secret: str = "") -> str:
    return f"Question {number} {secret}. " * 30


async def talk(bench: Opener, secrets: Sequence[int] = (), n_turns: int = 8) -> Bench:
    """Messages 2n and 2n + 1 are turn n; those of `secrets` hold the secret."""
    marks = [SECRET if n in secrets else "" for n in range(n_turns)]
    b = await bench([says(f"Answer {n} zqxOpen{mark}. " * 60) for n, mark in enumerate(marks)], window=32_000)
    b.conversation_id = (await b.session.conversations.create(None, None)).id
    for number, mark in enumerate(marks):
        await b.ask(question(number, mark), f"turn {number}")
    return b


async def purge(b: Bench, start: int | None = None, end: int | None = None) -> Scope:
    wanted = None if start is None or end is None else (MessageId(start), MessageId(end))
    purging = b.session.purging
    return await purging.purge(b.conversation_id, wanted, is_confirmed=True)


def files_with(b: Bench, text: str) -> dict[str, int]:
    """How often each file of the store holds the text, in any case."""
    found: dict[str, int] = {}
    for path in b.store.directory.rglob("*"):
        if path.is_file() and (n := path.read_bytes().lower().count(text.lower().encode())):
            found[path.name] = n
    return found


async def terms(b: Bench) -> set[str]:
    """Every word the search index knows."""

    def read() -> set[str]:
        sql.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, message_search, row)")
        words = {word for (word,) in sql.execute("SELECT term FROM terms")}
        sql.execute("DROP TABLE temp.terms")
        return words

    return await b.store.run(read)


async def check(b: Bench, conversation_id: ConversationId | None = None) -> list[StoredMessage]:
    """The conversation's messages, after proving that chain, cut and memory agree with the store."""
    wanted = conversation_id or b.conversation_id
    page = await b.session.conversations.read(wanted, None, 1000)
    messages = list(page.messages)
    assert first_broken(messages) is None
    assert {m.id for m in messages if m.purged} <= page.hidden
    state = await b.session.contexts.state(wanted)
    pieces = state.pieces
    b.session.contexts.forget(wanted)
    loaded = await b.session.contexts.state(wanted)
    assert loaded.pieces == pieces
    assert is_partition(pieces, state.n_messages, page.hidden)
    assert pairs_are_whole(tuple(piece.content for piece in pieces))
    return messages


def sent(b: Bench) -> str:
    """The last request, as text."""
    return "\n".join(message.text for message in b.provider.seen[-1].messages)


async def test_nothing_of_a_purged_conversation_is_left_in_any_file(bench: Opener) -> None:
    b = await talk(bench, range(8))
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(6)))
    await b.session.conversations.rename(b.conversation_id, f"my {SECRET}")
    await b.session.conversations.roll_back(b.conversation_id, MessageId(14))
    assert files_with(b, SECRET).keys() >= {"store.db-wal"}
    assert SECRET in await terms(b)
    scope = await purge(b)
    assert (scope.start, scope.end, scope.n_contents, scope.n_summaries) == (0, 16, 16, 1)
    assert files_with(b, SECRET) == {}
    assert files_with(b, "Question") == {}
    assert not {SECRET, f"open{SECRET}", "question"} & await terms(b)
    record = await b.store.read(stored.get, b.conversation_id)
    assert (record.title, record.draft, record.n_messages) == ("", "", 16)
    messages = await check(b)
    assert [m.content.role for m in messages] == [Role.USER, Role.ASSISTANT] * 8
    assert all(m.purged and not m.content.parts for m in messages)
    assert (await b.session.contexts.state(b.conversation_id)).pieces == []


async def test_a_purged_conversation_goes_on_with_the_next_ids(bench: Opener) -> None:
    b = await talk(bench, range(8))
    await purge(b)
    b.provider.replies = [says("A fresh answer.")]
    assert await b.ask("A fresh beginning", "after") == "committed"
    assert [m.id for m in await check(b)][-2:] == [16, 17]
    assert [m.text for m in b.provider.seen[-1].messages] == ["A fresh beginning"]
    assert (await b.store.read(stored.get, b.conversation_id)).title == "A fresh beginning"


@pytest.mark.parametrize(
    ("secret", "start", "end"), [(0, 0, 2), (3, 6, 8), (7, 14, 16)], ids=["first", "middle", "end"]
)
async def test_the_rest_of_a_conversation_and_its_next_request_stay(
    bench: Opener, secret: int, start: int, end: int
) -> None:
    b = await talk(bench, [secret])
    before = (await b.session.conversations.read(b.conversation_id, None, None)).messages
    scope = await purge(b, start, end)
    assert (scope.start, scope.end, scope.n_contents, scope.others) == (start, end, 2, ())
    assert files_with(b, SECRET) == {}
    assert not {word for word in await terms(b) if SECRET in word}
    after = await check(b)
    assert [m for m in after if not m.purged] == [m for m in before if not start <= m.id < end]
    assert [(m.id, m.digest, m.created_at, m.content.role) for m in after] == [
        (m.id, m.digest, m.created_at, m.content.role) for m in before
    ]
    assert {m.id for m in after if m.purged} == set(range(start, end))
    b.provider.replies = [says("Later.")]
    assert await b.ask("And now?", "after") == "committed"
    assert SECRET not in sent(b)
    assert len(b.provider.seen[-1].messages) == 16 - 2 + 1
    await check(b)


async def test_a_tombstone_counts_in_the_chain_by_the_digest_it_kept(bench: Opener) -> None:
    b = await talk(bench, n_turns=2)
    await purge(b, 1, 2)
    messages = await check(b)
    assert messages[1].purged is not None
    messages[1] = replace(messages[1], purged=Digest("0" * 64))
    assert first_broken(messages) == 1


async def test_a_purge_is_widened_to_whole_exchanges(bench: Opener) -> None:
    async def echo(arguments: str) -> ToolOutput:
        return ToolOutput(f"{SECRET} {arguments}" * 3000)

    tool = Tool(ToolSchema("echo", "echo", {"type": "object"}), echo)
    b = await bench([calls(("1", "echo", "{}"), ("2", "echo", "{}")), says("done")], tools=(tool,))
    await b.ask("q", "r")
    assert "store.db-wal" in files_with(b, SECRET)
    scope = await purge(b, 3, 4)
    assert (scope.start, scope.end) == (1, 4)
    assert files_with(b, SECRET) == {}, "a preview or a journal row is left"
    assert [m.content.role.value for m in await check(b)] == ["user", "assistant", "tool", "tool", "assistant"]
    again = await purge(b, 2, 3)
    assert (again.start, again.end, again.n_contents) == (1, 4, 0)


async def test_summaries_that_speak_of_it_go_and_lower_ones_that_do_not_stay(bench: Opener) -> None:
    b = await talk(bench, [4], n_turns=10)
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(6)))
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(12)))
    kept, gone = await b.store.read(summary_tree.read, b.conversation_id)
    assert (kept.end, gone.end, gone.children) == (6, 12, (kept.id,))
    scope = await purge(b, 8, 10)
    assert scope.n_summaries == 1
    assert await b.store.read(summary_tree.read, b.conversation_id) == [kept]
    assert files_with(b, SECRET) == {}
    await check(b)
    with pytest.raises(InvalidRequest):
        await b.session.conversations.undo(b.conversation_id)
    again = await b.session.conversations.summarize(b.conversation_id, (MessageId(6), MessageId(14)))
    assert again.block is not None
    assert SECRET not in again.block.summary.text
    await check(b)
    await b.session.conversations.undo(b.conversation_id)
    assert SECRET not in "".join(
        piece.content.text for piece in (await b.session.contexts.state(b.conversation_id)).pieces
    )
    await check(b)


async def test_forks_lose_what_they_inherited(bench: Opener) -> None:
    b = await talk(bench, [1])
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(6)))
    fork = await b.session.conversations.fork(b.conversation_id, MessageId(9), None)
    forks_fork = await b.session.conversations.fork(fork.id, None, None)
    early = await b.session.conversations.fork(b.conversation_id, MessageId(1), None)
    b.events.clear()
    scope = await purge(b, 2, 4)
    assert (set(scope.others), scope.n_summaries) == ({fork.id, forks_fork.id}, 3)
    assert files_with(b, SECRET) == {}
    assert {e.conversation_id for e in b.events if isinstance(e, ConversationChanged)} == {
        b.conversation_id,
        *scope.others,
    }
    for each in (b.conversation_id, fork.id, forks_fork.id):
        messages = await check(b, each)
        assert [m.id for m in messages if m.purged] == [2, 3]
        state = await b.session.contexts.state(each)
        assert not any(isinstance(piece, SummaryPiece) for piece in state.pieces)
    assert not any(m.purged for m in await check(b, early.id))
    b.conversation_id = forks_fork.id
    b.provider.replies = [says("Elsewhere.")]
    assert await b.ask("What if?", "fork") == "committed"
    assert SECRET not in sent(b)
    assert len(b.provider.seen[-1].messages) == 10 - 2 + 1


async def test_a_range_of_a_fork_is_purged_where_it_came_from(bench: Opener) -> None:
    b = await talk(bench, [3])
    parent = b.conversation_id
    b.conversation_id = (await b.session.conversations.fork(parent, MessageId(7), None)).id
    b.provider.replies = [says(f"Elsewhere {SECRET}.")]
    await b.ask("What if?", "fork")
    scope = await purge(b, 6, 10)
    assert scope.others == (parent,)
    assert files_with(b, SECRET) == {}
    assert [m.id for m in await check(b) if m.purged] == [6, 7, 8, 9]
    assert [m.id for m in await check(b, parent) if m.purged] == [6, 7]


async def test_purging_a_whole_fork_leaves_its_parent_alone(bench: Opener) -> None:
    b = await talk(bench)
    parent = b.conversation_id
    await b.session.conversations.summarize(parent, (MessageId(0), MessageId(6)))
    before = await check(b, parent)
    b.conversation_id = (await b.session.conversations.fork(parent, MessageId(7), None)).id
    b.provider.replies = [says(f"Elsewhere {SECRET}."), says("Again.")]
    await b.ask(f"What if {SECRET}?", "fork")
    would = await b.session.purging.what_would_go(b.conversation_id, None)
    assert "messages 8 to 9" in would
    assert "messages 0 to 7, from this fork only" in would
    scope = await purge(b)
    assert (scope.start, scope.end, scope.others) == (8, 10, ())
    assert files_with(b, SECRET) == {}
    assert await check(b, parent) == before
    await check(b)
    await b.ask("From scratch", "again")
    assert [m.text for m in b.provider.seen[-1].messages] == ["From scratch"]


async def test_what_the_hub_purges_first_counts_as_purged(bench: Opener) -> None:
    b = await talk(bench)
    here, wanted = b.session.purging, (MessageId(3), MessageId(5))

    async def everywhere(_: Sequence[tuple[str, int, int]]) -> None:
        """The hub's purge is taken in at once."""
        await here.purge(b.conversation_id, wanted, is_confirmed=True)

    done = await replace(here, everywhere=everywhere).purge(b.conversation_id, wanted, is_confirmed=True)
    assert done.n_contents == 2


async def test_purges_that_end_at_once_wait_for_each_other(bench: Opener) -> None:
    b = await talk(bench)
    with contextlib.closing(sqlite3.connect(b.store.directory / DATABASE_NAME)) as database, database:
        database.execute(
            "CREATE TABLE filler AS SELECT hex(zeroblob(400)) "
            " FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n)"
        )
    await asyncio.gather(*(replace(b.session.purging).finish() for _ in range(15)))


async def test_nothing_is_purged_unless_it_is_confirmed(bench: Opener) -> None:
    b = await talk(bench)
    await b.session.conversations.summarize(b.conversation_id, (MessageId(0), MessageId(6)))
    fork = await b.session.conversations.fork(b.conversation_id, None, None)
    purging = b.session.purging
    with pytest.raises(
        InvalidRequest,
        match=r"messages 3 to 4, with .*; the summaries that cover some of them \(2\)",
    ) as caught:
        await purging.purge(b.conversation_id, (MessageId(3), MessageId(5)), is_confirmed=False)
    assert f"1 other conversation ({fork.id[:8]})" in str(caught.value)
    assert "confirm" in str(caught.value)
    with pytest.raises(InvalidRequest, match="title and draft"):
        await purging.purge(b.conversation_id, None, is_confirmed=False)
    assert not any(m.purged for m in await check(b))
    for wanted in ((5, 3), (0, 17), (-1, 2)):
        with pytest.raises(InvalidRequest, match="not a range"):
            await purging.purge(b.conversation_id, (MessageId(wanted[0]), MessageId(wanted[1])), is_confirmed=True)


async def test_a_conversation_or_a_fork_that_is_being_written_is_not_purged(bench: Opener) -> None:
    b = await talk(bench)
    fork = await b.session.conversations.fork(b.conversation_id, None, None)
    for busy, where in ((b.conversation_id, ""), (fork.id, f" in {fork.id}, which has the same messages,")):
        async with b.session.conversations._writing(busy, "a turn"):
            with pytest.raises(ConversationBusy, match=f"a turn{where} is still running"):
                await purge(b, 0, 2)
    assert not any(m.purged for m in await check(b))
    await purge(b, 0, 2)
    for each in (b.conversation_id, fork.id):
        assert await b.store.read(leases.holder_of, each) is None


async def test_titles_and_drafts_made_of_it_go(bench: Opener) -> None:
    b = await talk(bench, [0, 7])
    fork = await b.session.conversations.fork(b.conversation_id, None, None)
    b_title = (await b.store.read(stored.get, b.conversation_id)).title
    second = await b.session.conversations.fork(fork.id, None, None)
    named = await b.session.conversations.fork(b.conversation_id, None, "Mine")
    assert second.title == f"{b_title} (fork 2)"
    await purge(b, 0, 2)
    ids = (b.conversation_id, fork.id, second.id, named.id)
    original, *titles = [(await b.store.read(stored.get, each)).title for each in ids]
    assert original.startswith("Question 1 ")
    assert sorted(titles) == ["Mine", f"{original} (fork 2)", f"{original} (fork)"]
    await b.session.conversations.roll_back(b.conversation_id, MessageId(14))
    await b.session.conversations.set_draft(b.conversation_id, f"edited {SECRET}")
    await purge(b, 2, 4)
    assert (await b.store.read(stored.get, b.conversation_id)).draft == f"edited {SECRET}"
    await purge(b, 14, 16)
    assert files_with(b, SECRET) == {}


async def test_purged_messages_are_not_found(bench: Opener) -> None:
    b = await talk(bench, [2, 5])
    store = b.store
    assert len(await find(store, Wanted(SECRET))) == 2
    await purge(b, 4, 6)
    assert [hit.message_id for hit in await find(store, Wanted(SECRET, includes_hidden=True))] == [10]


async def test_another_server_on_the_store_sends_it_no_more(bench: Opener) -> None:
    b = await talk(bench, [2], n_turns=3)
    other = await open_bench(b.store.directory, [says("Fine.")], window=32_000)
    try:
        other.conversation_id = b.conversation_id
        before = await other.session.contexts.state(b.conversation_id)
        assert any(SECRET in piece.content.text for piece in before.pieces)
        await purge(b, 4, 6)
        assert await other.ask("Next?", "other") == "committed"
        assert SECRET not in sent(other)
        assert files_with(b, SECRET) == {}
    finally:
        await other.session.folder.close()


async def test_a_turn_that_a_dead_server_left_open_is_purged_too(bench: Opener) -> None:
    b = await talk(bench, n_turns=1)
    dead = await open_bench(b.store.directory, [], window=32_000)

    def leave_open() -> None:
        held = leases.acquire(dead.session.folder.store.writer("now"), b.conversation_id, "a turn")
        tables.Turn.create(
            id="left",
            conversation=b.conversation_id,
            request_id="left",
            user_message_id=2,
            state="streaming",
            model="offline",
            next_seq=2,
            started_at="now",
        )
        step = tables.Step.create(
            turn="left",
            number=0,
            provider="p",
            model="m",
            server=held.server_id,
            epoch=held.epoch,
            estimated_tokens=1,
            started_at="now",
        )
        tables.StreamJournal.create(
            step=step.id, seq=1, event_type=EventType.TEXT.value, content=SECRET, is_error=False, created_at="now"
        )

    await dead.session.folder.store.run(leave_open)
    await dead.session.folder.store.close()
    scope = await purge(b)
    assert (scope.end, scope.n_contents) == (3, 3)
    assert files_with(b, SECRET) == {}
    await check(b)


@pytest.mark.parametrize("seed", range(2))
async def test_any_sequence_of_operations_keeps_what_is_purged_out(bench: Opener, seed: int) -> None:
    rng = random.Random(seed)
    b = await bench([], window=16_000)
    ids, purged, n = [b.conversation_id], set[str](), 0
    said: dict[tuple[str, int], str] = {}
    for _ in range(30):
        b.conversation_id = rng.choice(ids)
        conversations: Conversations = b.session.conversations
        record = await b.store.read(stored.get, b.conversation_id)
        at = rng.randrange(max(record.n_messages, 1))
        match rng.choice(["ask", "ask", "ask", "ask", "summarize", "fork", "back", "purge", "undo"]):
            case "summarize" if at:
                await conversations.summarize(b.conversation_id, (MessageId(0), MessageId(at)))
            case "fork" if record.n_messages and len(ids) < 4:
                ids.append((await conversations.fork(b.conversation_id, MessageId(at), None)).id)
            case "back" if at:
                with contextlib.suppress(InvalidRequest):  # the message may be hidden already
                    await conversations.roll_back(b.conversation_id, MessageId(at))
            case "undo":
                with contextlib.suppress(InvalidRequest):
                    await conversations.undo(b.conversation_id)
            case "purge" if record.n_messages:
                scope = await purge(b, at, min(at + rng.randrange(1, 5), record.n_messages))
                for owner, first, after in scope.stretches:
                    purged |= {said[owner, each] for each in range(first, after) if (owner, each) in said}
            case _:
                n += 1
                asked, answered = (f"zq{n}{kind}{rng.randrange(10**6)}x" for kind in ("asked", "answered"))
                reply: list[Action] = says(f"Answer {answered}. " * rng.randrange(1, 80))
                b.provider.replies = [reply]
                said[b.conversation_id, record.n_messages] = asked
                said[b.conversation_id, record.n_messages + 1] = answered
                assert await b.ask(f"Question {asked}. " * rng.randrange(1, 80), f"request {n}") == "committed"
                assert not [each for each in purged if each in sent(b)]
    assert purged, "this seed purges nothing"
    for each in ids:
        await check(b, each)
    assert not {mark: files for mark in purged if (files := files_with(b, mark))}
    left = [each for each in said.values() if each not in purged]
    assert all(files_with(b, mark) for mark in left), "more was lost than was purged"


async def test_copies_of_the_store_go_with_what_was_purged(bench: Opener) -> None:
    b = await bench([says("An answer.")])
    await b.ask("A secret.", "request 1")
    store = b.store
    copy = backups.keep(store.directory / DATABASE_NAME, "request")
    assert list(backups.kept(store.directory)) == [copy]
    await b.session.purging.purge(b.conversation_id, None, is_confirmed=True)
    assert list(backups.kept(store.directory)) == []


async def test_documents_go_also_when_the_server_that_purges_ends_right_after(bench: Opener) -> None:
    b = await bench([says("An answer.")])
    await b.ask("Zqxsecret7731 is it.", "request 1")
    fork = await b.session.conversations.fork(b.conversation_id, None, None)
    store, documents = b.store, ChatDocuments(b.session.folder.root, b.store)
    paths = [
        await documents.create(each, "Zqxsecret7731 is it.", in_folder=False) for each in (b.conversation_id, fork.id)
    ]
    await store.run(purging.purge, store.writer("2026-01-01"), b.conversation_id, None)
    await resume(b.session.purging)
    assert not any(path.exists() for path in paths), "the next server did not finish it"
    assert await documents.document_of(fork.id) is None


async def test_a_document_that_cannot_be_changed_is_named_and_the_rest_is_done(bench: Opener) -> None:
    b = await bench([says("An answer.")])
    await b.ask("Zqxsecret7731 is it.", "request 1")
    documents = ChatDocuments(b.session.folder.root, b.store)
    stuck = b.session.folder.root / "stuck.chat.md"
    stuck.mkdir()  # nothing that could be unlinked
    await documents.bind(stuck, b.conversation_id)
    made = await documents.create(b.conversation_id, "Zqxsecret7731 is it.", in_folder=False)
    with pytest.raises(StoreError, match=r"stuck\.chat\.md could not be changed"):
        await b.session.purging.purge(b.conversation_id, None, is_confirmed=True)
    assert not made.exists()
    assert not any(b"Zqxsecret7731" in path.read_bytes() for path in b.store.directory.glob("store.db*"))
    stuck.rmdir()
    await resume(b.session.purging)
    assert not await b.store.read(pending_work.is_any_left_of_a_purge)
