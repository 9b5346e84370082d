"""Sharing as an editor has it: two members with an editor, a server and a store each, and one real hub."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo
from tests.clients.fake_provider import Call, FakeProvider, Reply
from tests.hub.lab import Lab, TestTeam
from tests.lsp.chat_editor import ChatEditor, capabilities
from tests.lsp.in_process import connected_here, in_environment, served
from tests.lsp.rawlsp import HEARS_CHANGES
from tests.lsp.real_server import STALL, STALLED_TEXT, Editor, editor, home, on_fake
from tests.waiting import WAIT_S

from palimpsest.app.compose import load_folders
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.lsp.server import build_server
from palimpsest.services.events import MovedApart

PRESENCE = "palimpsest/didChangePresence"
SHOWN = STALLED_TEXT.rpartition(" ")[0] + " "
"""What others are shown of an answer that stalls: as far as the last whole word."""


@pytest.fixture
def team(lab: Lab) -> TestTeam:
    return lab.team(ann="admin", bob="writer")


def on_hub(lab: Lab, team: TestTeam, name: str) -> dict[str, str]:
    return {
        "PALIMPSEST_HUB_URL": make_conninfo(lab.admin, user=lab.gate.name, password=lab.gate.password),
        "PALIMPSEST_HUB_TOKEN": team.tokens[name],
        "PALIMPSEST_HUB_POLL_S": "1",
    }


@pytest.fixture
async def editors(lab: Lab, team: TestTeam, fake: FakeProvider, tmp_path: Path) -> AsyncIterator[list[Editor]]:
    """Ann's and Bob's."""
    async with AsyncExitStack() as stack:
        found = []
        for name in ("ann", "bob"):
            root = tmp_path / name / "folder"
            root.mkdir(parents=True)
            variables = on_fake(fake.url) | on_hub(lab, team, name)
            client = await stack.enter_async_context(connected_here(**home(tmp_path / name, **variables)))
            folders = [{"uri": root.as_uri(), "name": "folder"}]
            await client.initialize(capabilities("utf-16") | HEARS_CHANGES, workspaceFolders=folders)
            found.append(Editor(client))
        yield found


async def share(editors: list[Editor]) -> str:
    """A conversation of a question and an answer, which both have."""
    ann, bob = editors
    at = (await ann.chat("Where does the heron stand?"))["result"]["conversationId"]
    done = await ann.client.result("palimpsest/conversation/share", {"conversationId": at, "confirm": True})
    assert done["conversation"]["conversationId"] == at
    opened = await bob.client.result("palimpsest/conversation/openShared", {"conversationId": at})
    assert opened["conversationId"] == at
    return str(at)


async def until_turn(client: Any) -> dict[str, Any]:
    """Who writes, once the turn has shown something."""
    async with asyncio.timeout(WAIT_S):
        while True:
            writer: dict[str, Any] = (await client.notification(PRESENCE)).get("writer", {})
            if "turnId" in writer:
                return writer


async def test_a_dry_run_says_who_reads_and_what_is_taken_out_without_the_texts(
    editors: list[Editor], team: TestTeam, tmp_path: Path
) -> None:
    ann, bob = editors
    secret = "AKIAIOSFODNN7EXAMPL2"
    at = (await ann.chat(f"Why does {tmp_path}/ann/folder/a.py hold {secret}?"))["result"]["conversationId"]
    plan = await ann.client.result("palimpsest/conversation/share", {"conversationId": at})
    assert plan["team"] == team.name
    assert {(each["name"], each["role"], each["isSelf"]) for each in plan["readers"]} == {
        (team.full_name("ann"), "admin", True),
        (team.full_name("bob"), "writer", False),
    }
    assert plan["removals"] == [
        {"kind": "AWS access key", "messageIds": [0]},
        {"kind": "path of this machine", "messageIds": [0]},
    ]
    assert plan["isCopy"]
    assert plan["messageCount"] == 2
    assert "conversation" not in plan
    assert secret not in json.dumps(plan)
    assert (await bob.client.result("palimpsest/conversation/listShared", {}))["conversations"] == []
    done = await ann.client.result("palimpsest/conversation/share", {"conversationId": at, "confirm": True})
    copy = done["conversation"]
    assert copy["conversationId"] != at
    assert (copy["shared"]["team"], copy["shared"]["role"], copy["shared"]["state"]) == (team.name, "admin", "current")
    assert "shared" not in (await ann.read(at))["conversation"]


async def test_list_open_and_unshare(editors: list[Editor], team: TestTeam) -> None:
    ann, bob = editors
    at = await share(editors)
    (header,) = (await bob.client.result("palimpsest/conversation/listShared", {}))["conversations"]
    assert (header["conversationId"], header["owner"], header["messageCount"]) == (at, team.full_name("ann"), 2)
    assert header["isHere"]
    messages = (await bob.read(at))["messages"]
    assert [each.get("author") for each in messages] == [team.full_name("ann")] * 2
    assert all("author" not in each for each in (await ann.read(at))["messages"])
    who = await bob.client.result("palimpsest/conversation/members", {"conversationId": at})
    assert {each["name"] for each in who["members"]} == {team.full_name("ann"), team.full_name("bob")}
    assert {(each["member"], each["isThis"]) for each in who["stores"]} >= {(team.full_name("bob"), True)}
    info = await ann.client.result("palimpsest/conversation/unshare", {"conversationId": at})
    assert info["shared"]["state"] == "detached"
    assert (await bob.client.result("palimpsest/conversation/listShared", {}))["conversations"] == []


async def test_the_others_answer_grows_here_and_a_message_of_mine_goes_into_a_fork(
    editors: list[Editor], team: TestTeam, fake: FakeProvider
) -> None:
    ann, bob = editors
    at = await share(editors)
    await bob.read(at)
    fake.script.append(STALL)
    asked = ann.client.start_request("palimpsest/chat", Editor.chat_params("Since when?", conversationId=at))
    writer = await until_turn(bob.client)
    assert (writer["name"], writer["isSelf"], writer["work"]) == (team.full_name("ann"), False, "writing")
    turn_id = writer["turnId"]
    attached = bob.client.start_request("palimpsest/turn/attach", {"turnId": turn_id, "partialResultToken": "live"})
    await bob.until_shown("live", SHOWN)
    first = bob.shown("live")[0]
    assert (first["type"], first["conversationId"], first["userMessageId"]) == ("turn", at, 2)
    page = await bob.read(at)
    assert (page["running"]["turnId"], page["running"]["text"]) == (turn_id, SHOWN)
    assert page["conversation"]["shared"]["writer"]["name"] == team.full_name("ann")
    assert page["messages"][-1]["text"] == "Since when?"
    refused = (await bob.chat("Me too?", conversationId=at))["error"]["data"]
    assert (refused["kind"], refused["holder"], refused["canFork"]) == ("shared_busy", team.full_name("ann"), True)
    assert "until" in refused
    stop = (await bob.client.request("palimpsest/turn/cancel", {"turnId": turn_id}))["error"]["message"]
    assert team.full_name("ann") in stop
    fork = await bob.client.result("palimpsest/conversation/fork", {"conversationId": at})
    gone_on = await bob.chat("Me too?", conversationId=fork["conversationId"])
    assert gone_on["result"]["status"] == "committed"
    await ann.client.result("palimpsest/turn/cancel", {"turnId": turn_id})
    assert (await asked.answer())["result"]["status"] == "cancelled"
    assert (await attached.answer())["result"]["status"] == "cancelled"
    async with asyncio.timeout(WAIT_S):
        while "writer" in await bob.client.notification(PRESENCE):
            pass
    assert "running" not in await bob.read(at)


async def test_a_chat_document_is_marked_and_goes_on_in_a_fork_while_somebody_else_writes(
    editors: list[Editor], team: TestTeam, fake: FakeProvider
) -> None:
    ann, bob = editors
    at = await share(editors)
    opening = {"command": "palimpsest.chat.open", "arguments": [{"conversationId": at}]}
    opened = await bob.client.result("workspace/executeCommand", opening)
    document = ChatEditor(bob.client, Path(opened["path"]), "utf-16")
    document.open()
    assert "error" not in await document.command("show")
    await document.until(f"## 0 · by {team.full_name('ann')}\n")
    assert "chat-shared" in await document.problems()
    fake.script.append(STALL)
    asked = ann.client.start_request(
        "palimpsest/chat", Editor.chat_params("Since when?", conversationId=at, partialResultToken="ann")
    )
    await until_turn(bob.client)
    document.type("Me too?\n")
    assert "chat-shared-busy" in await document.problems()
    refused = (await document.command("send"))["error"]["data"]
    assert (refused["kind"], refused["canFork"]) == ("shared_busy", True)
    assert "Me too?" in document.text, "what was refused stays in the input"
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    actions = await document.ask("codeAction", range=place, context={"diagnostics": []})
    assert "Go on in a fork" in [each["title"] for each in actions]
    moved = (await document.command("fork"))["result"]
    assert moved["conversationId"] != at
    await document.until(Reply().text.splitlines()[0])
    assert "chat-shared-busy" not in await document.problems()
    await ann.client.result("palimpsest/turn/cancel", {"turnId": ann_turn(ann)})
    await asked.answer()
    assert "Me too?" not in [each["text"] for each in (await ann.read(at))["messages"]]


def ann_turn(ann: Editor) -> str:
    """The turn that runs there."""
    return str(ann.shown("ann")[0]["turnId"])


async def test_the_first_tool_call_below_the_words_of_others_asks_once(
    editors: list[Editor], team: TestTeam, fake: FakeProvider
) -> None:
    _, bob = editors
    at = await share(editors)
    questions: list[dict[str, Any]] = []
    answers = iter(["deny", "once"])

    def answer(params: dict[str, Any]) -> dict[str, str]:
        questions.append(params)
        return {"answer": next(answers)}

    bob.client.handlers["palimpsest/approval/request"] = answer
    call = Call("c", "list_files", "{}")
    fake.script += [Reply(text="", calls=(call,)), Reply(), Reply(text="", calls=(call,)), Reply()]
    fake.script += [Reply(text="", calls=(call,)), Reply()]
    for number in range(3):
        assert "result" in await bob.chat(f"Look {number}", conversationId=at)
    assert len(questions) == 2, "no is asked again in the next turn, yes is not"
    assert team.full_name("ann") in questions[0]["title"]
    assert not questions[0]["mayBeAlways"]
    assert (await bob.client.result("palimpsest/approval/list", {}))["rules"] == []
    results = [
        part for each in (await bob.read(at))["messages"] for part in each["parts"] if part["type"] == "tool_result"
    ]
    assert [bool(each.get("isError")) for each in results] == [True, False, False]


async def test_a_purge_tells_which_stores_have_applied_it(editors: list[Editor], team: TestTeam) -> None:
    ann, bob = editors
    at = await share(editors)
    purged = await ann.client.result("palimpsest/conversation/purge", {"conversationId": at, "confirm": True})
    assert any(each["isThis"] and each["appliedSeq"] >= purged["seq"] for each in purged["stores"])
    async with asyncio.timeout(WAIT_S):
        while not all(each.get("isPurged") for each in (await bob.read(at))["messages"]):
            await bob.client.notification("palimpsest/didChangeConversation")
    async with asyncio.timeout(WAIT_S):
        while True:
            who = await ann.client.result("palimpsest/conversation/members", {"conversationId": at})
            if all(each["appliedSeq"] >= purged["seq"] for each in who["stores"]):
                break
    assert {each["member"] for each in who["stores"]} == {team.full_name("ann"), team.full_name("bob")}


async def test_the_way_to_the_hub_is_told_when_it_changes(
    editors: list[Editor], team: TestTeam, lab: Lab, tmp_path: Path
) -> None:
    ann, _ = editors
    status = await ann.client.result("palimpsest/hub/status", {})
    while status["state"] != "connected":
        assert status["state"] == "connecting"
        status = await ann.client.notification("palimpsest/didChangeHub")
    assert (status["team"], status["role"], status["unsent"]) == (team.name, "admin", 0)
    root = tmp_path / "else"
    root.mkdir()
    async with editor(tmp_path / "off", root, PALIMPSEST_MODEL="offline", PALIMPSEST_HUB_URL="") as one:
        assert (await one.client.result("palimpsest/hub/status", {}))["state"] == "off"
    nowhere = f"host={tmp_path} dbname=hub user=ann"
    async with editor(tmp_path / "away", root, PALIMPSEST_MODEL="offline", PALIMPSEST_HUB_URL=nowhere) as one:
        status = await one.client.result("palimpsest/hub/status", {})
        while status["state"] == "connecting":
            status = await one.client.notification("palimpsest/didChangeHub")
        assert status["state"] == "away"
        assert "since" in status
    variables = on_hub(lab, team, "ann") | {"PALIMPSEST_HUB_TOKEN": "unknown", "PALIMPSEST_MODEL": "offline"}
    async with editor(tmp_path / "refused", root, **variables) as one:
        status = await one.client.result("palimpsest/hub/status", {})
        while status["state"] == "connecting":
            status = await one.client.notification("palimpsest/didChangeHub")
        assert status["state"] == "refused"
        assert status["problem"]


async def test_what_moved_apart_is_told_with_both_titles(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    with in_environment(**home(tmp_path, PALIMPSEST_MODEL="offline")) as environ:
        folders = load_folders(environ)
        async with served(build_server(lambda: folders, owns_folders=True)) as client:
            await client.initialize(workspaceFolders=[{"uri": root.as_uri(), "name": "folder"}])
            made = [
                await client.result("palimpsest/conversation/create", {"title": title})
                for title in ("Herons", "Herons (apart)")
            ]
            one, fork = [ConversationId(each["conversationId"]) for each in made]
            (await folders.get(root)).folder.listeners.tell(MovedApart(one, fork, MessageId(4)))
            assert await client.notification("palimpsest/didMoveApart") == {
                "conversationId": one,
                "title": "Herons",
                "forkId": fork,
                "forkTitle": "Herons (apart)",
                "at": 4,
            }
            assert client.received("window/showMessage") == []
