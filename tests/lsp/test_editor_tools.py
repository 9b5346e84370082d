"""What a model may do through an editor: run its tools, change texts, run commands; each after the user's word.
Whatever the editor does meanwhile - leave, change the text, answer nonsense - the model is told, and the turn ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import Call, FakeProvider, Reply
from tests.lsp.in_process import in_environment, served
from tests.lsp.rawlsp import Message
from tests.lsp.real_server import Editor, home, on_fake
from tests.waiting import WAIT_S

from palimpsest.app.compose import load_folders
from palimpsest.lsp.server import build_server
from palimpsest.services.folder.folders import Folders

APPROVE, APPLY, RUN = "palimpsest/approval/request", "workspace/applyEdit", "palimpsest/tools/run"
APPLIES = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]},
    }
}
"""The capabilities of an editor that applies edits."""


class Desk:
    """One server on one folder, editors on it, and the model they talk to."""

    def __init__(self, root: Path, folders: Folders, fake: FakeProvider) -> None:
        self.root = root
        self.fake = fake
        self._folders = folders
        self._stack = contextlib.AsyncExitStack()

    async def connect(self, *, trust: bool = True, capabilities: dict[str, Any] | None = None) -> Editor:
        server = build_server(lambda: self._folders, owns_folders=False)
        client = await self._stack.enter_async_context(served(server))
        answer = await client.initialize(
            APPLIES if capabilities is None else capabilities,
            workspaceFolders=[{"uri": self.root.as_uri(), "name": "folder"}],
            initializationOptions={"palimpsest": {"trust": trust}},
        )
        assert "result" in answer, answer
        await client.result("palimpsest/conversation/list", {})
        return Editor(client)

    def model_calls(self, name: str, **arguments: Any) -> None:
        """The next answer of the model, and an end to the turn behind it."""
        self.fake.script += [Reply(text="", calls=(Call("c1", name, json.dumps(arguments)),)), Reply(text="Done.")]

    def told(self) -> str:
        """The result of the model's last call."""
        message = self.fake.requests[-1].body["messages"][-1]
        assert message["role"] == "tool"
        text: str = message["content"]
        return text

    async def ask(self, editor: Editor, name: str, **arguments: Any) -> str:
        """A turn in which the model calls a tool; what it was told."""
        self.model_calls(name, **arguments)
        answer = await editor.chat("Do it.")
        assert answer["result"]["status"] == "committed", answer
        return self.told()

    async def close(self) -> None:
        await self._stack.aclose()
        await self._folders.close()


@pytest.fixture
async def desk(tmp_path: Path, fake: FakeProvider) -> AsyncIterator[Desk]:
    root = tmp_path / "a folder é"
    root.mkdir()
    with in_environment(
        **home(tmp_path, **on_fake(fake.url), PALIMPSEST_TOOLS_RUN_COMMAND="1", PATH="/usr/bin:/bin")
    ) as environ:
        desk = Desk(root, load_folders(environ), fake)
        yield desk
        await desk.close()


def says(answer: str) -> Callable[[Any], Any]:
    return lambda _: {"answer": answer}


def holding(editor: Editor, method: str) -> asyncio.Future[Message]:
    """The next request of this method, which is not answered."""
    client, held = editor.client, asyncio.get_running_loop().create_future()

    def hear(message: Message) -> None:
        if message["method"] == method:
            held.set_result(message)
        else:
            client.silent_for = None
            client.reply(message)
            client.silent_for = hear

    client.silent_for = hear
    return held


def opened(editor: Editor, path: Path, text: str, version: int) -> str:
    document = {"uri": path.as_uri(), "languageId": "plaintext", "version": version, "text": text}
    editor.client.notify("textDocument/didOpen", {"textDocument": document})
    return path.as_uri()


async def cancelled(editor: Editor, message: Message) -> None:
    while (await editor.client.notification("$/cancelRequest"))["id"] != message["id"]:
        pass


TOOL = {
    "name": "symbols",
    "description": "Lists symbols.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
    "isReadOnly": True,
}


# ------------------------------------------------------------------------------------------------------ tools it brings


async def test_a_tool_of_the_editor_is_run_in_it_and_the_model_told(desk: Desk) -> None:
    editor = await desk.connect()
    registered = await editor.client.result("palimpsest/tools/register", {"tools": [TOOL]})
    assert registered == {"names": ["editor_symbols"]}
    editor.client.handlers[RUN] = lambda params: {"text": f"found {params['arguments']['query']}"}
    assert await desk.ask(editor, "editor_symbols", query="x") == "found x"
    (params,) = editor.client.received(RUN)
    assert (params["name"], params["arguments"]) == ("symbols", {"query": "x"})
    assert params["turnId"]
    assert params["conversationId"]
    assert editor.client.received(APPROVE) == []


async def test_a_tool_that_changes_something_waits_for_the_users_word(desk: Desk) -> None:
    editor = await desk.connect()
    await editor.client.result("palimpsest/tools/register", {"tools": [TOOL | {"isReadOnly": False}]})
    editor.client.handlers |= {RUN: lambda _: {"text": "done"}, APPROVE: says("deny")}
    assert "said no" in await desk.ask(editor, "editor_symbols", query="a\u202eb")
    assert editor.client.received(RUN) == []
    (asked,) = editor.client.received(APPROVE)
    assert json.loads(asked["shown"].replace("⟨U+202E⟩", "\u202e")) == {"query": "a\u202eb"}
    assert (asked["tool"], asked["covers"]) == ("editor_symbols", "every call of editor_symbols")
    editor.client.handlers[APPROVE] = says("once")
    assert await desk.ask(editor, "editor_symbols", query="x") == "done"


async def test_registering_again_replaces_what_was_there(desk: Desk) -> None:
    editor = await desk.connect()
    for tools in ([TOOL], [TOOL | {"name": "other"}]):
        await editor.client.result("palimpsest/tools/register", {"tools": tools})
    assert "There is no tool 'editor_symbols'" in await desk.ask(editor, "editor_symbols")
    refused = await editor.client.request("palimpsest/tools/register", {"tools": [TOOL, TOOL]})
    assert refused["error"]["code"] == -32602
    refused = await editor.client.request("palimpsest/tools/register", {"tools": [TOOL | {"name": "a b"}]})
    assert "letters, digits" in refused["error"]["message"]
    assert "editor_other" in await desk.ask(editor, "nothing"), "a refused list took the place of a good one"


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"error": {"code": -32803, "message": "No file is open."}}, "could not run the tool: No file is open."),
        ({"result": {"text": 1}}, "could not run the tool: The answer to palimpsest/tools/run is not valid"),
        ({"result": {"text": "no such symbol", "isError": True}}, "no such symbol"),
    ],
)
async def test_what_goes_wrong_in_the_editor_is_told_to_the_model(desk: Desk, reply: Message, told: str) -> None:
    editor = await desk.connect()
    await editor.client.result("palimpsest/tools/register", {"tools": [TOOL]})
    editor.client.raw_replies[RUN] = lambda _: reply
    assert told in await desk.ask(editor, "editor_symbols")


async def test_an_editor_that_leaves_in_the_middle_of_a_call_ends_the_call_and_not_the_turn(desk: Desk) -> None:
    one, two = await desk.connect(), await desk.connect()
    await two.client.result("palimpsest/tools/register", {"tools": [TOOL | {"isReadOnly": False}]})
    one.client.handlers[APPROVE] = says("once")
    held = holding(two, RUN)
    two.client.handlers[APPROVE] = says("once")
    desk.model_calls("editor_symbols")
    turn = one.client.start_request("palimpsest/chat", Editor.chat_params("Do it."))
    await asyncio.wait_for(held, WAIT_S)
    two.client.writer.close()
    assert (await turn.answer())["result"]["status"] == "committed"
    assert "left while the tool ran. It is unknown whether the tool took effect" in desk.told()
    assert "There is no tool" in await desk.ask(one, "editor_symbols"), "its tools stayed"


async def test_a_cancelled_turn_cancels_the_call_in_the_editor(desk: Desk) -> None:
    editor = await desk.connect()
    await editor.client.result("palimpsest/tools/register", {"tools": [TOOL]})
    held = holding(editor, RUN)
    desk.model_calls("editor_symbols")
    turn = editor.client.start_request("palimpsest/chat", Editor.chat_params("Do it."))
    message = await asyncio.wait_for(held, WAIT_S)
    await editor.client.result("palimpsest/turn/cancel", {"turnId": message["params"]["turnId"]})
    await cancelled(editor, message)
    assert (await turn.answer())["result"]["status"] == "cancelled"


# ---------------------------------------------------------------------------------------------------------- approvals


async def test_a_turn_can_be_cancelled_while_the_user_is_asked(desk: Desk) -> None:
    editor = await desk.connect()
    held = holding(editor, APPROVE)
    desk.model_calls("run_command", command=["touch", "made"])
    turn = editor.client.start_request("palimpsest/chat", Editor.chat_params("Do it."))
    message = await asyncio.wait_for(held, WAIT_S)
    await editor.client.result("palimpsest/turn/cancel", {"turnId": message["params"]["turnId"]})
    await cancelled(editor, message)
    assert (await turn.answer())["result"]["status"] == "cancelled"
    assert not (desk.root / "made").exists()


async def test_the_first_of_two_editors_answers_and_the_other_is_told(desk: Desk) -> None:
    one, two = await desk.connect(), await desk.connect()
    held = holding(two, APPROVE)
    one.client.handlers[APPROVE] = says("once")
    assert "Exit status 0" in await desk.ask(one, "run_command", command=["true"])
    await cancelled(two, await asyncio.wait_for(held, WAIT_S))


@pytest.mark.parametrize(
    "reply", [{"result": {"answer": "yes"}}, {"result": None}, {"error": {"code": 1, "message": ""}}]
)
async def test_an_answer_that_is_none_is_no(desk: Desk, reply: Message) -> None:
    editor = await desk.connect()
    editor.client.raw_replies[APPROVE] = lambda _: reply
    assert "No editor is connected that can ask" in await desk.ask(editor, "run_command", command=["touch", "made"])
    assert not (desk.root / "made").exists()


async def test_answers_that_are_kept_are_listed_and_revoked(desk: Desk) -> None:
    editor = await desk.connect()
    editor.client.handlers[APPROVE] = says("always")
    for _ in range(2):
        told = await desk.ask(editor, "run_command", command=["echo", "one"])
        assert told == "one\n[Exit status 0.]"
    assert len(editor.client.received(APPROVE)) == 1
    listed = (await editor.client.result("palimpsest/approval/list", {}))["rules"]
    assert [(rule["tool"], rule["answer"], rule["covers"]) for rule in listed] == [
        ("run_command", "always", "commands in the workspace folder that begin with: echo one")
    ]
    missing = await editor.client.request("palimpsest/approval/revoke", {"id": 99})
    assert missing["error"]["data"]["kind"] == "not_found"
    left = await editor.client.result("palimpsest/approval/revoke", {"id": listed[0]["id"]})
    assert left == {"rules": []}
    await desk.ask(editor, "run_command", command=["echo", "one"])
    assert len(editor.client.received(APPROVE)) == 2


async def test_kept_answers_are_listed_and_taken_back_by_a_command(desk: Desk) -> None:
    editor = await desk.connect()
    editor.client.handlers[APPROVE] = says("always")
    await desk.ask(editor, "run_command", command=["echo", "one"])

    async def said(text: str) -> str:
        answer: str = (await editor.client.result("palimpsest/command/run", {"text": text}))["text"]
        return answer

    assert "| 1 | always | commands in the workspace folder that begin with: echo one |" in await said("/approvals")
    missing = await editor.client.request("palimpsest/command/run", {"text": "/approvals revoke 7"})
    assert "There is no approval 7." in missing["error"]["message"]
    assert "you are asked each time" in await said("/approvals revoke 1")
    await desk.ask(editor, "run_command", command=["echo", "one"])
    assert len(editor.client.received(APPROVE)) == 2


async def test_a_command_is_shown_as_it_is_and_runs_without_keys(desk: Desk) -> None:
    editor = await desk.connect()
    editor.client.handlers[APPROVE] = says("once")
    told = await desk.ask(editor, "run_command", command=[sys.executable, "-c", "import os\nprint(sorted(os.environ))"])
    assert "OPENAI_API_KEY" not in told
    (asked,) = editor.client.received(APPROVE)
    assert asked["shown"].endswith("'import os⟨U+000A⟩print(sorted(os.environ))'")
    assert asked["mayBeAlways"] is False


async def test_without_trust_only_what_reads_is_there(desk: Desk) -> None:
    editor = await desk.connect(trust=False)
    await editor.client.result(
        "palimpsest/tools/register", {"tools": [TOOL, TOOL | {"name": "x", "isReadOnly": False}]}
    )
    told = await desk.ask(editor, "run_command", command=["true"])
    assert "There is no tool 'run_command'." in told
    assert "editor_symbols" in told
    assert "propose_edit" not in told


# --------------------------------------------------------------------------------------------------------------- edits


async def test_an_edit_goes_to_the_open_document_with_its_version(desk: Desk) -> None:
    editor = await desk.connect()
    (desk.root / "a é.py").write_text("on disk\n")
    uri = opened(editor, desk.root / "a é.py", "one\n🎉 two\n", 7)
    editor.client.handlers |= {APPROVE: says("once"), APPLY: lambda _: {"applied": True}}
    told = await desk.ask(editor, "propose_edit", path="a é.py", edits=[{"old_text": "two", "new_text": "2"}])
    assert "Applied in the editor: a é.py." in told
    (applied,) = editor.client.received(APPLY)
    place = {"start": {"line": 1, "character": 3}, "end": {"line": 1, "character": 6}}
    assert applied["edit"] == {
        "documentChanges": [
            {"textDocument": {"uri": uri, "version": 7}, "edits": [{"range": place, "newText": "2"}]},
        ]
    }
    assert "-🎉 two\n+🎉 2\n" in editor.client.received(APPROVE)[0]["shown"]
    assert (desk.root / "a é.py").read_text() == "on disk\n"


async def test_a_file_that_is_not_open_is_edited_by_the_editor_too(desk: Desk) -> None:
    editor = await desk.connect()
    (desk.root / "a.py").write_text("one\ntwo\n")
    editor.client.handlers |= {APPROVE: says("once"), APPLY: lambda _: {"applied": True}}
    await desk.ask(editor, "propose_edit", path="a.py", edits=[{"old_text": "two\n", "new_text": ""}])
    await desk.ask(editor, "propose_edit", path="new é.py", content="text")
    first, second = (params["edit"]["documentChanges"] for params in editor.client.received(APPLY))
    place = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    identifier = {"uri": (desk.root / "a.py").as_uri(), "version": None}
    assert first == [{"textDocument": identifier, "edits": [{"range": place, "newText": ""}]}]
    created, written = second
    uri = (desk.root / "new é.py").as_uri()
    assert (created["kind"], created["uri"]) == ("create", uri)
    assert created["options"] == {"overwrite": False, "ignoreIfExists": False}
    nowhere = {"line": 0, "character": 0}
    assert written["edits"] == [{"range": {"start": nowhere, "end": nowhere}, "newText": "text"}]
    assert not (desk.root / "new é.py").exists()


async def test_a_document_that_changes_while_the_user_thinks_is_not_edited(desk: Desk) -> None:
    editor = await desk.connect()
    uri = opened(editor, desk.root / "a.py", "one\n", 1)

    def type_and_agree(_: Any) -> Any:
        change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "one!\n"}]}
        editor.client.notify("textDocument/didChange", change)
        return {"answer": "once"}

    editor.client.handlers |= {APPROVE: type_and_agree, APPLY: lambda _: {"applied": True}}
    told = await desk.ask(editor, "propose_edit", path="a.py", edits=[{"old_text": "one", "new_text": "1"}])
    assert "has changed since it was shown" in told
    assert editor.client.received(APPLY) == []


async def test_a_document_that_changes_as_the_edit_is_on_its_way_is_refused_by_the_editor(desk: Desk) -> None:
    editor = await desk.connect()
    opened(editor, desk.root / "a.py", "one\n", 1)
    refusal = {"applied": False, "failureReason": "a.py is at version 2"}
    editor.client.handlers |= {APPROVE: says("once"), APPLY: lambda _: refusal}
    edits = [{"old_text": "one", "new_text": "1"}]
    assert "did not apply the edits: a.py is at version 2" in await desk.ask(
        editor, "propose_edit", path="a.py", edits=edits
    )
    del editor.client.handlers[APPLY]
    assert "It answered: no such method" in await desk.ask(editor, "propose_edit", path="a.py", edits=edits)


@pytest.mark.parametrize("capabilities", [{}, {"workspace": {"applyEdit": True}}])
async def test_an_editor_that_takes_no_versions_is_sent_no_edits(desk: Desk, capabilities: dict[str, Any]) -> None:
    editor = await desk.connect(capabilities=capabilities)
    (desk.root / "a.py").write_text("one\n")
    told = await desk.ask(editor, "propose_edit", path="a.py", edits=[{"old_text": "one", "new_text": "1"}])
    assert "No editor is connected that can apply edits" in told
    assert editor.client.received(APPROVE) == []


async def test_an_editor_that_cannot_create_files_is_not_asked_to(desk: Desk) -> None:
    capabilities = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
    editor = await desk.connect(capabilities=capabilities)
    editor.client.handlers[APPROVE] = says("once")
    assert "cannot create files" in await desk.ask(editor, "propose_edit", path="a.py", content="x")
    assert editor.client.received(APPLY) == []


async def test_documents_of_other_folders_and_of_no_file_are_not_this_folders(desk: Desk, tmp_path: Path) -> None:
    editor = await desk.connect()
    opened(editor, tmp_path / "a.py", "one\n", 1)
    document = {"uri": "untitled:a.py", "languageId": "plaintext", "version": 1, "text": "one\n"}
    editor.client.notify("textDocument/didOpen", {"textDocument": document})
    told = await desk.ask(editor, "propose_edit", path="a.py", edits=[{"old_text": "one", "new_text": "1"}])
    assert "There is no file 'a.py'" in told
