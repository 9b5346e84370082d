"""Two editors on one server: one conversation, one turn at a time, and each sees what the other does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.clients.fake_provider import FakeProvider
from tests.lsp.in_process import in_environment, served
from tests.lsp.real_server import STALL, STALLED_TEXT, Editor, home, on_fake
from tests.waiting import WAIT_S

from palimpsest.app.compose import load_folders
from palimpsest.lsp.server import build_server


@pytest.fixture
async def editors(tmp_path: Path, fake: FakeProvider) -> AsyncIterator[list[Editor]]:
    root = tmp_path / "folder"
    root.mkdir()
    with in_environment(**home(tmp_path, **on_fake(fake.url))) as environ:
        folders = load_folders(environ)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(folders.close)
            both = []
            for _ in range(2):
                server = build_server(lambda: folders, owns_folders=False)
                client = await stack.enter_async_context(served(server))
                answer = await client.initialize(workspaceFolders=[{"uri": root.as_uri(), "name": "folder"}])
                assert "result" in answer
                both.append(Editor(client))
            yield both


async def test_one_editor_reads_follows_and_cancels_what_the_other_began(
    editors: list[Editor], fake: FakeProvider
) -> None:
    one, two = editors
    fake.script.append(STALL)
    request = one.client.start_request("palimpsest/chat", Editor.chat_params("question", partialResultToken="p"))
    await asyncio.wait_for(fake.stalled.wait(), WAIT_S)
    await one.until_shown("p", STALLED_TEXT)
    (info,) = (await two.client.result("palimpsest/conversation/list", {}))["conversations"]
    turn_id = info["runningTurnId"]
    attached = two.client.start_request("palimpsest/turn/attach", {"turnId": turn_id, "partialResultToken": "q"})
    await two.until_shown("q", STALLED_TEXT)
    assert two.shown_text("q") == one.shown_text("p")
    assert await two.client.result("palimpsest/turn/cancel", {"turnId": turn_id}) == {"status": "cancelled"}
    assert (await request.answer())["result"]["status"] == "cancelled"
    assert (await attached.answer())["result"]["status"] == "cancelled"


async def test_an_editor_that_leaves_does_not_end_a_turn_that_another_follows(
    editors: list[Editor], fake: FakeProvider
) -> None:
    one, two = editors
    fake.script.append(STALL)
    one.client.start_request("palimpsest/chat", Editor.chat_params("question", partialResultToken="p"))
    await asyncio.wait_for(fake.stalled.wait(), WAIT_S)
    await one.until_shown("p", STALLED_TEXT)
    turn_id = one.shown("p")[0]["turnId"]
    attached = two.client.start_request("palimpsest/turn/attach", {"turnId": turn_id, "partialResultToken": "q"})
    await two.until_shown("q", STALLED_TEXT)
    await one.client.close()
    (info,) = (await two.client.result("palimpsest/conversation/list", {}))["conversations"]
    assert info["runningTurnId"] == turn_id
    assert not attached.is_answered
    await two.client.close()
    await asyncio.wait_for(fake.disconnected.wait(), WAIT_S)


async def test_each_hears_of_the_others_turns(editors: list[Editor]) -> None:
    one, two = editors
    await two.client.result("palimpsest/conversation/list", {})
    result = (await one.chat("question"))["result"]
    usage = await two.client.notification("palimpsest/didChangeUsage")
    assert usage["conversationId"] == result["conversationId"]
    changed = await two.client.notification("palimpsest/didChangeConversation")
    assert changed["seq"] > 0
