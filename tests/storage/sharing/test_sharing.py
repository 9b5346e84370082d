"""Stores that take in the same log hold the same conversation, and no text is lost when two wrote at once."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from palimpsest.domain.errors import ConversationBusy
from palimpsest.domain.messages import Content, ConversationId, MessageId, Role, TextPart, TurnId, user_message
from palimpsest.domain.sharing.cleaning import Cleaner
from palimpsest.domain.sharing.log import Entry, EntryKind, NewEntry, SharedConversation
from palimpsest.domain.turns.states import TurnState
from palimpsest.services.conversation.pending_work import do_pending_work
from palimpsest.services.maintenance.health import examine
from palimpsest.storage import leases
from palimpsest.storage.context import summary_tree
from palimpsest.storage.conversation import conversations, hidden_ranges, message_log
from palimpsest.storage.conversation.message_log import Counts
from palimpsest.storage.maintenance.health import Verdict
from palimpsest.storage.sharing import apart, arrivals, outgoing, shared
from palimpsest.storage.sharing.arrivals import Diverged
from palimpsest.storage.sharing.shared import Terms, Unsound
from palimpsest.storage.sql import execute
from palimpsest.storage.store import Store, open_store
from palimpsest.storage.turns import turn_records, turns
from palimpsest.storage.turns.turns import TurnEnd, TurnRequest

C, F, NOW = ConversationId("c" * 32), ConversationId("f" * 32), "2026-01-01T00:00:00.000Z"
CLEANER = Cleaner("/home/ann/heron", "/home/ann")


class Log:
    """The log as a hub keeps it."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.n_messages = 0

    def push(self, member: str, new: Sequence[NewEntry]) -> int:
        for each in new:
            if each.message is not None:
                if each.message.message_id < self.n_messages:
                    continue
                assert each.message.message_id == self.n_messages
                self.n_messages += 1
            elif any((known.kind, known.key) == (each.kind, each.key) for known in self.entries):
                continue
            author = member if each.message is None else each.message.author or member
            self.entries.append(Entry(len(self.entries) + 1, each.kind, each.key, author, 1, each.body, each.message))
        return len(self.entries)

    def purge(self, start: int, end: int) -> None:
        self.entries = [
            replace(each, body=None)
            if each.kind == EntryKind.SUMMARY or (each.message and start <= each.message.message_id < end)
            else each
            for each in self.entries
        ]
        number = len(self.entries) + 1
        self.entries.append(Entry(number, EntryKind.PURGE, f"{number}", "ann", 1, f"[{start},{end}]", None))


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[list[Store]]:
    async with AsyncExitStack() as stack:
        opened = []
        for name in ("ann", "bob"):
            store = await open_store(tmp_path / name)
            stack.push_async_callback(store.close)
            opened.append(store)
        yield opened


async def attach(store: Store, log: Log, *, makes: bool) -> None:
    if makes:
        await store.run(conversations.create, C, "Herons", "offline", NOW)
    header = SharedConversation("team", C, None, 0, "Herons", "offline", NOW, "channel", 0, 0, is_unshared=False)
    header = replace(header, me=store.directory.name)
    await store.run(shared.attach, header, Terms(CLEANER))
    await pull(store, log)


async def pull(store: Store, log: Log) -> list[ConversationId]:
    """The forks into which messages moved."""
    forks: list[ConversationId] = []
    while True:
        standing = await store.read(shared.standing, C)
        assert standing is not None
        new = log.entries[standing.hub_seq :]
        try:
            await store.run(arrivals.take_in, store.writer(NOW), C, new)
            return forks
        except Diverged as diverged:
            at = diverged.at

            def move(at: MessageId = at) -> ConversationId:
                lease, _ = turns.take(store.writer(NOW), C, "a test")
                fork = apart.move_apart(lease, at, NOW)
                leases.release(lease)
                return fork

            forks.append(await store.run(move))


async def sync(store: Store, log: Log, member: str) -> list[ConversationId]:
    forks = await pull(store, log)
    while True:
        batch = await store.read(outgoing.unpushed, C, log.n_messages)
        head = log.push(member, batch.entries)
        await store.run(shared.note_pushed, C, batch.entries, head)
        if batch.is_all:
            return forks


def say(store: Store, text: str) -> None:
    """A turn of a question and an answer."""
    turn_id = TurnId(f"turn of {text}")
    request = TurnRequest(f"request of {text}", user_message(f"{text}?"), Counts("bytes", [1]))
    admission = turns.admit(store.writer(NOW), turn_id, C, request)
    assert admission.lease is not None
    message_log.append(C, [Content(Role.ASSISTANT, (TextPart(f"{text}!"),))], NOW, turn_id=turn_id)
    turns.end_turn(admission.lease, turn_id, TurnEnd(TurnState.COMMITTED, "end"), NOW)


def summarize(start: int, end: int, text: str) -> None:
    new = summary_tree.NewSummary(MessageId(start), MessageId(end), 1, "extractive", text, 0, "palimpsest", (), 0)
    summary_tree.write(C, new, NOW)


def state_of(conversation_id: ConversationId) -> tuple[object, ...]:
    messages = [(each.id, each.digest, each.content) for each in message_log.read(conversation_id, 0)]
    ranges = hidden_ranges.read(conversation_id)
    usable = {each.id for each in summary_tree.read(conversation_id) if summary_tree.is_usable(each, ranges)}
    keys = sorted(key for each, (key, _) in outgoing.summaries(conversation_id).items() if each in usable)
    hidden = [(each.start, each.end) for each in ranges]
    ended = sorted(execute("SELECT id, state FROM turn WHERE conversation = ?", conversation_id).fetchall())
    return messages, keys, hidden, ended, conversations.get(conversation_id).title


def texts() -> list[str]:
    """All texts of messages of the store's own rows."""
    found = []
    for record in conversations.list_all():
        own = message_log.read(record.id, record.fork_at)
        found += [each.content.text for each in own]
    return sorted(found)


async def assert_sound(store: Store) -> None:
    await do_pending_work(store)
    report = await examine(store.directory)
    assert [each for each in report.findings if each.verdict is not Verdict.OK] == []


@pytest.mark.parametrize("seed", range(12))
async def test_whoever_writes_when_every_store_ends_with_the_same_and_loses_nothing(
    stores: list[Store], seed: int
) -> None:
    chance, log, names = random.Random(seed), Log(), ("ann", "bob")
    await attach(stores[0], log, makes=True)
    await stores[0].run(say, stores[0], "The first")
    await sync(stores[0], log, "ann")
    await attach(stores[1], log, makes=False)
    said: list[set[str]] = [{"The first"}, {"The first"}]
    for number in range(30):
        who = chance.randrange(2)
        store = stores[who]
        match chance.choice(("say", "say", "sync", "sync", "summarize", "hide", "rename")):
            case "say":
                text = f"{names[who]} {number}"
                await store.run(say, store, text)
                said[who].add(text)
            case "sync":
                await sync(store, log, names[who])
            case "summarize":
                n = (await store.read(conversations.get, C)).n_messages
                await store.run(summarize, 0, chance.randint(1, n), f"{names[who]} told {number}")
            case "hide":
                n = (await store.read(conversations.get, C)).n_messages
                await store.run(hidden_ranges.add, C, MessageId(n - 1), MessageId(n), f"{NOW[:-2]}{number:02}Z")
            case _:
                await store.run(conversations.rename, C, f"Herons {number}", NOW)
    for who in (0, 1, 0, 1):
        await sync(stores[who], log, names[who])

    one, two = [await store.read(state_of, C) for store in stores]
    assert one == two
    for store, own in zip(stores, said, strict=True):
        found = await store.read(texts)
        assert all(found.count(f"{each}?") == found.count(f"{each}!") == 1 for each in own)
        await assert_sound(store)


async def test_a_fork_of_messages_that_move_moves_with_them(stores: list[Store]) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    await attach(stores[1], log, makes=False)
    await stores[0].run(say, stores[0], "one")
    await stores[1].run(say, stores[1], "two")

    def fork() -> None:
        conversations.fork(F, conversations.get(C), MessageId(2), "a fork", NOW)
        message_log.append(F, [user_message("in the fork")], NOW)

    await stores[1].run(fork)
    await sync(stores[0], log, "ann")
    (moved,) = await sync(stores[1], log, "bob")
    read = [each.content.text for each in await stores[1].read(message_log.read, F, 0)]
    assert read == ["two?", "two!", "in the fork"]
    assert (await stores[1].read(conversations.get, F)).parent == moved
    assert [each.content.text for each in await stores[1].read(message_log.read, C, 0)] == ["one?", "one!"]
    await assert_sound(stores[1])


async def test_forks_follow_the_messages_that_they_begin_with(stores: list[Store]) -> None:
    """One that begins with what moves, and one of that; not one that begins before, also right before."""
    log, before, inner = Log(), ConversationId("b" * 32), ConversationId("d" * 32)
    await attach(stores[0], log, makes=True)
    await stores[0].run(say, stores[0], "one")
    await sync(stores[0], log, "ann")
    await attach(stores[1], log, makes=False)
    await stores[0].run(say, stores[0], "two")
    await stores[1].run(say, stores[1], "three")

    def fork() -> None:
        for made, parent, at in ((before, C, 2), (F, C, 3), (inner, F, 4)):
            conversations.fork(made, conversations.get(parent), MessageId(at), "a fork", NOW)
            message_log.append(made, [user_message(f"in {made[0]}")], NOW)

    await stores[1].run(fork)
    await sync(stores[0], log, "ann")
    (moved,) = await sync(stores[1], log, "bob")
    parents = [(await stores[1].read(conversations.get, each)).parent for each in (before, F, inner)]
    assert parents == [C, moved, F]
    read = [[m.content.text for m in await stores[1].read(message_log.read, each, 0)] for each in (before, F, inner)]
    assert read == [
        ["one?", "one!", "in b"],
        ["one?", "one!", "three?", "in f"],
        ["one?", "one!", "three?", "in f", "in d"],
    ]
    await assert_sound(stores[1])


async def test_taking_the_same_in_again_changes_nothing(stores: list[Store]) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    await stores[0].run(say, stores[0], "one")
    await sync(stores[0], log, "ann")
    await attach(stores[1], log, makes=False)
    before = await stores[1].read(state_of, C)
    await stores[1].run(execute, "UPDATE shared_conversation SET hub_seq = 0")
    await pull(stores[1], log)
    assert await stores[1].read(state_of, C) == before
    assert await stores[1].read(shared.authors, C, 0, 9) == {0: "ann", 1: "ann"}


@pytest.mark.parametrize("change", ["text", "digest", "order", "role"])
async def test_what_does_not_follow_is_refused_and_nothing_of_it_is_stored(stores: list[Store], change: str) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    await stores[0].run(say, stores[0], "one")
    await sync(stores[0], log, "ann")
    first = log.entries[0]
    assert first.message is not None
    match change:
        case "text":
            log.entries[0] = replace(first, body=(first.body or "").replace("one", "two"))
        case "digest":
            log.entries[0] = replace(first, message=replace(first.message, digest="0" * 64))
        case "order":
            log.entries[0] = replace(first, message=replace(first.message, message_id=1))
        case _:
            log.entries[0] = replace(first, message=replace(first.message, role="nobody"))
    with pytest.raises(Unsound):
        await attach(stores[1], log, makes=False)
    assert (await stores[1].read(conversations.get, C)).n_messages == 0


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (EntryKind.TURN, '{"state":"prepared"}'),
        (EntryKind.TURN, "[]"),
        (EntryKind.HIDDEN, '[0,99,"now"]'),
        (EntryKind.HIDDEN, "{}"),
        (EntryKind.SUMMARY, '{"text":1}'),
        (EntryKind.PURGE, "[5,9]"),
        (EntryKind.PURGE, "no range"),
    ],
)
async def test_an_entry_that_is_none_is_passed_over(stores: list[Store], kind: EntryKind, body: str) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    log.entries.append(Entry(1, kind, "key", "eve", 1, body, None))
    await stores[0].run(say, stores[0], "one")
    await pull(stores[0], log)
    await sync(stores[0], log, "ann")
    assert (await stores[0].read(shared.standing, C)).hub_seq == len(log.entries)  # type: ignore[union-attr]
    assert len(await stores[0].read(message_log.read, C, 0)) == 2


async def test_an_entry_of_a_newer_format_waits_and_so_does_what_is_behind_it(stores: list[Store]) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    await stores[0].run(say, stores[0], "one")
    await sync(stores[0], log, "ann")
    log.entries[1] = replace(log.entries[1], format=2)
    await attach(stores[1], log, makes=False)
    assert (await stores[1].read(shared.standing, C)).hub_seq == 1  # type: ignore[union-attr]


async def test_a_purge_reaches_every_store(stores: list[Store]) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    await stores[0].run(say, stores[0], "unspeakable")
    await sync(stores[0], log, "ann")
    await attach(stores[1], log, makes=False)
    log.purge(0, 2)
    for store in stores:
        await pull(store, log)
        assert [each.content.text for each in await store.read(message_log.read, C, 0)] == ["", ""]
    third = Log()
    third.entries, third.n_messages = log.entries, log.n_messages
    assert await stores[0].read(state_of, C) == await stores[1].read(state_of, C)


async def test_a_purge_waits_for_a_writer(stores: list[Store]) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    await stores[0].run(say, stores[0], "one")
    await sync(stores[0], log, "ann")
    lease, _ = await stores[0].run(turns.take, stores[0].writer(NOW), C, "a test")
    log.purge(0, 2)
    with pytest.raises(ConversationBusy):
        await pull(stores[0], log)
    await stores[0].run(leases.release, lease)
    await pull(stores[0], log)
    assert [each.content.text for each in await stores[0].read(message_log.read, C, 0)] == ["", ""]


SECRETS = ("AKIAIOSFODNN7EXAMPL2 is the key", "Look into /home/ann/heron/pump.py")


@pytest.mark.parametrize("text", SECRETS)
async def test_a_secret_and_a_place_of_this_machine_that_were_said_before_do_not_leave(
    stores: list[Store], text: str
) -> None:
    log = Log()
    await stores[0].run(conversations.create, C, "Herons", "offline", NOW)
    await stores[0].run(message_log.append, C, [user_message(text)], NOW)
    await attach(stores[0], log, makes=False)
    with pytest.raises(Unsound, match="secret or a place"):
        await stores[0].read(outgoing.unpushed, C, log.n_messages)


@pytest.mark.parametrize("text", SECRETS)
async def test_what_is_said_in_a_shared_conversation_is_cleaned_as_it_is_stored(stores: list[Store], text: str) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    (stored,) = await stores[0].run(message_log.append, C, [user_message(text)], NOW)
    assert stored.content == CLEANER.content(user_message(text)) != user_message(text)
    await sync(stores[0], log, "ann")
    assert all("AKIA" not in (each.body or "") and "/home" not in (each.body or "") for each in log.entries)
    await assert_sound(stores[0])


def test_what_is_taken_out_leaves_the_rest() -> None:
    cleaned = CLEANER.content(user_message("See /home/ann/heron/a.py and /home/ann/b"))
    assert cleaned.text == "See ./a.py and ~/b"
    plain = user_message("nothing to take out")
    assert CLEANER.content(plain) is plain


async def test_the_id_of_a_store_stays(stores: list[Store]) -> None:
    one, again, other = [await store.run(shared.store_id) for store in (stores[0], stores[0], stores[1])]
    assert one == again != other


async def test_what_the_hub_never_had_was_said_alone_when_the_sharing_ends(stores: list[Store]) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    await stores[0].run(say, stores[0], "one")
    await sync(stores[0], log, "ann")
    await stores[0].run(say, stores[0], "two")
    await stores[0].run(shared.detach, C)
    former = await stores[0].read(shared.former, C)
    assert former is not None
    assert len(await stores[0].read(message_log.read, C, 0)) == 4
    assert former.n_messages == 2, "the ids behind are another's in the hub"


async def test_what_was_shared_stays_when_it_is_shared_no_longer(stores: list[Store]) -> None:
    log = Log()
    await attach(stores[0], log, makes=True)
    await stores[0].run(say, stores[0], "one")
    await sync(stores[0], log, "ann")
    await stores[0].run(shared.detach, C)
    assert await stores[0].read(shared.standing, C) is None
    assert len(await stores[0].read(message_log.read, C, 0)) == 2
    assert await stores[0].read(turn_records.find, TurnId("turn of one")) is not None
