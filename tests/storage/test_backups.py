"""A copy of a store is whole, private and checked, made while others write; an older store is copied before it is
changed."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from peewee import SqliteDatabase
from playhouse.migrations import Runner

from palimpsest.domain.errors import InvalidRequest, StoreError
from palimpsest.domain.messages import ConversationId, user_message
from palimpsest.storage import backups
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.store import open_store
from palimpsest.storage.upgrades import MIGRATIONS

C, NOW = ConversationId("c"), "2026-01-01T00:00:00.000Z"
OLD_SCHEMA = "0003_history"


def make_old_store(directory: Path) -> Path:
    """A store as an older version left it, with one conversation in it."""
    directory.mkdir(mode=0o700)
    path = directory / DATABASE_NAME
    database = SqliteDatabase(str(path))
    Runner(database, str(MIGRATIONS)).up(OLD_SCHEMA)
    database.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO conversation (id, title, has_user_title, model, next_message_id, change_seq, created_at,"
            " updated_at) VALUES ('old', 'an older one', 1, 'offline', 0, 0, ?, ?)",
            (NOW, NOW),
        )
    return path


def listed(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(sql).fetchall()


async def test_a_copy_has_all_that_was_committed_while_others_write(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store")
    try:
        await store.run(conversations.create, C, "", "offline", NOW)
        await store.run(message_log.append, C, [user_message("before " * 500)] * 100, NOW)
        writing = [store.run(message_log.append, C, [user_message("x")], NOW) for _ in range(50)]
        target = tmp_path / "copy.db"
        await asyncio.gather(*writing, asyncio.to_thread(backups.back_up, store.directory / DATABASE_NAME, target))
        ((n_messages, counted),) = rows(target, "SELECT count(*), next_message_id FROM message JOIN conversation")
        assert n_messages == counted
        assert isinstance(n_messages, int)
        assert 100 <= n_messages <= 150
        assert listed(tmp_path) == ["copy.db", "store"]
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    finally:
        await store.close()


async def test_a_copy_never_takes_the_place_of_a_file(tmp_path: Path) -> None:
    await (await open_store(tmp_path / "store")).close()
    target = tmp_path / "mine.txt"
    target.write_text("mine")
    with pytest.raises(InvalidRequest, match="exists"):
        backups.back_up(tmp_path / "store" / DATABASE_NAME, target)
    assert target.read_text() == "mine"
    assert listed(tmp_path) == ["mine.txt", "store"]


async def test_a_copy_that_does_not_hold_together_is_not_kept(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store")
    await store.run(conversations.create, C, "", "offline", NOW)
    await store.run(message_log.append, C, [user_message("word " * 200)] * 200, NOW)
    await store.close()
    path = store.directory / DATABASE_NAME
    ((page,),) = rows(path, "SELECT rootpage FROM sqlite_master WHERE name = 'message'")
    ((size,),) = rows(path, "PRAGMA page_size")
    assert isinstance(page, int)
    assert isinstance(size, int)
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with pytest.raises((StoreError, sqlite3.DatabaseError)):
        backups.back_up(path, tmp_path / "copy.db")
    assert listed(tmp_path) == ["store"]


async def test_an_older_store_is_copied_before_it_is_changed(tmp_path: Path) -> None:
    make_old_store(tmp_path / "store")
    store = await open_store(tmp_path / "store")
    try:
        assert [each.title for each in await store.read(conversations.list_all)] == ["an older one"]
    finally:
        await store.close()
    (copy,) = backups.kept(tmp_path / "store")
    assert copy.name.startswith("migration-0003-")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert rows(copy, "SELECT title FROM conversation") == [("an older one",)]
    assert rows(copy, "SELECT max(name) FROM schema_migration") == [(OLD_SCHEMA,)]
    await (await open_store(tmp_path / "store")).close()
    assert list(backups.kept(tmp_path / "store")) == [copy], "a store of this version is not copied"


async def test_of_copies_that_nobody_asked_for_the_newest_two_stay(tmp_path: Path) -> None:
    path = make_old_store(tmp_path / "store")
    asked = backups.keep(path, "request")
    made = [backups.keep(path, "migration") for _ in range(4)]
    assert set(backups.kept(tmp_path / "store")) == {asked, *made[-2:]}
