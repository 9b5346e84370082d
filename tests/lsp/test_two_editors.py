"""Two editors on one TCP server: one conversation, one turn at a time, and each sees what the other does."""

from __future__ import annotations

import asyncio
import re
import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.clients.fake_provider import FakeProvider
from tests.lsp.rawlsp import connected, started
from tests.lsp.real_server import COMMAND, STALL, STALLED_TEXT, Editor, home, on_fake

TCP = [*COMMAND[:-1], "--tcp"]


@pytest.fixture
async def editors(tmp_path: Path, fake: FakeProvider) -> AsyncIterator[list[Editor]]:
    folder = tmp_path / "folder"
    folder.mkdir()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(started(TCP, **home(tmp_path, **on_fake(fake.url))))
        found = re.fullmatch(r"palimpsest: listening on 127\.0\.0\.1:(\d+)", await server.error_line(30))
        assert found is not None
        (token_file,) = (tmp_path / "state").rglob("token")
        assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
        both = []
        for _ in range(2):
            client = await stack.enter_async_context(connected(int(found[1])))
            answer = await client.initialize(
                workspaceFolders=[{"uri": folder.as_uri(), "name": "folder"}],
                initializationOptions={"token": token_file.read_text().strip()},
            )
            assert "result" in answer
            both.append(Editor(client))
        yield both


async def test_one_editor_reads_follows_and_cancels_what_the_other_began(
    editors: list[Editor], fake: FakeProvider
) -> None:
    one, two = editors
    fake.script.append(STALL)
    request = one.client.start_request("palimpsest/chat", Editor.chat_params("question", partialResultToken="p"))
    await asyncio.wait_for(fake.stalled.wait(), 30)
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
    await asyncio.wait_for(fake.stalled.wait(), 30)
    await one.until_shown("p", STALLED_TEXT)
    turn_id = one.shown("p")[0]["turnId"]
    attached = two.client.start_request("palimpsest/turn/attach", {"turnId": turn_id, "partialResultToken": "q"})
    await two.until_shown("q", STALLED_TEXT)
    await one.client.close()
    (info,) = (await two.client.result("palimpsest/conversation/list", {}))["conversations"]
    assert info["runningTurnId"] == turn_id
    assert not attached.is_answered
    await two.client.close()
    await asyncio.wait_for(fake.disconnected.wait(), 15)


async def test_each_hears_of_the_others_turns(editors: list[Editor]) -> None:
    one, two = editors
    await two.client.result("palimpsest/conversation/list", {})
    result = (await one.chat("question"))["result"]
    usage = await two.client.notification("palimpsest/didChangeUsage")
    assert usage["conversationId"] == result["conversationId"]
    changed = await two.client.notification("palimpsest/didChangeConversation")
    assert changed["seq"] > 0
