"""Where chat documents lie and how one begins: nothing that stands in one decides whose conversation it shows."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import Reply
from tests.git import git, needs_git
from tests.lsp.chat_desk import Desk, desk
from tests.lsp.chat_editor import APPLY, ChatEditor, capabilities
from tests.lsp.rawlsp import Message, RawClient
from tests.waiting import WAIT_S

from palimpsest.domain.chat_documents.document import HEAD, MARKER, whole

__all__ = ["desk"]


async def test_documents_lie_outside_of_the_folder_for_the_user_alone(desk: Desk) -> None:
    editor = await desk.chat(title="My plans/..")
    assert not editor.path.is_relative_to(desk.root)
    assert editor.path.name == "My-plans.chat.md"
    assert stat.S_IMODE(editor.path.stat().st_mode) == 0o600
    assert list(desk.root.iterdir()) == []


@needs_git
async def test_a_document_in_the_folder_is_kept_out_of_git(desk: Desk) -> None:
    git(desk.root, "init", "-q")
    editor = await desk.chat(title="Plans", inFolder=True)
    assert editor.path == desk.root / "Plans.chat.md"
    assert git(desk.root, "status", "--porcelain") == ""


async def test_a_conversation_keeps_its_document(desk: Desk) -> None:
    editor = await desk.chat()
    listed = await editor.client.result("palimpsest/conversation/list", {})
    params = {"conversationId": listed["conversations"][0]["conversationId"]}
    again = await editor.client.result(
        "workspace/executeCommand", {"command": "palimpsest.chat.open", "arguments": [params]}
    )
    assert Path(again["path"]) == editor.path


async def test_what_is_purged_leaves_the_document_and_what_commands_quoted_in_it(desk: Desk) -> None:
    editor = await desk.chat()
    for text in ("The key is zqxsecret7731.", "/search zqxsecret7731", "/purge yes"):
        editor.type(text)
        await editor.command("send")
        await editor.settled()
    assert "and all that was derived from it, is deleted" in editor.text
    await editor.until("zqxsecret7731", is_there=False)
    assert "zqxsecret7731" not in editor.path.read_text()
    editor.close()
    editor.open()
    await editor.settled()
    editor.type("And now?")
    await editor.command("send")
    await editor.settled()
    assert "And now?" in editor.text


async def test_what_an_editor_keeps_of_what_was_sent_is_no_draft_and_goes_with_a_purge(desk: Desk) -> None:
    desk.fake.script += [Reply(text="Noted.")]
    editor = await desk.chat(title="Keys")
    editor.type("The key is zqxsecret7731.\n")
    editor.refuse_next = 1_000_000
    sent = (await editor.command("send"))["result"]
    await editor.client.request("palimpsest/turn/attach", {"turnId": sent["turnId"]})
    editor.type("And the lock?\n")
    purge = {"conversationId": sent["conversationId"], "confirm": True}
    await editor.client.result("palimpsest/conversation/purge", purge)
    editor.path.write_text(editor.text)
    editor.close()
    read = ("palimpsest/conversation/read", {"conversationId": sent["conversationId"]})
    async with asyncio.timeout(WAIT_S):
        while editor.path.exists():
            await editor.client.result(*read)
    assert (await editor.client.result(*read))["conversation"]["draft"] == "And the lock?"


async def test_a_document_that_is_in_step_is_left_as_its_editor_has_saved_it(desk: Desk) -> None:
    desk.fake.script += [Reply(text="Noted."), Reply(text="Yes.")]
    editor = await desk.chat()
    for text in ("First.", "Second."):
        editor.type(text)
        sent = (await editor.command("send"))["result"]
        await editor.settled()
    back = {"conversationId": sent["conversationId"], "messageId": 2}
    await editor.client.result("palimpsest/conversation/rollback", back)
    await editor.until("## 2 · you", is_there=False)
    await editor.settled()
    editor.type("Third.\n")
    editor.path.write_text(editor.text)
    editor.close()
    await desk.close()
    assert editor.path.read_text() == editor.text


async def test_a_document_named_by_what_is_purged_goes(desk: Desk) -> None:
    editor = await desk.chat(title="Zqxsecret7731")
    assert editor.path.name == "Zqxsecret7731.chat.md"
    for text in ("Which gate?", "/purge yes"):
        editor.type(text)
        await editor.command("send")
        await editor.settled()
    assert "and all that was derived from it, is deleted" in editor.text
    assert not editor.path.exists()


async def test_an_empty_document_of_the_users_own_becomes_a_chat_when_they_say_so(desk: Desk) -> None:
    (desk.root / "plans.chat.md").touch()
    client = await desk.connect(capabilities("utf-8"))
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Begin a conversation here"}
    editor = ChatEditor(client, desk.root / "plans.chat.md", "utf-8")
    editor.open()
    await editor.until(MARKER)
    editor.type("Go.")
    editor.tell()
    await editor.command("send")
    await editor.until("## 1 · assistant\n\nLine one")
    assert editor.text.count(MARKER) == 1


@pytest.mark.parametrize("answer", [None, {"title": "Leave it alone"}, {"title": "Begin a conversation here"}])
async def test_a_document_that_came_with_the_folder_opens_nobodys_conversation(desk: Desk, answer: Any) -> None:
    desk.fake.script += [Reply(text="A secret.")]
    own = await desk.chat()
    own.type("Tell me.")
    sent = (await own.command("send"))["result"]
    await own.settled()
    found = desk.root / "found.chat.md"
    found.write_text(whole(f"{HEAD}\n\n# {sent['conversationId']}\n\n## 0 · you\n\nTell me.", "And now?"))
    client = await desk.connect(capabilities("utf-16"))
    asked: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    client.silent_for = lambda message: _hear(client, message, asked)
    editor = ChatEditor(client, found, "utf-16")
    before = editor.text
    editor.open()
    question = await asyncio.wait_for(asked, WAIT_S)
    assert "belongs to no conversation of yours" in question["params"]["message"]
    assert await editor.lenses() == ["Begin a conversation here"], "a request waited for the user's answer"
    client.silent_for = None
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": answer})
    assert "secret" not in editor.text
    if answer is not None and answer["title"].startswith("Begin"):
        await editor.until("Tell me.", is_there=False)
        assert editor.text.endswith("And now?\n")
        listed = (await client.result("palimpsest/conversation/list", {}))["conversations"]
        assert len(listed) == 2
    else:
        assert "not an open chat document" in (await editor.command("send"))["error"]["message"]
        assert await editor.lenses() == ["Begin a conversation here"]
        assert editor.text == before


def _hear(client: RawClient, message: Message, asked: asyncio.Future[Message]) -> None:
    """Answers all but the question."""
    if message["method"] == "window/showMessageRequest":
        asked.set_result(message)
    else:
        client.silent_for, silent_for = None, client.silent_for
        client.reply(message)
        client.silent_for = silent_for


async def test_an_editor_that_cannot_ask_begins_a_chat_by_a_code_action(desk: Desk) -> None:
    (desk.root / "plans.chat.md").touch()
    known = {key: value for key, value in capabilities("utf-16").items() if key != "window"}
    client = await desk.connect(known)
    editor = ChatEditor(client, desk.root / "plans.chat.md", "utf-16")
    editor.open()
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    (action,) = await editor.ask("codeAction", range=place, context={"diagnostics": []})
    assert action["title"] == "Begin a conversation here"
    assert await editor.lenses() == ["Begin a conversation here"]
    await client.result("workspace/executeCommand", {k: action["command"][k] for k in ("command", "arguments")})
    await editor.until(MARKER)
    titles = [each["title"] for each in await editor.ask("codeAction", range=place, context={"diagnostics": []})]
    assert titles == ["Send"]


async def test_a_beginning_that_the_editor_refused_can_be_repeated(desk: Desk) -> None:
    (desk.root / "plans.chat.md").touch()
    known = {key: value for key, value in capabilities("utf-16").items() if key != "window"}
    client = await desk.connect(known)
    editor = ChatEditor(client, desk.root / "plans.chat.md", "utf-16")
    editor.open()
    editor.refuse_next = 1_000
    await begin(editor)
    async with asyncio.timeout(WAIT_S):
        while await editor.lenses() != ["Show the conversation as it is"]:  # noqa: ASYNC110  # it gives up by itself
            await asyncio.sleep(0)
    assert MARKER not in editor.text
    editor.refuse_next = 0
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    (action,) = await editor.ask("codeAction", range=place, context={"diagnostics": []})
    await client.result("workspace/executeCommand", {k: action["command"][k] for k in ("command", "arguments")})
    await editor.until(MARKER)
    await editor.settled()


async def test_an_editor_that_announces_no_questions_is_asked_all_the_same(desk: Desk) -> None:
    """`window.showMessage` says how choices are treated, not whether they can be shown."""
    (desk.root / "plans.chat.md").touch()
    client = await desk.connect({key: value for key, value in capabilities("utf-16").items() if key != "window"})
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Begin a conversation here"}
    editor = ChatEditor(client, desk.root / "plans.chat.md", "utf-16")
    editor.open()
    await editor.until(MARKER)
    assert len(client.received("window/showMessageRequest")) == 1


async def test_nobody_is_asked_about_a_text_of_their_own_but_a_chat_can_begin_with_it(desk: Desk) -> None:
    (desk.root / "notes.chat.md").write_text("Where does it grow?\n")
    client = await desk.connect(capabilities("utf-16"))
    editor = ChatEditor(client, desk.root / "notes.chat.md", "utf-16")
    editor.open()
    assert await editor.lenses() == ["Begin a conversation here"]
    assert await editor.problems() == []
    assert client.received("window/showMessageRequest") == []
    assert editor.n_edits == 0
    await begin(editor)
    await editor.until(f"{MARKER}\n\nWhere does it grow?")


PLACE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


async def begin(editor: ChatEditor) -> Message:
    """Does what the code action does."""
    (action,) = await editor.ask("codeAction", range=PLACE, context={"diagnostics": []})
    assert (action["title"], action["kind"]) == ("Begin a conversation here", "palimpsest.chat.open")
    command = {key: action["command"][key] for key in ("command", "arguments")}
    return await editor.client.request("workspace/executeCommand", command)


def lets_edit(editor: ChatEditor, *, answers: bool) -> None:
    """The editor makes edits although it has announced none, given as `changes`; without `answers` it never replies."""

    def apply(params: Any) -> Message:
        ((uri, edits),) = params["edit"]["changes"].items()
        versioned = {"textDocument": {"uri": uri, "version": editor.version}, "edits": edits}
        return editor.apply({"edit": {"documentChanges": [versioned]}})

    def silent_for(message: Message) -> None:
        assert message["method"] == APPLY
        apply(message["params"])

    editor.client.handlers[APPLY] = apply
    editor.client.silent_for = None if answers else silent_for


@pytest.mark.parametrize("answers", [True, False])
async def test_an_editor_that_announces_no_edits_and_makes_them_chats_all_the_same(
    desk: Desk, *, answers: bool
) -> None:
    desk.fake.script += [Reply(text="It grows here.")]
    (desk.root / "plans.chat.md").touch()
    client = await desk.connect({})
    editor = ChatEditor(client, desk.root / "plans.chat.md", "utf-16")
    lets_edit(editor, answers=answers)
    editor.open()
    assert await editor.lenses() == ["Begin a conversation here"]
    assert client.received("window/showMessageRequest") == []
    assert editor.n_edits == 0, "nobody has asked for an edit"
    assert "error" not in await begin(editor)
    await editor.until(MARKER)
    editor.type("Where?")
    await editor.command("send")
    await editor.until("## 1 · assistant\n\nIt grows here.")
    assert await editor.problems() in (["chat-empty"], ["chat-answering"])


async def test_without_edits_it_is_said_why_once_somebody_wanted_them(desk: Desk) -> None:
    (desk.root / "plans.chat.md").touch()
    client = await desk.connect({})
    editor = ChatEditor(client, desk.root / "plans.chat.md", "utf-16")
    del client.handlers[APPLY]
    editor.open()
    assert await editor.problems() == []
    assert "palimpsest/chat" in (await begin(editor))["error"]["message"]
    assert await editor.lenses() == []
    assert await editor.ask("codeAction", range=PLACE, context={"diagnostics": []}) == []
    assert await editor.problems() == ["chat-no-edits"]
    n_asked = len(client.received(APPLY))
    assert "palimpsest/chat" in (await editor.command("send"))["error"]["message"]
    assert len(client.received(APPLY)) == n_asked
