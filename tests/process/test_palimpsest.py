"""The real command over stdio, with a real store: what was shown is there after a restart and after a kill."""

from __future__ import annotations

import asyncio
import contextlib
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import Call, FakeProvider, Fault, Reply
from tests.lsp.rawlsp import RawClient, started
from tests.lsp.real_server import COMMAND, STALL, STALLED_TEXT, Editor, editor_of_process, home, on_fake

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
    await asyncio.wait_for(fake.stalled.wait(), 30)
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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder, with a few files in it."""
    folder = tmp_path / "folder"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("def alpha():\n    return 1\n")
    (folder / "src" / "b.py").write_text("def beta():\n    return alpha()\n")
    return folder


@contextlib.asynccontextmanager
async def trusting_editor(directory: Path, folder: Path, fake: FakeProvider) -> AsyncIterator[Editor]:
    """The real server in a process of its own, on a folder that is trusted."""
    async with started(COMMAND, **home(directory, **on_fake(fake.url))) as client:
        answer = await client.initialize(
            workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name}],
            initializationOptions={"palimpsest": {"trust": True}},
        )
        assert "result" in answer
        yield Editor(client)


async def held_call(client: RawClient) -> None:
    """Waits until the server asks the editor to run a tool; it is never answered."""
    asked = asyncio.get_running_loop().create_future()

    def hear(message: dict[str, Any]) -> None:
        if message["method"] == "palimpsest/tools/run":
            asked.set_result(None)
        else:
            client.silent_for = None
            client.reply(message)
            client.silent_for = hear

    client.silent_for = hear
    await asyncio.wait_for(asked, 30)


async def test_calls_and_results_survive_a_kill_and_the_call_in_flight_gets_a_result_that_says_so(
    tmp_path: Path, root: Path, fake: FakeProvider
) -> None:
    tool = {"name": "deploy", "description": "Deploys.", "parameters": {"type": "object"}, "isReadOnly": False}
    three = (
        Call("c2", "read_file", '{"path": "src/a.py"}'),
        Call("c3", "editor_deploy", "{}"),
        Call("c4", "read_file", '{"path": "src/b.py"}'),
    )
    fake.script += [
        Reply(text="", calls=(Call("c1", "list_files", "{}"),)),
        Reply(text="Listed."),
        Reply(text="All three.", calls=three),
    ]
    async with trusting_editor(tmp_path, root, fake) as ed:
        conversation_id = (await ed.chat("list it"))["result"]["conversationId"]
        ed.client.handlers["palimpsest/approval/request"] = lambda _: {"answer": "once"}
        await ed.client.result("palimpsest/tools/register", {"tools": [tool]})
        ed.client.start_request("palimpsest/chat", ed.chat_params("do it", conversationId=conversation_id))
        await held_call(ed.client)
        sent = fake.requests[-1].body["messages"]
        assert ed.client.process is not None
        ed.client.process.kill()
        await ed.client.exit_code()
    async with trusting_editor(tmp_path, root, fake) as ed:
        page = await ed.read(conversation_id)
        roles = ["user", "assistant", "tool", "assistant", "user", "assistant", "tool", "tool", "tool"]
        assert [message["role"] for message in page["messages"]] == roles
        assert "running" not in page
        assert (await ed.chat("go on", conversationId=conversation_id))["result"]["status"] == "committed"
        assert len(fake.requests) == 4, "what the dead server had asked was asked again"
        told = fake.requests[-1].body["messages"]
        assert told[: len(sent)] == sent, "the prefix broke"
        assert [message["content"] for message in told if message["role"] == "tool"] == [
            "src/\nsrc/a.py\nsrc/b.py",
            "1\tdef alpha():\n2\t    return 1",
            "The tool call was interrupted; it is unknown whether it took effect.",
            "The tool call was not run, because the turn ended first.",
        ]
        assert (await ed.read(conversation_id))["messages"][:9] == page["messages"]


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
