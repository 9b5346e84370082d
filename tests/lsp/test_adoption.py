"""An editor is told what a moved folder left behind, and brings it or declines it for good."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.real_server import editor, on_fake

LIST, RESOLVE = "palimpsest/adoption/list", "palimpsest/adoption/resolve"


@pytest.fixture
async def moved(tmp_path: Path, fake: FakeProvider) -> Path:
    """A folder that was chatted about under another name."""
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    async with editor(tmp_path, before, **on_fake(fake.url)) as ed:
        fake.script.append(Reply(text="remembered"))
        assert "result" in await ed.chat("question")
    before.rename(after)
    return after


async def test_what_was_left_behind_is_listed_and_brought(tmp_path: Path, moved: Path, fake: FakeProvider) -> None:
    async with editor(tmp_path, moved, **on_fake(fake.url)) as ed:
        (left,) = (await ed.client.result(LIST, {}))["stores"]
        assert left["folderUri"] == moved.as_uri()
        assert left["path"] == str(tmp_path / "before")
        brought = await ed.client.result(
            RESOLVE, {"folderUri": moved.as_uri(), "store": left["store"], "action": "adopt"}
        )
        assert brought == {"conversationCount": 1, "pinCount": 0, "refused": []}
        (conversation,) = (await ed.client.result("palimpsest/conversation/list", {}))["conversations"]
        texts = [message["text"] for message in (await ed.read(conversation["conversationId"]))["messages"]]
        assert texts == ["question", "remembered"]
        assert (await ed.client.result(LIST, {"folderUri": moved.as_uri()}))["stores"] == []


async def test_what_is_declined_is_not_offered_again(tmp_path: Path, moved: Path, fake: FakeProvider) -> None:
    async with editor(tmp_path, moved, **on_fake(fake.url)) as ed:
        (left,) = (await ed.client.result(LIST, {}))["stores"]
        params = {"folderUri": moved.as_uri(), "store": left["store"], "action": "decline"}
        assert await ed.client.result(RESOLVE, params) == {"conversationCount": 0, "pinCount": 0, "refused": []}
        assert (await ed.client.result(LIST, {}))["stores"] == []
    async with editor(tmp_path, moved, **on_fake(fake.url)) as ed:
        assert (await ed.client.result(LIST, {}))["stores"] == []
        assert (await ed.client.result("palimpsest/conversation/list", {}))["conversations"] == []


async def test_only_what_was_offered_is_brought(tmp_path: Path, moved: Path, fake: FakeProvider) -> None:
    async with editor(tmp_path, moved, **on_fake(fake.url)) as ed:
        params = {"folderUri": moved.as_uri(), "store": "../elsewhere", "action": "adopt"}
        answer = await ed.client.request(RESOLVE, params)
        assert answer["error"]["data"]["kind"] in ("invalid_request", "not_found")
        assert (await ed.client.result("palimpsest/conversation/list", {}))["conversations"] == []
