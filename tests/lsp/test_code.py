"""A chat about code begins with a code action, in any editor: its draft mentions the lines that are meant, and nothing
is sent. It shows in the editor's own panel, or in a chat document."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.chat_editor import ChatEditor, capabilities
from tests.lsp.in_process import connected_here
from tests.lsp.rawlsp import Message, RawClient
from tests.lsp.real_server import home, on_fake

EXECUTE, ACTIONS = "workspace/executeCommand", "textDocument/codeAction"
CODE = "import os\n\n\ndef start():\n    pump = 18\n    return pump\n\n\nLIMIT = 7\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "greenhouse é"
    (root / "src").mkdir(parents=True)
    (root / "src/pump.py").write_text(CODE)
    (root / ".env").write_text("KEY=zqxsecret7731\n")
    (root / "notes.chat.md").write_text("")
    return root


@contextlib.asynccontextmanager
async def editor_on(tmp_path: Path, folder: Path, known: Message, **more: str) -> AsyncIterator[RawClient]:
    async with connected_here(**home(tmp_path, **more)) as client:
        client.handlers["window/showDocument"] = lambda _: {"success": True}
        await client.initialize(known, workspaceFolders=[{"uri": folder.as_uri(), "name": "folder"}])
        for path in ("src/pump.py", ".env", "notes.chat.md"):
            text = (folder / path).read_text()
            document = {"uri": (folder / path).as_uri(), "languageId": "x", "version": 1, "text": text}
            client.notify("textDocument/didOpen", {"textDocument": document})
        yield client


def place(first: int, start: int, last: int, end: int) -> Message:
    return {"start": {"line": first, "character": start}, "end": {"line": last, "character": end}}


async def actions(client: RawClient, path: Path, where: Message, **context: Any) -> dict[str, Message]:
    params = {"textDocument": {"uri": path.as_uri()}, "range": where, "context": {"diagnostics": []} | context}
    return {each["title"]: each for each in await client.result(ACTIONS, params)}


async def carry_out(client: RawClient, action: Message) -> Any:
    command = action["command"]
    params = {"command": command["command"], "arguments": command["arguments"]}
    return await client.result(EXECUTE, params)


PANEL = {"experimental": {"palimpsest": {"drafts": True}}}
PROBLEM = {
    "range": place(4, 4, 4, 8),
    "message": "`pump` is not *used*.\nRemove it.",
    "severity": 2,
    "source": "ruff",
    "code": "F841",
}


async def test_a_selection_is_explained_asked_about_and_tested(tmp_path: Path, folder: Path) -> None:
    async with editor_on(tmp_path, folder, PANEL) as client:
        found = await actions(client, folder / "src/pump.py", place(3, 0, 6, 0))
        assert {title: each["kind"] for title, each in found.items()} == {
            "Explain": "palimpsest.code.explain",
            "Ask about selection": "palimpsest.code.ask",
            "Write tests": "palimpsest.code.tests",
        }
        drafts = {title: (await carry_out(client, each))["draft"] for title, each in found.items()}
        assert drafts == {
            "Explain": "Explain @src/pump.py:4-6.",
            "Ask about selection": "About @src/pump.py:4-6: ",
            "Write tests": "Write tests for @src/pump.py:4-6.",
        }


async def test_without_a_selection_it_is_what_the_cursor_is_in(tmp_path: Path, folder: Path) -> None:
    async with editor_on(tmp_path, folder, PANEL) as client:
        found = await actions(client, folder / "src/pump.py", place(4, 2, 4, 2))
        assert list(found) == ["Explain", "Write tests"]
        assert (await carry_out(client, found["Explain"]))["draft"] == "Explain @src/pump.py:4-6."
        found = await actions(client, folder / "src/pump.py", place(1, 0, 1, 0))
        assert (await carry_out(client, found["Explain"]))["draft"] == "Explain @src/pump.py:1-9."


async def test_a_problem_is_a_quick_fix_that_nothing_prefers(tmp_path: Path, folder: Path) -> None:
    async with editor_on(tmp_path, folder, PANEL) as client:
        ours = PROBLEM | {"source": "palimpsest"}
        forgotten = {key: value for key, value in PROBLEM.items() if key != "source"} | {"code": "stale-fact"}
        path = folder / "src/pump.py"
        found = await actions(
            client, path, place(4, 4, 4, 4), diagnostics=[PROBLEM, ours, forgotten], only=["quickfix"]
        )
        (fix,) = found.values()
        assert (fix["title"], fix["kind"], fix["isPreferred"]) == ("Fix this problem", "quickfix", False)
        assert fix["diagnostics"][0]["code"] == "F841"
        assert (await carry_out(client, fix))["draft"] == (
            "Fix this problem in @src/pump.py:4-6.\n\n> `pump` is not *used*.\n> Remove it. [ruff F841]"
        )
        both = await actions(client, path, place(4, 4, 4, 4), diagnostics=[PROBLEM, PROBLEM | {"message": "B" * 90}])
        assert [title for title in both if title.startswith("Fix")] == [
            "Fix this problem: `pump` is not *used*. Remove it.",
            f"Fix this problem: {'B' * 49}…",
        ]


async def test_an_editor_that_asks_by_itself_gets_only_what_there_is_to_do(tmp_path: Path, folder: Path) -> None:
    async with editor_on(tmp_path, folder, PANEL) as client:
        path = folder / "src/pump.py"
        assert await actions(client, path, place(4, 2, 4, 2), triggerKind=2) == {}
        assert list(await actions(client, path, place(4, 2, 4, 2), triggerKind=2, diagnostics=[PROBLEM])) == [
            "Fix this problem"
        ]
        assert "Explain" in await actions(client, path, place(4, 2, 5, 2), triggerKind=2)


async def test_nothing_is_offered_where_nothing_may_be_read(tmp_path: Path, folder: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("x = 1\n")
    async with editor_on(tmp_path, folder, PANEL) as client:
        for path in (folder / ".env", folder / "notes.chat.md", outside, folder / ".git/config"):
            found = await actions(client, path, place(0, 0, 0, 3), diagnostics=[PROBLEM])
            assert [each for each in found.values() if "code." in each["command"]["command"]] == []
            arguments = [{"uri": path.as_uri(), "range": {"start": 0, "end": 0}}]
            refused = await client.request(EXECUTE, {"command": "palimpsest.code.explain", "arguments": arguments})
            assert refused["error"]["code"] == -32602
        wrongs: list[list[Any]] = [[], [{}], [{"uri": 3}], [{"uri": (folder / "src/pump.py").as_uri(), "range": 3}]]
        for wrong in wrongs:
            refused = await client.request(EXECUTE, {"command": "palimpsest.code.explain", "arguments": wrong})
            assert "takes one argument" in refused["error"]["message"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
async def test_without_a_panel_the_draft_goes_to_a_chat_document(
    tmp_path: Path, folder: Path, fake: FakeProvider, encoding: Any
) -> None:
    pump = folder / "src/pump.py"
    fake.script.append(Reply(text="It starts."))
    async with editor_on(tmp_path, folder, capabilities(encoding), **on_fake(fake.url)) as client:
        found = await actions(client, pump, place(3, 0, 6, 0))
        opened = await carry_out(client, found["Explain"])
        shown = client.received("window/showDocument")
        assert shown[-1]["uri"] == opened["uri"]
        chat = ChatEditor(client, Path(opened["path"]), encoding)
        chat.open()
        await chat.until("Explain @src/pump.py:4-6.")
        # The same document takes the next one, behind what stands in its input.
        chat.tell()
        again = await carry_out(client, found["Write tests"])
        assert again["uri"] == opened["uri"]
        await chat.until("Explain @src/pump.py:4-6.\n\nWrite tests for @src/pump.py:4-6.")
        chat.tell()
        assert "error" not in await chat.command("send")
        await chat.until("It starts.")
        await chat.settled()
        (request, *_) = fake.requests
        assert "def start():" in repr(request.body)
        assert "LIMIT" not in repr(request.body)
        await carry_out(client, found["Ask about selection"])
        await chat.until("About @src/pump.py:4-6:")
        assert "Explain" not in chat.text.rpartition("palimpsest-input")[2]


async def test_an_editor_that_cannot_edit_gets_a_conversation_with_the_draft(tmp_path: Path, folder: Path) -> None:
    async with editor_on(tmp_path, folder, {}) as client:
        client.handlers["workspace/applyEdit"] = lambda _: {"applied": False}
        found = await actions(client, folder / "src/pump.py", place(3, 0, 6, 0))
        made = await carry_out(client, found["Explain"])
        read = await client.result("palimpsest/conversation/read", {"conversationId": made["conversationId"]})
        assert read["conversation"]["messageCount"] == 0
        listed = await client.result("palimpsest/conversation/list", {})
        assert [each["draft"] for each in listed["conversations"]] == ["Explain @src/pump.py:4-6."]
