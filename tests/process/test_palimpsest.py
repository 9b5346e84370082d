"""The real command over stdio, with a real store: what was shown is there after a restart and after a kill."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import FakeProvider, Fault, Reply
from tests.lsp.real_server import STALL, STALLED_TEXT, Editor, editor_of_process, on_fake
from tests.waiting import WAIT_S

READ = "palimpsest/conversation/read"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "made up folder é"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\nname = "greenhouse"\nrequires-python = ">=3.11"\n')
    (root / "README.md").write_text("# Greenhouse\n\nThe pump starts when the soil moisture falls below 18 percent.\n")
    return root


async def test_a_restart_finds_everything(tmp_path: Path, folder: Path) -> None:
    async with editor_of_process(tmp_path, folder) as ed:
        conversation_id = (await ed.chat("When does the pump start?"))["result"]["conversationId"]
        before = await ed.read(conversation_id)
        usage = await ed.client.result("palimpsest/usage", {"conversationId": conversation_id})
        await ed.client.request("shutdown")
        ed.client.notify("exit")
        assert await ed.client.exit_code() == 0
    async with editor_of_process(tmp_path, folder) as ed:
        listed = await ed.client.result("palimpsest/conversation/list", {})
        assert [c["conversationId"] for c in listed["conversations"]] == [conversation_id]
        assert await ed.read(conversation_id) == before
        assert await ed.client.result("palimpsest/usage", {"conversationId": conversation_id}) == usage
        await ed.chat("and now?", conversationId=conversation_id)
        assert len((await ed.read(conversation_id))["messages"]) == 4
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


async def stalled(ed: Editor, fake: FakeProvider, token: str) -> tuple[Any, str]:
    """A chat whose answer has begun and hangs; its request and the text shown so far."""
    fake.script.append(STALL)
    request = ed.client.start_request("palimpsest/chat", Editor.chat_params("question", partialResultToken=token))
    await asyncio.wait_for(fake.stalled.wait(), WAIT_S)
    await ed.until_shown(token, STALLED_TEXT)
    return request, ed.shown_text(token)


async def test_a_kill_in_the_middle_of_an_answer_loses_nothing_that_was_shown(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with editor_of_process(tmp_path, folder, **on_fake(fake.url)) as ed:
        await stalled(ed, fake, "p")
        conversation_id = ed.shown("p")[0]["conversationId"]
        assert ed.client.process is not None
        ed.client.process.kill()
        await ed.client.exit_code()
        shown = ed.shown_text("p")
    assert shown
    async with editor_of_process(tmp_path, folder, **on_fake(fake.url)) as ed:
        page = await ed.read(conversation_id)
        assert [(m["role"], m["state"]) for m in page["messages"]] == [
            ("user", "complete"),
            ("assistant", "interrupted"),
        ]
        assert page["messages"][1]["text"].startswith(shown)
        assert "running" not in page
        assert (await ed.chat("go on", conversationId=conversation_id))["result"]["status"] == "committed"
        again = await ed.read(conversation_id)
        assert again["messages"][:2] == page["messages"]


async def test_no_text_of_a_message_is_logged(tmp_path: Path, folder: Path, fake: FakeProvider) -> None:
    async with editor_of_process(tmp_path, folder, **on_fake(fake.url)) as ed:
        fake.script += [Reply(text="the secret answer"), Fault(status=500), Fault(status=500), Fault(status=500)]
        await ed.chat("the secret question")
        fake.script += [Fault(status=400, body={"error": {"message": "the secret question was bad"}})]
        await ed.chat("the secret question again")
        await ed.client.request("shutdown")
        ed.client.notify("exit")
        assert await ed.client.exit_code() == 0
        assert b"secret" not in ed.client.stderr
        assert fake.requests[0].headers["authorization"].encode() not in ed.client.stderr
