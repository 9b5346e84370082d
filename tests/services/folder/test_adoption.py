"""A folder that was moved, or cloned anew, is recognised while its old place is gone; adopting copies everything and
takes nothing away."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.git import git, needs_git
from tests.lsp.real_server import home

from palimpsest.app.compose import load_folders
from palimpsest.app.trusted_folders import trusted_folders
from palimpsest.cli.doctor import find_store
from palimpsest.cli.main import main
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.facts.fact import Fact, FactType, Span
from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.services.conversation.transfer import Outcome, Transfers
from palimpsest.services.folder.adoption import adopt, decline, offered, recognise, require_offered
from palimpsest.services.folder.session import FolderSession
from palimpsest.storage.context import rules as commanded_rules
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.facts import facts
from palimpsest.storage.facts import sources as fact_sources
from palimpsest.storage.facts.sources import Version
from palimpsest.storage.maintenance import folder_identity as identity
from palimpsest.storage.store import open_store

C, F, NOW = ConversationId("c"), ConversationId("f"), "2026-01-01T00:00:00.000Z"


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    found = home(tmp_path) | {"PATH": os.environ["PATH"]}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


@asynccontextmanager
async def opened(root: Path, environ: Mapping[str, str]) -> AsyncIterator[FolderSession]:
    folders = await asyncio.to_thread(load_folders, environ)
    try:
        yield await folders.get(root)
    finally:
        await folders.close()


async def fill(root: Path, environ: Mapping[str, str]) -> Path:
    """A folder with a conversation, a fork of it, a pin and a fact that the user wrote; its store."""

    def write() -> None:
        conversations.create(C, "first", "offline", NOW)
        message_log.append(C, [user_message("one"), user_message("two")], NOW)
        conversations.fork(F, conversations.get(C), MessageId(1), "fork", NOW)
        message_log.append(F, [user_message("another two")], NOW)
        commanded_rules.add_pin("never use tabs", NOW)
        written = facts.add(Fact(FactType.PINNED, "The rate is 0.19.", ("src/prices.py",)), 0, None, NOW)
        version = Version("src/prices.py", "0" * 64, b"")
        fact_sources.add(written, version, "anchor", "", Span(1, 1), NOW)

    async with opened(root, environ) as session:
        assert session.notes == ()
        await session.folder.store.run(write)
        directory: Path = session.folder.store.directory
        return directory


async def titles(session: FolderSession) -> set[str]:
    return {record.title for record in await session.folder.store.read(conversations.list_all)}


async def test_a_renamed_folder_is_offered_what_it_had_and_the_command_brings_it(
    tmp_path: Path, environ: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = tmp_path / "before", tmp_path / "after it moved"
    (tmp_path / "before").mkdir()
    old = await fill(before, environ)
    before.rename(after)
    async with opened(after, environ) as session:
        (note,) = session.notes
        assert str(before) in note
        assert await titles(session) == set()
    command = shlex.split(note.split("`")[1])
    assert command == ["palimpsest", "adopt", str(old), str(after)]
    assert await asyncio.to_thread(main, command[1:]) == 0
    assert "2 conversations, 1 pin and 1 fact of your own to " in capsys.readouterr().out
    async with opened(after, environ) as session:
        assert session.notes == ()
        assert await titles(session) == {"first", "fork"}
        assert (await session.folder.store.read(conversations.get, F)).parent == C
        assert [pin.text for pin in await session.folder.store.read(commanded_rules.pins)] == ["never use tabs"]
        (fact,) = await session.folder.store.read(facts.own)
        assert (fact.fact.content, fact.fact.entities) == ("The rate is 0.19.", ("src/prices.py",))
        (link,) = await session.folder.store.read(fact_sources.links_of_fact, fact.id)
        assert (link.version.path, link.anchor, link.span) == ("src/prices.py", "anchor", Span(1, 1))
    assert (old / DATABASE_NAME).is_file()


async def test_adopting_twice_adds_nothing(tmp_path: Path, environ: Mapping[str, str]) -> None:
    (tmp_path / "before").mkdir()
    old = await fill(tmp_path / "before", environ)
    (tmp_path / "after").mkdir()
    async with opened(tmp_path / "after", environ) as session:
        first = await adopt(old, session.conversations, session.folder.root)
        again = await adopt(old, session.conversations, session.folder.root)
        assert (first.n_conversations, first.n_present, first.n_pins, first.n_facts) == (2, 0, 1, 1)
        assert (again.n_conversations, again.n_present, again.n_pins, again.n_facts) == (2, 2, 0, 0)
        assert len(await session.folder.store.read(conversations.list_all)) == 2


async def test_a_copy_comes_beside_what_it_was_made_of(tmp_path: Path, environ: Mapping[str, str]) -> None:
    (tmp_path / "before").mkdir()
    old = await fill(tmp_path / "before", environ)
    async with opened(tmp_path / "before", environ) as session:
        exported = await Transfers(session.conversations).export(C)
        await session.folder.store.run(conversations.retitle, C, "renamed", NOW)
        assert (await Transfers(session.conversations).import_text(exported.text)).outcome is Outcome.COPIED
        brought = await titles(session)
    (tmp_path / "after").mkdir()
    async with opened(tmp_path / "after", environ) as session:
        for n_present in (0, 3):
            adopted = await adopt(old, session.conversations, session.folder.root)
            assert (adopted.n_conversations, adopted.n_present) == (3, n_present)
            assert await titles(session) == brought == {"first", "renamed", "fork"}


async def test_a_folder_that_is_still_there_keeps_its_conversations_to_itself(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    (tmp_path / "before").mkdir()
    await fill(tmp_path / "before", environ)
    (tmp_path / "another").mkdir()
    async with opened(tmp_path / "another", environ) as session:
        assert session.notes == ()


async def test_another_folder_is_not_offered_what_is_gone(tmp_path: Path, environ: Mapping[str, str]) -> None:
    (tmp_path / "another").mkdir()
    (tmp_path / "before").mkdir()
    await fill(tmp_path / "before", environ)
    shutil.rmtree(tmp_path / "before")
    async with opened(tmp_path / "another", environ) as session:
        assert session.notes == ()


@needs_git
async def test_a_trusted_clone_is_recognised_by_its_first_commit(tmp_path: Path, environ: Mapping[str, str]) -> None:
    before, clone, stranger = tmp_path / "before", tmp_path / "clone", tmp_path / "stranger"
    for root in (before, stranger):
        root.mkdir()
        git(root, "init", "--quiet")
        git(root, "commit", "--quiet", "--allow-empty", "-m", root.name)
    git(tmp_path, "clone", "--quiet", str(before), str(clone))
    for root in (before, clone, stranger):
        trusted_folders().add(root)
    await fill(before, environ)
    async with opened(clone, environ) as session:
        assert session.notes == (), "the folder is still there"
    shutil.rmtree(before)
    async with opened(stranger, environ) as session:
        assert session.notes == ()
    async with opened(clone, environ) as session:
        assert [str(before) in note for note in session.notes] == [True]


@needs_git
async def test_git_is_not_run_in_a_folder_that_nobody_trusts(tmp_path: Path, environ: Mapping[str, str]) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "first")
    store = await open_store(tmp_path / "store")
    try:
        assert (await recognise(store, tmp_path, environ, is_trusted=False)).git_root == ""
        assert len((await recognise(store, tmp_path, environ, is_trusted=True)).git_root) == 40
        remembered = await store.read(identity.recall)
        assert remembered == await recognise(store, tmp_path, environ, is_trusted=False)
    finally:
        await store.close()


async def test_a_damaged_store_is_set_aside_and_the_user_is_told_where(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    root = tmp_path / "project"
    (tmp_path / "project").mkdir()
    await fill(root, environ)
    database = find_store(root, environ) / DATABASE_NAME
    damaged = b"\xa5" * 4096 + database.read_bytes()[4096:]
    database.write_bytes(damaged)
    async with opened(root, environ) as session:
        (note,) = session.notes
        (aside,) = session.folder.store.directory.glob("damaged-*")
        assert str(aside) in note
        assert (aside / DATABASE_NAME).read_bytes() == damaged
        assert await titles(session) == set()


async def test_what_is_offered_can_be_named_from_outside_and_declined(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    old = await fill(before, environ)
    before.rename(after)
    async with opened(after, environ) as session:
        with pytest.raises(InvalidRequest, match="no longer offered"):
            await require_offered(session.folder.store, session.folder.store.directory.name)
        left = await require_offered(session.folder.store, old.name)
        assert (left.directory, left.path) == (old, str(before))
        await decline(session.folder.store, left)
        assert await offered(session.folder.store) is None
    async with opened(after, environ) as session:
        assert session.notes == ()
