"""A folder is opened once; what an editor says of it reaches the open folder, whenever it is said."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from palimpsest.app.compose import load_folders
from palimpsest.domain.errors import InvalidRequest, NotFound, StoreError
from palimpsest.domain.messages import user_message
from palimpsest.domain.turns.states import TurnState
from palimpsest.domain.upgrade import TellUpgrade
from palimpsest.services.folder.folders import EditorsWord, Folders
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.turns.running import RunningTurn

CAPPED = {"context": {"max_tokens": 5_000}}


@pytest.fixture
async def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Folders]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    opened = await asyncio.to_thread(load_folders, {})
    yield opened
    await opened.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "made up folder"
    folder.mkdir()
    return folder


class Holder:
    """A connection, as far as folders go."""


async def until_closed(folders: Folders, root: Path) -> None:
    while root in folders._leaving or root in folders._closing:
        await asyncio.wait([*folders._leaving.values(), *folders._closing.values()])


async def test_a_folder_that_the_last_editor_leaves_is_closed_and_opens_again(folders: Folders, root: Path) -> None:
    folders.linger_s = 0
    one, other = Holder(), Holder()
    for each in (one, other):
        folders.hold(root, each)
    session = await folders.get(root)
    record = await session.conversations.create("kept", None)
    folders.leave(root, one)
    await until_closed(folders, root)
    assert await folders.get(root) is session, "the other editor has it"
    folders.leave(root, other)
    await until_closed(folders, root)
    with pytest.raises(StoreError, match="closed"):
        await session.conversations.holds(record.id)
    again = await folders.get(root)
    assert again is not session
    assert await again.conversations.holds(record.id)


async def test_nothing_opens_once_the_folders_close(folders: Folders, root: Path) -> None:
    """Work that nobody waits for may still want its folder when the process ends."""
    await folders.get(root)
    closing = asyncio.create_task(folders.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreError, match="closed"):
        await folders.get(root)
    await closing
    with pytest.raises(StoreError, match="closed"):
        await folders.get(root)


async def test_a_folder_that_comes_back_at_that_very_moment_stays_usable(folders: Folders, root: Path) -> None:
    """At each of the moments on the way to its closing."""
    folders.linger_s = 0
    holder = Holder()
    for n_turns_of_the_loop in range(12):
        folders.hold(root, holder)
        session = await folders.get(root)
        folders.leave(root, holder)
        for _ in range(n_turns_of_the_loop):
            await asyncio.sleep(0)
        folders.hold(root, holder)
        session = await folders.get(root)
        await until_closed(folders, root)
        assert await folders.get(root) is session
        assert await session.conversations.list() == []
        folders.leave(root, holder)
        await until_closed(folders, root)


async def test_a_folder_that_was_left_while_it_was_opened_is_closed(folders: Folders, root: Path) -> None:
    folders.linger_s = 0
    holder = Holder()
    folders.hold(root, holder)
    opening = asyncio.create_task(folders.get(root))
    await asyncio.sleep(0)
    folders.leave(root, holder)
    session = await opening
    await until_closed(folders, root)
    with pytest.raises(StoreError, match="closed"):
        await session.conversations.list()


async def test_what_is_said_of_a_folder_while_it_closes_opens_nothing(folders: Folders, root: Path) -> None:
    folders.linger_s = 0
    holder = Holder()
    folders.hold(root, holder)
    await folders.get(root)
    folders.leave(root, holder)
    hearing = [asyncio.create_task(folders.hear(root, settings={"context": {"max_tokens": n}})) for n in (5_000, 5_001)]
    await until_closed(folders, root)
    heard = await asyncio.gather(*hearing, return_exceptions=True)
    assert all(each is None or isinstance(each, StoreError | FolderSession) for each in heard)
    assert folders._sessions == {}
    assert (await folders.get(root)).settings.context.max_tokens == 5_001


async def test_a_folder_closes_when_its_turns_have_ended(folders: Folders, root: Path) -> None:
    folders.linger_s = 0
    holder = Holder()
    folders.hold(root, holder)
    session = await folders.get(root)
    record = await session.conversations.create("t", None)
    turn = await session.turns.start(record.id, "r", user_message("What is this?"))
    assert isinstance(turn, RunningTurn)
    folders.leave(root, holder)
    await until_closed(folders, root)
    assert (await turn.wait()).state is TurnState.COMMITTED


async def test_a_folder_stays_open_for_what_was_begun_with_other_settings(folders: Folders, root: Path) -> None:
    folders.linger_s = 0
    holder = Holder()
    folders.hold(root, holder)
    session = await folders.get(root)
    record = await session.conversations.create("t", None)
    async with session.contexts.writing(record.id, "a test", lambda _: None) as context:
        assert await folders.hear(root, settings=CAPPED) is not session
        folders.leave(root, holder)
        for _ in range(50):
            await asyncio.sleep(0)
        await session.contexts.push_message(context, user_message("Still here."))
    await until_closed(folders, root)
    assert (await (await folders.get(root)).conversations.read(record.id, None, 1)).messages


async def test_a_folder_that_can_only_be_read_is_opened_anew_as_soon_as_it_can_be_written(
    folders: Folders, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = await (await folders.get(root)).conversations.create("kept", None)
    folders.linger_s = 0
    holder = Holder()
    folders.hold(root, holder)
    folders.leave(root, holder)
    await until_closed(folders, root)
    really = os.open

    def refuse(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return really(path, flags, *more, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        session = await folders.get(root)
        assert [each.id for each, _ in await session.conversations.list()] == [record.id]
        with pytest.raises(StoreError, match=r"is full\. Free some space"):
            await session.conversations.rename(record.id, "another")
        assert await folders.get(root) is session
    again = await folders.get(root)
    assert (await again.conversations.rename(record.id, "another")).title == "another"


@pytest.mark.parametrize("name", [os.fsdecode(b"caf\xe9"), "caf\N{REPLACEMENT CHARACTER}"])
async def test_a_folder_whose_name_is_no_text_is_refused_with_what_to_do(
    folders: Folders, tmp_path: Path, name: str
) -> None:
    """The second is what URIs of such folders are read as."""
    os.mkdir(os.fsencode(tmp_path) + b"/caf\xe9")
    with pytest.raises(InvalidRequest, match=r"not UTF-8 text.* Rename it"):
        await folders.get(tmp_path / name)


async def test_whoever_holds_a_folders_trust_hears_of_a_change_at_once(folders: Folders, root: Path) -> None:
    session = await folders.get(root)
    assert not session.folder.trust.is_trusted
    held = session.folder.trust
    for is_trusted in (True, False):
        renewed = await folders.hear(root, is_trusted=is_trusted)
        assert renewed is await folders.get(root)
        assert renewed is not None
        assert (renewed.folder.trust.is_trusted, held.is_trusted) == (is_trusted, is_trusted)


async def test_what_was_said_before_a_folder_is_opened_or_while_it_is_counts(folders: Folders, root: Path) -> None:
    assert await folders.hear(root, is_trusted=True) is None
    opening = asyncio.create_task(folders.get(root))
    await asyncio.sleep(0)  # it is on its way now
    heard = await folders.hear(root, settings=CAPPED)
    await opening
    session = await folders.get(root)
    assert session is heard
    assert (session.folder.trust.is_trusted, session.settings.context.max_tokens) == (True, 5_000)


async def test_what_changes_nothing_leaves_the_session_as_it_is(folders: Folders, root: Path) -> None:
    await folders.hear(root, settings=CAPPED)
    session = await folders.get(root)
    assert await folders.hear(root, is_trusted=False, settings=dict(CAPPED)) is session
    assert await folders.get(root) is session


async def test_a_renewed_session_has_the_same_store_and_listeners(folders: Folders, root: Path) -> None:
    session = await folders.get(root)
    record = await session.conversations.create("made before", None)
    renewed = await folders.hear(root, settings=CAPPED)
    assert renewed is not None
    assert renewed is not session
    assert renewed.folder is session.folder
    assert await renewed.conversations.holds(record.id)
    models = renewed.contexts.models
    assert models.budget(models.default()).budget == 5_000


async def test_a_limit_that_is_learned_while_settings_are_renewed_counts_for_the_new_session(
    folders: Folders, root: Path
) -> None:
    before = await folders.get(root)
    model = before.contexts.models.get("offline")
    renewing = asyncio.create_task(folders.hear(root, settings=CAPPED))
    while not renewing.done():  # at every moment of the change, and after it: a turn may still run with the old one
        before.contexts.models.learn(model, 4_000)
        await asyncio.sleep(0)
    renewed = await renewing
    assert renewed is not None
    assert renewed.contexts.models.get("offline").limits.window == 4_000
    before.contexts.models.learn(model, 3_000)
    assert renewed.contexts.models.get("offline").limits.window == 3_000


async def test_a_folder_that_cannot_be_opened_hears_and_opens_when_it_can(folders: Folders, root: Path) -> None:
    await asyncio.to_thread(root.rmdir)
    with pytest.raises(NotFound):
        await folders.get(root)
    assert await folders.hear(root, is_trusted=True) is None
    await asyncio.to_thread(root.mkdir)
    assert (await folders.get(root)).folder.trust.is_trusted


async def test_who_joins_an_opening_that_was_begun_before_and_fails_is_not_refused_for_it(
    folders: Folders, root: Path
) -> None:
    may_fail, n_openings = asyncio.Event(), 0
    really = folders.open_session

    async def fail_once(place: Path, word: EditorsWord, tell: TellUpgrade) -> FolderSession:
        nonlocal n_openings
        n_openings += 1
        if n_openings == 1:
            await may_fail.wait()
            raise StoreError("No file handle is left.")
        return await really(place, word, tell)

    folders.open_session = fail_once
    first = asyncio.create_task(folders.get(root))
    await asyncio.sleep(0)  # it is on its way now
    joining = [asyncio.create_task(folders.get(root)) for _ in range(2)]
    await asyncio.sleep(0)
    may_fail.set()
    with pytest.raises(StoreError):
        await first
    one, other = await asyncio.gather(*joining)
    assert one is other
    assert n_openings == 2
