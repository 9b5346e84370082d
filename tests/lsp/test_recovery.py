"""An answer that broke off is listed, offered when the folder is opened, and resolved from an editor; a repeated
request makes no second turn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import Call, FakeProvider, Fault, Reply
from tests.lsp.in_process import connected_here
from tests.lsp.rawlsp import HEARS_CHANGES, RawClient
from tests.lsp.real_server import STALL, STALLED_TEXT, Editor, editor, files_of_now, home, on_fake
from tests.waiting import WAIT_S

LIST, RESOLVE = "palimpsest/recovery/list", "palimpsest/recovery/resolve"
CAN_ASK = {"window": {"showMessage": {"messageActionItem": {"additionalPropertiesSupport": False}}}} | HEARS_CHANGES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    root.mkdir()
    return root


async def killed(tmp_path: Path, folder: Path, fake: FakeProvider) -> dict[str, Any]:
    """The first delta of a turn whose server was killed while it answered: its files are as they were then."""
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        fake.script.append(STALL)
        ed.client.start_request("palimpsest/chat", Editor.chat_params("question", partialResultToken="p"))
        await asyncio.wait_for(fake.stalled.wait(), WAIT_S)
        await ed.until_shown("p", STALLED_TEXT)
        kill = files_of_now(tmp_path)
    kill()
    return ed.shown("p")[0]


async def texts(ed: Editor, conversation_id: str) -> list[tuple[str, str, bool]]:
    return [(m["role"], m["text"], m["isHidden"]) for m in (await ed.read(conversation_id))["messages"]]


async def test_what_a_kill_left_is_listed_told_and_continued(tmp_path: Path, folder: Path, fake: FakeProvider) -> None:
    turn = await killed(tmp_path, folder, fake)
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        (broken,) = (await ed.client.result(LIST, {"folderUri": folder.as_uri()}))["turns"]
        assert {key: broken[key] for key in ("conversationId", "turnId", "class", "text", "textLength", "model")} == {
            "conversationId": turn["conversationId"],
            "turnId": turn["turnId"],
            "class": "incomplete",
            "text": STALLED_TEXT,
            "textLength": len(STALLED_TEXT),
            "model": "gpt-4o",
        }
        told = await ed.client.notification("window/showMessage")
        assert 'The last answer in "question" broke off.' in told["message"]
        fake.script.append(Reply(text=" and the rest"))
        params = {"turnId": turn["turnId"], "action": "continue", "partialResultToken": "c"}
        done = await ed.client.result(RESOLVE, params)
        assert (done["status"], done["messageIds"], "text" in done) == ("committed", [0, 2], False)
        assert ed.shown("c")[0]["userMessageId"] == 0
        assert ed.shown_text("c") == " and the rest"
        sent = fake.bodies[-1]["messages"]
        assert [m["role"] for m in sent[-3:]] == ["user", "assistant", "user"]
        assert (sent[-3]["content"], sent[-2]["content"]) == ("question", STALLED_TEXT)
        assert (await ed.client.result(LIST, {}))["turns"] == []
        assert [text for _, text, _ in await texts(ed, turn["conversationId"])] == [
            "question",
            STALLED_TEXT,
            " and the rest",
        ]
        n_asked = len(fake.bodies)
        again = await ed.client.result("palimpsest/turn/continue", {"turnId": turn["turnId"]})
        assert (again["turnId"], again["text"], len(fake.bodies)) == (done["turnId"], " and the rest", n_asked)
        assert len(ed.client.received("window/showMessage")) == 1


@pytest.mark.parametrize("title", ["Discard", "Retry"])
async def test_an_editor_that_can_ask_is_asked_once_and_its_users_choice_is_done(
    tmp_path: Path, folder: Path, fake: FakeProvider, title: str
) -> None:
    turn = await killed(tmp_path, folder, fake)
    conversation_id = turn["conversationId"]
    fake.script.append(Reply(text="whole"))
    asked: list[dict[str, Any]] = []

    def choose(params: dict[str, Any]) -> dict[str, str]:
        asked.append(params)
        return {"title": title}

    async with connected_here(**home(tmp_path, **on_fake(fake.url))) as client:
        client.handlers["window/showMessageRequest"] = choose
        await client.initialize(CAN_ASK, workspaceFolders=[{"uri": folder.as_uri(), "name": "folder"}])
        ed = Editor(client)
        wanted = [("user", "question", False), ("assistant", STALLED_TEXT, True)]
        if title == "Retry":
            wanted.append(("assistant", "whole", False))
        async with asyncio.timeout(WAIT_S):
            while await texts(ed, conversation_id) != wanted:
                await client.notification("palimpsest/didChangeConversation")
        assert (await client.result(LIST, {}))["turns"] == []
        (question,) = asked
        assert [each["title"] for each in question["actions"]] == ["Continue", "Keep", "Discard", "Retry"]


async def test_an_editor_that_does_not_answer_waits_for_nothing(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    turn = await killed(tmp_path, folder, fake)
    async with connected_here(**home(tmp_path, **on_fake(fake.url))) as client:
        unanswered = asyncio.Event()
        client.silent_for = lambda message: unanswered.set()
        await client.initialize(CAN_ASK, workspaceFolders=[{"uri": folder.as_uri(), "name": "folder"}])
        ed = Editor(client)
        assert (await ed.chat("go on", conversationId=turn["conversationId"]))["result"]["status"] == "committed"
        await asyncio.wait_for(unanswered.wait(), WAIT_S)
        await client.request("shutdown")
        client.notify("exit")
        assert await client.exit_code() == 0
        assert b"never retrieved" not in client.stderr


async def test_a_failed_turn_is_retried_and_a_discarded_one_becomes_the_draft(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        fake.script.append(Fault(status=401))
        turn_id = (await ed.chat("question"))["error"]["data"]["turnId"]
        (broken,) = (await ed.client.result(LIST, {}))["turns"]
        assert (broken["turnId"], broken["class"], broken["errorKind"]) == (turn_id, "errored", "auth")
        fake.script.append(Fault(status=401))
        error = (await ed.client.request("palimpsest/turn/retry", {"turnId": turn_id}))["error"]
        second = error["data"]["turnId"]
        assert (error["data"]["kind"], second != turn_id) == ("auth", True)
        done = await ed.client.result("palimpsest/turn/retry", {"turnId": second})
        assert (done["status"], done["text"]) == ("committed", Reply().text)
        discarded = await ed.client.result(RESOLVE, {"turnId": done["turnId"], "action": "discard", "asDraft": True})
        assert (discarded["turnId"], "text" in discarded) == (done["turnId"], False)
        page = await ed.read(done["conversationId"])
        assert [m["isHidden"] for m in page["messages"]] == [True, True]
        assert page["conversation"]["draft"] == "question"
        refused = (await ed.client.request("palimpsest/turn/retry", {"turnId": done["turnId"]}))["error"]
        assert (refused["code"], refused["data"]["kind"]) == (-32602, "invalid_request")


async def test_cancelling_the_request_of_a_retry_cancels_its_turn(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        first = (await ed.chat("question"))["result"]
        fake.script.append(STALL)
        params = {"turnId": first["turnId"], "partialResultToken": "r"}
        request = ed.client.start_request("palimpsest/turn/retry", params)
        await asyncio.wait_for(fake.stalled.wait(), WAIT_S)
        await ed.until_shown("r", STALLED_TEXT)
        ed.client.notify("$/cancelRequest", {"id": request.id})
        assert (await request.answer())["error"]["code"] == -32800
        page = await ed.read(first["conversationId"])
        assert [(m["text"], m["state"]) for m in page["messages"] if not m["isHidden"]] == [
            ("question", "complete"),
            (STALLED_TEXT, "cancelled"),
        ]
        again = await ed.client.result("palimpsest/turn/continue", {"turnId": ed.shown("r")[0]["turnId"]})
        assert again["status"] == "committed"


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
    """An editor on a folder that is trusted."""
    async with connected_here(**home(directory, **on_fake(fake.url))) as client:
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
    await asyncio.wait_for(asked, WAIT_S)


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
        kill = files_of_now(tmp_path)
    kill()
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
