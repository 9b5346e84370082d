"""The store: private files, one transaction for each call, chained messages without a gap, fenced writers, one commit
for each step."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import sqlite3
import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import peewee
import pytest
from tests.sent import NOTHING

from palimpsest.domain.conversation.chain import first_broken
from palimpsest.domain.errors import ConversationBusy, LeaseLost, NotFound, StoreError
from palimpsest.domain.messages import ConversationId, MessageId, MessageStatus, StepId, TurnId, user_message
from palimpsest.domain.models.provider import TokenUsage
from palimpsest.domain.turns.journal import Ending, EventType, JournalEvent
from palimpsest.domain.turns.states import TurnState
from palimpsest.storage import leases
from palimpsest.storage import store as store_module
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.conversation.message_log import Counts
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.reading_only import find_source
from palimpsest.storage.server_locks import live_servers
from palimpsest.storage.sql import execute
from palimpsest.storage.store import Store, open_store
from palimpsest.storage.turns import stream_journal, turn_records, turns
from palimpsest.storage.turns.turns import Admission, NewStep, StepEnd, StepMessages, TurnEnd, TurnRequest

C, T, NOW = ConversationId("c"), TurnId("t"), "2026-01-01T00:00:00.000Z"
COUNTS = Counts("bytes", (1, 1, 1))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path / "store")
    await opened.run(conversations.create, C, "", "offline", NOW)
    yield opened
    await opened.close()


async def admit(store: Store, request_id: str = "r", turn_id: TurnId = T, text: str = "question") -> Admission:
    return await store.run(
        turns.admit, store.writer(NOW), turn_id, C, TurnRequest(request_id, user_message(text), COUNTS)
    )


async def begin_and_say(store: Store, admission: Admission, *texts: str) -> StepId:
    assert admission.lease is not None
    step = await store.run(turns.begin_step, admission.lease, T, NewStep(0, "p", "m", 10, NOTHING), NOW)
    for text in texts:
        await store.run(stream_journal.append, admission.lease, T, step, [JournalEvent(EventType.TEXT, text)], NOW)
    return step


async def test_every_file_is_private(store: Store) -> None:
    files = [path for path in store.directory.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"store.db", "store.db-wal", "store.db-shm"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    folders = [store.directory, store.directory / "servers"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


async def test_a_store_that_could_not_be_opened_holds_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Cursor(sqlite3.Cursor):
        def execute(self, sql: str, *parameters: Any) -> Cursor:
            if "synchronous" in sql:  # the statement before it has rows that nobody has read
                raise sqlite3.OperationalError("disk I/O error")
            super().execute(sql, *parameters)
            return self

    class Connection(sqlite3.Connection):
        def cursor(self, _factory: Any = None) -> Any:
            return super().cursor(Cursor)

    class Failing(peewee.SqliteDatabase):
        def __init__(self, database: str, **options: Any) -> None:
            super().__init__(database, factory=Connection, **options)

    with monkeypatch.context() as broken:
        broken.setattr(store_module, "SqliteDatabase", Failing)
        with pytest.raises(StoreError) as refused:
            await open_store(tmp_path / "store")
    monkeypatch.setattr(store_module, "_BUSY_TIMEOUT_S", 0)
    store = await open_store(tmp_path / "store")  # while the error and its traceback are still there
    await store.close()
    assert "failing" in str(refused.value)


async def test_a_failing_function_rolls_back_all_it_did(store: Store) -> None:
    def fail() -> None:
        message_log.append(C, [user_message("lost")], NOW)
        raise NotFound("on purpose")

    with pytest.raises(NotFound):
        await store.run(fail)
    assert (await store.read(conversations.get, C)).n_messages == 0


async def test_a_read_that_fails_among_its_rows_leaves_nothing_that_sees_the_past(store: Store) -> None:
    await store.run(conversations.create, ConversationId("d"), "", "offline", NOW)

    def fail() -> None:
        found = iter(execute("SELECT id FROM conversation"))
        raise NotFound(f"{next(found)} is not it")

    def count() -> int:
        ((found,),) = execute("SELECT COUNT(*) FROM conversation")
        return int(found)

    with pytest.raises(NotFound) as caught:
        await store.read(fail)
    await store.run(conversations.create, ConversationId("e"), "", "offline", NOW)
    assert await store.read(count) == 3
    assert str(caught.value)  # whoever still holds the error holds its frames


async def test_a_cancelled_caller_does_not_stop_the_transaction(store: Store) -> None:
    writing = asyncio.create_task(store.run(message_log.append, C, [user_message("kept")], NOW))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await store.run(lambda: None)
    assert (await store.read(conversations.get, C)).n_messages == 1


async def test_two_stores_in_one_process_do_not_mix(store: Store, tmp_path: Path) -> None:
    other = await open_store(tmp_path / "other")
    try:
        await asyncio.gather(
            *(store.run(message_log.append, C, [user_message(f"{n}")], NOW) for n in range(50)),
            *(other.run(conversations.create, ConversationId(f"{n}"), "", "m", NOW) for n in range(50)),
        )
        assert (await store.read(conversations.get, C)).n_messages == 50
        assert len(await other.read(conversations.list_all)) == 50
        assert len(await store.read(conversations.list_all)) == 1
    finally:
        await other.close()


async def test_two_servers_append_gaplessly_and_the_chain_verifies(store: Store) -> None:
    other = await open_store(store.directory)
    try:
        await asyncio.gather(
            *(each.run(message_log.append, C, [user_message("x")], NOW) for each in (store, other) for _ in range(40))
        )
        messages = await store.read(message_log.read, C, 0)
        assert [message.id for message in messages] == list(range(80))
        assert first_broken(messages) is None
    finally:
        await other.close()


async def test_a_file_that_is_no_database_is_left_alone_and_explained(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"not a database, but 40 bytes of something")
    with pytest.raises(StoreError, match="damaged"):
        await open_store(tmp_path)
    assert (tmp_path / "store.db").read_bytes().startswith(b"not a database")


async def test_a_store_is_found_by_a_path_from_the_folder_that_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opened = await open_store(Path("store"))
    try:
        assert opened.directory == tmp_path / "store"
    finally:
        await opened.close()


async def test_a_place_that_can_be_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/store is not there and cannot be made\. Check storage\.path"):
        await open_store(tmp_path / "file" / "store")


async def test_admission_commits_the_users_message_and_a_repeat_finds_the_turn(store: Store) -> None:
    first = await admit(store)
    again = await admit(store, turn_id=TurnId("other"))
    assert again.turn.id == first.turn.id == T
    assert again.lease is None
    assert [m.content.text for m in await store.read(message_log.read, C, 0)] == ["question"]
    assert (await store.read(conversations.get, C)).title == "question"


async def test_a_second_writer_is_told_who_was_first(store: Store) -> None:
    await admit(store)
    with pytest.raises(ConversationBusy, match="a turn"):
        await admit(store, "r2", TurnId("t2"))
    with pytest.raises(ConversationBusy, match="a turn"):
        await store.run(leases.acquire, store.writer(NOW), C, "a summary")


async def test_a_step_is_committed_once_with_its_journal_pruned(store: Store) -> None:
    admission = await admit(store)
    step = await begin_and_say(store, admission, "an", "swer")
    assert admission.lease is not None
    end = StepEnd(Ending.COMPLETE, TokenUsage(5, output_tokens=2), None, TurnEnd(TurnState.COMMITTED, "end"))
    said = StepMessages([user_message("answer")], COUNTS, {0: user_message("a…")}, 0)
    commit = (admission.lease, T, step, said, end, NOW)
    await store.run(turns.commit_step, *commit)
    assert await store.read(stream_journal.read, T) == []
    assert await store.read(turn_records.message_ids, T) == [0, 1]
    assert (await store.read(turn_records.find, T)).state is TurnState.COMMITTED
    with pytest.raises(LeaseLost):
        await store.run(turns.commit_step, *commit)
    assert (await store.read(conversations.get, C)).n_messages == 2
    await admit(store, "r2", TurnId("t2"))


async def test_a_server_that_lost_its_lease_writes_nothing_more(store: Store) -> None:
    admission = await admit(store)
    step = await begin_and_say(store, admission, "shown")
    other = await open_store(store.directory)
    try:
        await other.run(leases.acquire, leases.Writer(other.server_id, lambda _: False, NOW), C, "a turn")
        assert admission.lease is not None
        with pytest.raises(LeaseLost):
            await store.run(
                stream_journal.append, admission.lease, T, step, [JournalEvent(EventType.TEXT, "late")], NOW
            )
        assert [n.event.text for n in await store.read(stream_journal.read, T)] == ["shown"]
    finally:
        await other.close()


async def test_recovery_keeps_what_a_dead_server_showed_and_runs_twice_without_effect(store: Store) -> None:
    dead = await open_store(store.directory)
    admission = await admit(dead)
    await begin_and_say(dead, admission, "half an ", "answer")
    assert await store.run(turns.recover, store.writer(NOW)) == [], "a live server's turn was touched"
    await dead.close()
    assert await store.run(turns.recover, store.writer(NOW)) == [T]
    messages = await store.read(message_log.read, C, 0)
    assert [(m.content.text, m.content.status) for m in messages] == [
        ("question", MessageStatus.COMPLETE),
        ("half an answer", MessageStatus.INTERRUPTED),
    ]
    assert first_broken(messages) is None
    assert (await store.read(turn_records.find, T)).state is TurnState.INTERRUPTED
    assert await store.run(turns.recover, store.writer(NOW)) == []
    assert await store.read(message_log.read, C, 0) == messages
    await admit(store, "r2", TurnId("t2"))


async def test_a_finished_answer_of_a_dead_server_commits_as_complete(store: Store) -> None:
    dead = await open_store(store.directory)
    admission = await admit(dead)
    step = await begin_and_say(dead, admission, "whole answer")
    assert admission.lease is not None
    await dead.run(stream_journal.append, admission.lease, T, step, [JournalEvent(EventType.DONE)], NOW)
    await dead.close()
    # Without recovery at start: the next turn closes it first.
    await admit(store, "r2", TurnId("t2"), "next")
    texts = [(m.content.text, m.content.status) for m in await store.read(message_log.read, C, 0)]
    assert texts[1] == ("whole answer", MessageStatus.COMPLETE)
    assert texts[2][0] == "next"
    assert (await store.read(turn_records.find, T)).state is TurnState.COMMITTED


async def test_events_are_numbered_over_the_whole_turn(store: Store) -> None:
    admission = await admit(store)
    lease = admission.lease
    assert lease is not None
    step = await begin_and_say(store, admission, "a", "b")
    start = JournalEvent(EventType.TOOL_START, "", "1", "read")
    await store.run(stream_journal.append, lease, T, step, [start], NOW)
    nothing = StepMessages([], COUNTS, {}, 0)
    await store.run(turns.commit_step, lease, T, step, nothing, StepEnd(Ending.COMPLETE, None, None, None), NOW)
    second = await store.run(turns.begin_step, lease, T, NewStep(1, "p", "m", 10, NOTHING), NOW)
    numbered = await store.run(stream_journal.append, lease, T, second, [JournalEvent(EventType.TEXT, "c")], NOW)
    assert [each.seq for each in numbered] == [4]
    assert second > step


async def test_a_page_of_messages_is_what_was_asked_for(store: Store) -> None:
    await store.run(message_log.append, C, [user_message(f"{n}") for n in range(10)], NOW)
    page = await store.read(message_log.read, C, MessageId(3), MessageId(6))
    assert [message.content.text for message in page] == ["3", "4", "5"]


async def test_a_store_of_a_newer_version_is_refused_with_what_to_do_and_left_as_it_is(tmp_path: Path) -> None:
    opened = await open_store(tmp_path / "store")
    await opened.run(
        execute, "INSERT INTO schema_migration (name, applied) VALUES ('9999_later', '2026-01-01 00:00:00')"
    )
    await opened.close()
    before = (tmp_path / "store" / DATABASE_NAME).read_bytes()
    with pytest.raises(StoreError, match=r"newer Palimpsest \(9999_later\).*Install the newest.*nothing was changed"):
        await open_store(tmp_path / "store")
    assert (tmp_path / "store" / DATABASE_NAME).read_bytes() == before
    assert not list((tmp_path / "store").glob("backups/*"))
    assert live_servers(tmp_path / "store") == []


async def test_an_abandoned_turn_is_closed_by_its_own_lease_only(store: Store) -> None:
    lease = (await admit(store)).lease
    assert lease is not None
    await store.run(turns.close_abandoned, replace(lease, epoch=lease.epoch + 1), NOW)
    assert (await store.read(turn_records.find, T)).state is TurnState.ADMITTED
    await store.run(turns.close_abandoned, lease, NOW)
    assert (await store.read(turn_records.find, T)).state is TurnState.INTERRUPTED
    assert await store.read(leases.holder_of, C) is None


async def test_a_conversation_is_stored_with_its_first_message_or_not_at_all(store: Store) -> None:
    new = replace(await store.read(conversations.get, C), id=ConversationId("new"))
    arguments = (store.writer(NOW), T, new.id, TurnRequest("r", user_message("question"), COUNTS))

    def fail_behind() -> None:
        turns.admit(*arguments, new)
        raise NotFound("on purpose")

    with pytest.raises(NotFound):
        await store.run(fail_behind)
    assert await store.read(conversations.find, new.id) is None
    await store.run(turns.admit, *arguments, new)
    assert (await store.read(conversations.get, new.id)).n_messages == 1
    again = await store.run(
        turns.admit,
        store.writer(NOW),
        TurnId("u"),
        ConversationId("v"),
        *arguments[3:],
        replace(new, id=ConversationId("v")),
    )
    assert again.turn.id == T
    assert await store.read(conversations.find, ConversationId("v")) is None


async def test_nothing_is_written_into_a_store_that_was_deleted_moved_or_replaced(tmp_path: Path) -> None:
    directory = tmp_path / "store"
    store = await open_store(directory)
    await store.run(conversations.create, ConversationId("c"), "kept", "m", NOW)
    assert (await store.read(conversations.get, ConversationId("c"))).title == "kept"
    directory.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="deleted, moved or replaced"):
        await store.run(conversations.create, ConversationId("d"), "lost", "m", NOW)
    assert (await store.read(conversations.get, ConversationId("c"))).title == "kept"
    other = await open_store(directory)
    with pytest.raises(StoreError, match="deleted, moved or replaced"):
        await store.run(conversations.create, ConversationId("d"), "lost", "m", NOW)
    await other.close()
    shutil.rmtree(directory)
    (tmp_path / "elsewhere").rename(directory)
    await store.run(conversations.create, ConversationId("d"), "written again", "m", NOW)
    await store.close()


async def test_what_cannot_be_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_store(tmp_path / "store")
    await store.run(conversations.create, ConversationId("c"), "kept", "m", NOW)
    await store.close()
    make_read_only(monkeypatch)
    store = await open_store(tmp_path / "store")
    assert (await store.read(conversations.get, ConversationId("c"))).title == "kept"
    assert (await store.search(conversations.get, ConversationId("c"))).title == "kept"
    assert await store.data_version() > 0
    with pytest.raises(StoreError, match=r"cannot write to .* storage.path .* Until then conversations can be read"):
        await store.run(conversations.create, ConversationId("d"), "new", "m", NOW)
    assert (store.refusal,) == store.notes
    await store.close()
    with pytest.raises(StoreError, match="cannot write to"):
        await open_store(tmp_path / "nothing stored")


def make_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the system refuse to open files for writing."""
    really = os.open

    def refuse(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return really(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", refuse)


async def test_a_log_that_was_left_is_read_where_no_index_of_it_can_be_made(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store")
    await store.run(conversations.create, ConversationId("c"), "kept", "m", NOW)
    left = tmp_path / "left"
    left.mkdir()
    for name in (DATABASE_NAME, f"{DATABASE_NAME}-wal"):
        shutil.copyfile(tmp_path / "store" / name, left / name)
    await store.close()
    (left / f"{DATABASE_NAME}-shm").mkdir()  # so that no index of the log can be made there
    source = find_source(left / DATABASE_NAME)
    assert source is not None
    with contextlib.closing(sqlite3.connect(source.uri, uri=True)) as connection:
        assert connection.execute("SELECT title FROM conversation").fetchall() == [("kept",)]
    source.close()
