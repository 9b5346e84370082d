"""The opening of a folder whose store an older version has made."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.lsp.in_process import connected_here
from tests.lsp.rawlsp import RawClient
from tests.lsp.real_server import editor, home
from tests.waiting import WAIT_S

from palimpsest.storage import backups
from palimpsest.storage.directory import DATABASE_NAME

OLD = Path(__file__).parents[1] / "data" / "old_version" / "store.db.gz"
PROGRESS: dict[str, Any] = {"window": {"workDoneProgress": True}}


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """With a store of an older version."""
    made = tmp_path / "pump"
    made.mkdir()
    async with editor(tmp_path, made) as of_now:
        await of_now.client.result("palimpsest/conversation/list", {})
    (database,) = (tmp_path / "data").rglob(DATABASE_NAME)
    database.write_bytes(gzip.decompress(OLD.read_bytes()))
    return made


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The copy of an older store is made as soon as this is set."""
    event, keep = threading.Event(), backups.keep

    def wait_and_keep(database: Path, occasion: backups.Occasion) -> Path:
        assert event.wait(WAIT_S)
        return keep(database, occasion)

    monkeypatch.setattr(backups, "keep", wait_and_keep)
    return event


async def on(client: RawClient, folder: Path, capabilities: dict[str, Any]) -> None:
    client.handlers["window/workDoneProgress/create"] = lambda _: None
    await client.initialize(capabilities, workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name}])


async def test_the_editor_shows_how_far_it_is(tmp_path: Path, folder: Path, go_on: threading.Event) -> None:
    async with connected_here(**home(tmp_path)) as client:
        await on(client, folder, PROGRESS)
        listing = client.start_request("palimpsest/conversation/list", {})
        begun = await client.notification("$/progress")
        go_on.set()
        assert len((await listing.answer())["result"]["conversations"]) == 3

        (created,) = client.received("window/workDoneProgress/create")
        shown = client.received("$/progress")
    assert begun["value"] == {
        "kind": "begin",
        "title": "Bringing the conversations of pump up to date",
        "message": "keeping a copy of them first",
        "percentage": 0,
    }
    assert {each["token"] for each in shown} == {created["token"]}
    kinds = [each["value"]["kind"] for each in shown]
    assert kinds == ["begin", *["report"] * (len(kinds) - 2), "end"]
    percentages = [each["value"]["percentage"] for each in shown[1:-1]]
    assert percentages == sorted(percentages)
    assert percentages[-1] > 50


async def test_an_editor_without_progress_is_sent_none(tmp_path: Path, folder: Path, go_on: threading.Event) -> None:
    go_on.set()
    async with connected_here(**home(tmp_path)) as client:
        await on(client, folder, {})
        assert len((await client.result("palimpsest/conversation/list", {}))["conversations"]) == 3
        assert client.received("window/workDoneProgress/create") + client.received("$/progress") == []


async def test_an_editor_that_never_answers_delays_nothing(
    tmp_path: Path, folder: Path, go_on: threading.Event
) -> None:
    go_on.set()
    async with connected_here(**home(tmp_path)) as client:
        client.silent_for = lambda _: None
        await on(client, folder, PROGRESS)
        assert len((await client.result("palimpsest/conversation/list", {}))["conversations"]) == 3
        assert client.received("$/progress") == []
