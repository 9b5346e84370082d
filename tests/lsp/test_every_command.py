"""Every slash command does the same by a request, by `workspace/executeCommand` and in a chat document; whatever a user
can do has a command there."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.chat_editor import ChatEditor, capabilities
from tests.lsp.in_process import connected_here
from tests.lsp.rawlsp import Message, RawClient
from tests.lsp.real_server import home, on_fake
from tests.slash import ANSWERED, ASKED, ELSEWHERE, EXAMPLES, typed
from tests.waiting import WAIT_S

from palimpsest.domain.command_names import CommandName
from palimpsest.lsp.features import HANDLERS

EXECUTE = "workspace/executeCommand"


def test_every_command_has_an_example() -> None:
    assert set(EXAMPLES) == set(CommandName)


async def begin(client: RawClient, folder: Path, fake: FakeProvider, known: Message | None = None) -> str:
    fake.script += [Reply(text=ANSWERED), Reply(text="Still blue.")]
    client.handlers["window/showDocument"] = lambda _: {"success": True}
    await client.initialize(known, workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name}])
    answer = await client.result("palimpsest/chat", {"requestId": uuid.uuid4().hex, "text": ASKED})
    return str(answer["conversationId"])


def check(name: CommandName, answer: Message) -> None:
    """The answer, or the refusal, says what it says everywhere."""
    said = answer["result"]["text"] if "result" in answer else answer["error"]["message"]
    assert EXAMPLES[name][1] in said, (name, answer)
    assert answer.get("error", {}).get("code") in (None, -32602)


async def test_by_a_request_and_as_a_command_of_the_standard(tmp_path: Path, fake: FakeProvider) -> None:
    for way in ("request", "command"):
        folder = tmp_path / way
        folder.mkdir()
        async with connected_here(**home(tmp_path / f"home of {way}", **on_fake(fake.url))) as client:
            conversation_id = await begin(client, folder, fake)
            for name in EXAMPLES:
                params: dict[str, Any] = {"text": typed(name), "conversationId": conversation_id}
                if way == "request":
                    check(name, await client.request("palimpsest/command/run", params))
                elif name is not CommandName.PURGE:  # `palimpsest.conversation.purge` asks first
                    given = {"argument": EXAMPLES[name][0], "conversationId": conversation_id}
                    check(
                        name,
                        await client.request(EXECUTE, {"command": f"palimpsest.command.{name}", "arguments": [given]}),
                    )
                if name is CommandName.RETRY:
                    turn_id = await newest_turn(client, conversation_id)
                    await client.request("palimpsest/turn/attach", {"turnId": turn_id})


async def newest_turn(client: RawClient, conversation_id: str) -> str:
    read = await client.result("palimpsest/conversation/read", {"conversationId": conversation_id})
    running = read["conversation"].get("runningTurnId")
    return str(running or read["messages"][-1]["turnId"])


async def test_in_a_chat_document(tmp_path: Path, fake: FakeProvider) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    async with connected_here(**home(tmp_path, **on_fake(fake.url))) as client:
        conversation_id = await begin(client, folder, fake, capabilities("utf-16"))
        params = {"command": "palimpsest.chat.open", "arguments": [{"conversationId": conversation_id}]}
        opened = await client.result(EXECUTE, params)
        chat = ChatEditor(client, Path(opened["path"]), "utf-16")
        chat.open()
        await chat.until(ANSWERED)
        for name in EXAMPLES:
            if name in ELSEWHERE:
                continue
            chat.type(typed(name))
            answer = await chat.command("send")
            check(name, answer)
            if "error" in answer:
                chat.replace(len(chat.text) - len(typed(name)), len(chat.text), "")  # a refused command stays typed
            else:
                await chat.until(f"· {typed(name)}\n")
                await chat.settled()
            assert chat.text.rstrip().endswith("-->"), name
        for name in (CommandName.RETRY, CommandName.ROLLBACK, CommandName.FORK, CommandName.NEW):
            answer = await chat.command_named(f"palimpsest.command.{name}", argument=EXAMPLES[name][0])
            async with asyncio.timeout(WAIT_S):
                while "still being written" in repr(answer.get("error")):  # the document moves to another conversation
                    await chat.settled()
                    answer = await chat.command_named(f"palimpsest.command.{name}", argument=EXAMPLES[name][0])
            check(name, answer)
            if name is CommandName.RETRY:
                await chat.until("Still blue.")
            await chat.settled()


def test_what_is_no_slash_command_is_a_command_too() -> None:
    """What users do by requests of ours, and how editors without them do it. The rest of our requests only serves
    panels: it shows, follows or estimates."""
    by_slash = {name.value for name in CommandName}
    commands = {name for name in HANDLERS if "/" not in name}
    assert {f"palimpsest.command.{name}" for name in by_slash} - commands == {"palimpsest.command.purge"}
    assert {
        "palimpsest.adoption.list",
        "palimpsest.adoption.resolve",
        "palimpsest.approval.list",
        "palimpsest.approval.revoke",
        "palimpsest.chat.open",
        "palimpsest.chat.send",
        "palimpsest.chat.stop",
        "palimpsest.code.ask",
        "palimpsest.code.explain",
        "palimpsest.code.fix",
        "palimpsest.code.tests",
        "palimpsest.command.run",
        "palimpsest.conversation.archive",
        "palimpsest.conversation.import",
        "palimpsest.conversation.list",
        "palimpsest.conversation.purge",
        "palimpsest.credentials.list",
        "palimpsest.credentials.set",
        "palimpsest.facts.show",
    } <= commands
