"""A rescue brings everything that a damaged store still holds into a verified one; the damaged file itself is never
changed."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from tests.lsp.real_server import home

from palimpsest.cli.main import main
from palimpsest.domain.errors import InvalidRequest, StoreError
from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.domain.transfer.conversation import Transfer
from palimpsest.domain.transfer.file_format import decode
from palimpsest.services.maintenance.rescue import REST_NAME, Saved, rescue
from palimpsest.storage.context import summary_tree
from palimpsest.storage.context.summary_tree import NewSummary
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.directory import DATABASE_NAME, SUSPECT_NAME
from palimpsest.storage.maintenance.set_aside import open_sound_store
from palimpsest.storage.store import Store, open_store

C, F, NOW = ConversationId("c"), ConversationId("f"), "2026-01-01T00:00:00.000Z"
N_MESSAGES = 120


def text(n: int) -> str:
    """Message 60 is so long that it has pages of its own."""
    return f"words of message {n} " * (2000 if n == 60 else 20)


def fill() -> None:
    conversations.create(C, "long", "offline", NOW)
    message_log.append(C, [user_message(text(n)) for n in range(N_MESSAGES)], NOW)
    conversations.fork(F, conversations.get(C), MessageId(10), "fork", NOW)
    message_log.append(F, [user_message("another way")], NOW)
    new = NewSummary(MessageId(0), MessageId(4), 1, "extractive", "summary", 9, "palimpsest", (), 0)
    summary_tree.write(C, new, NOW)


@pytest.fixture
async def database(tmp_path: Path) -> Path:
    store = await open_store(tmp_path / "store")
    await store.run(fill)
    await store.close()
    return store.directory / DATABASE_NAME


def overwrite(database: Path, *pages: int) -> bytes:
    """Makes the pages unreadable. Returns the content of the file then."""
    with database.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * 4096)
            file.write(b"\xa5" * 4096)
    return database.read_bytes()


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def page_with(database: Path, words: str) -> int:
    return database.read_bytes().index(words.encode()) // 4096 + 1


def root_page(database: Path, table: str) -> int:
    with closing(sqlite3.connect(database)) as connection:
        ((page,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
    return int(page)


def imported(saved: Saved) -> dict[str, Transfer]:
    """Imports the files, each of which is sound or refused."""
    found = [decode(path.read_text()) for path in saved.files]
    return {transfer.header.id: transfer for transfer in found}


async def test_a_sound_store_comes_out_whole(database: Path, tmp_path: Path) -> None:
    saved = await rescue(database, tmp_path / "out")
    found = imported(saved)
    assert (saved.n_messages, saved.n_emptied, saved.n_plain, saved.n_loose) == (N_MESSAGES + 1, 0, 0, 0)
    assert [message.content for message in found[C].messages] == [user_message(text(n)) for n in range(N_MESSAGES)]
    assert [summary.text for summary in found[C].summaries] == ["summary"]
    assert (found[F].header.parent, len(found[F].messages)) == (C, 11)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


async def test_messages_behind_a_lost_page_are_text_and_those_before_it_an_export(
    database: Path, tmp_path: Path
) -> None:
    damaged = overwrite(database, page_with(database, "words of message 80 "))
    saved = await rescue(database, tmp_path / "out")
    kept = [message.content for message in imported(saved)[C].messages]
    assert kept == [user_message(text(n)) for n in range(len(kept))]
    assert 60 < len(kept) <= 80
    rest = (tmp_path / "out" / REST_NAME).read_text()
    assert text(N_MESSAGES - 1) in rest
    assert len(kept) + saved.n_loose >= N_MESSAGES - 20, "only the rows of one page are lost"
    assert content_of(database) == damaged


async def test_a_message_whose_text_alone_is_lost_does_not_end_the_conversation(database: Path, tmp_path: Path) -> None:
    overwrite(database, page_with(database, text(60)[8000:9000]) + 1)
    saved = await rescue(database, tmp_path / "out")
    transfer = imported(saved)[C]
    assert [message.id for message in transfer.messages if message.content is None] == [60]
    assert len(transfer.messages) == N_MESSAGES
    assert [(hidden.start, hidden.end) for hidden in transfer.hidden] == [(60, 61)]
    assert (saved.n_emptied, saved.n_loose) == (1, 0)


async def test_a_message_that_was_altered_is_not_taken_for_what_was_said(database: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE message SET content = replace(content, 'words', 'lies') WHERE message_id = 20")
    saved = await rescue(database, tmp_path / "out")
    assert [message.id for message in imported(saved)[C].messages if message.content is None] == [20]
    assert (saved.n_messages, saved.n_emptied) == (N_MESSAGES + 1, 1)


async def test_a_row_that_the_schema_cannot_take_takes_no_other_with_it(database: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'hidden'").fetchone()
        connection.execute("DROP TABLE hidden")
        connection.execute(sql.replace("NOT NULL", ""))
        for start, created_at in ((3, None), (5, NOW)):
            connection.execute(
                "INSERT INTO hidden (conversation, start_message_id, end_message_id, last_summary, created_at) "
                "VALUES (?, ?, ?, 0, ?)",
                (C, start, start + 1, created_at),
            )
    transfer = imported(await rescue(database, tmp_path / "out"))[C]
    assert len(transfer.messages) == N_MESSAGES
    assert [(hidden.start, hidden.end) for hidden in transfer.hidden] == [(5, 6)]


@pytest.mark.parametrize("table", ["conversation", "summary", "cut", "message_search_data"])
async def test_a_lost_table_takes_no_message_with_it(table: str, database: Path, tmp_path: Path) -> None:
    overwrite(database, root_page(database, table))
    saved = await rescue(database, tmp_path / "out")
    assert len(imported(saved)[C].messages) == N_MESSAGES
    assert saved.n_messages + saved.n_loose == N_MESSAGES + 1


@pytest.mark.parametrize("table", [None, "message"])
async def test_where_no_message_can_be_reached_the_text_that_stands_in_one_piece_is_saved(
    table: str | None, database: Path, tmp_path: Path
) -> None:
    overwrite(database, 1 if table is None else root_page(database, table))
    saved = await rescue(database, tmp_path / "out")
    assert saved.n_messages == 0
    assert saved.n_loose > N_MESSAGES / 2
    assert text(7) in (tmp_path / "out" / REST_NAME).read_text()


async def test_what_is_only_in_the_log_is_saved_too(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store")
    try:
        await store.run(fill)
        assert (store.directory / f"{DATABASE_NAME}-wal").stat().st_size > 0
        saved = await rescue(store.directory / DATABASE_NAME, tmp_path / "out")
        assert saved.n_messages == N_MESSAGES + 1
    finally:
        await store.close()


async def test_nothing_is_written_over(database: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(InvalidRequest, match="cannot be created"):
        await rescue(database, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


async def test_a_damaged_store_is_set_aside_as_it_is_and_another_begins(database: Path) -> None:
    damaged = overwrite(database, 1)
    store, aside = await open_sound_store(database.parent, "NORMAL")
    try:
        assert aside is not None
        assert (aside / DATABASE_NAME).read_bytes() == damaged
        assert stat.S_IMODE(aside.stat().st_mode) == 0o700
        assert await store.read(conversations.list_all) == []
    finally:
        await store.close()
    store, aside = await open_sound_store(database.parent, "NORMAL")
    await store.close()
    assert aside is None


async def test_damage_that_is_met_later_is_set_aside_at_the_next_opening(database: Path) -> None:
    damaged = overwrite(database, page_with(database, "words of message 80 "))
    store, aside = await open_sound_store(database.parent, "NORMAL")
    assert aside is None
    with pytest.raises(StoreError, match="damaged"):
        await store.read(message_log.read, C, 0)
    other, aside = await open_sound_store(database.parent, "NORMAL")
    assert aside is None, "a store that somebody holds stays where it is"
    await asyncio.gather(store.close(), other.close())
    store, aside = await open_sound_store(database.parent, "NORMAL")
    await store.close()
    assert aside is not None
    assert (aside / DATABASE_NAME).read_bytes() == damaged


async def test_a_damaged_store_that_another_server_holds_is_not_moved(database: Path) -> None:
    holder: Store = await open_store(database.parent)
    damaged = overwrite(database, 1)
    try:
        with pytest.raises(StoreError, match="another server"):
            await open_sound_store(database.parent, "NORMAL")
        assert content_of(database) == damaged
    finally:
        await holder.close()


async def test_a_store_that_was_suspected_and_is_sound_stays(database: Path) -> None:
    (database.parent / SUSPECT_NAME).touch()
    store, aside = await open_sound_store(database.parent, "NORMAL")
    try:
        assert aside is None
        assert len(await store.read(conversations.list_all)) == 2
        assert not (database.parent / SUSPECT_NAME).exists()
    finally:
        await store.close()


def test_what_was_rescued_can_be_imported(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "project"
    folder.mkdir()
    overwrite(database, page_with(database, "words of message 80 "))
    assert main(["rescue", str(database), "--output", str(tmp_path / "out")]) == 0
    assert REST_NAME in capsys.readouterr().out
    for path in sorted((tmp_path / "out").glob("*.jsonl")):
        assert main(["import", str(path), "--folder", str(folder)]) == 0
        head = json.loads(path.read_text().split("\n")[0])
        assert capsys.readouterr().out.split("\n")[1] == head["id"], "it was imported as it was, not as a copy"
    assert main(["rescue", str(tmp_path / "nothing"), "--output", str(tmp_path / "other")]) == 1
