"""An editor attaches, mentions and commands through the real server: what it holds unsaved counts, offsets are UTF-16,
and what cannot be done is a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lsp.real_server import Editor, editor

ESTIMATE, COMPLETE, RUN = "palimpsest/attachments/estimate", "palimpsest/mentions/complete", "palimpsest/command/run"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "greenhouse é"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("# Greenhouse\n\nThe pump starts when the soil moisture falls below 18 percent.\n")
    (root / "src/pump.py").write_text("def start():\n    return 18\n")
    (root / ".env").write_text("KEY=zqxsecret7731\n")
    return root


def opened(ed: Editor, path: Path, text: str) -> None:
    document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
    ed.client.notify("textDocument/didOpen", {"textDocument": document})


async def test_attachments_are_estimated_as_the_editor_holds_them(tmp_path: Path, folder: Path) -> None:
    pump = folder / "src/pump.py"
    async with editor(tmp_path, folder) as ed:
        opened(ed, pump, "def start():\n    return 18\n" + "# unsaved\n" * 100)
        wanted = [
            {"type": "file", "path": pump.as_uri()},
            {"type": "file", "path": "README.md"},
            {"type": "range", "path": "src/pump.py", "startLine": 3, "endLine": 4},
            {"type": "selection", "path": pump.as_uri(), "startLine": 1, "endLine": 1, "text": "def start():"},
            {
                "type": "diagnostics",
                "diagnostics": [{"path": pump.as_uri(), "line": 2, "severity": "error", "message": "no"}],
            },
            {"type": "openEditors", "paths": [pump.as_uri(), "README.md", tmp_path.as_uri()], "contents": True},
            {"type": "file", "path": ".env"},
            {"type": "file", "path": "../elsewhere.txt"},
        ]
        found = await ed.client.result(ESTIMATE, {"attachments": wanted})
        each = found["attachments"]
        assert [one["label"] for one in each] == [
            "src/pump.py",
            "README.md",
            "src/pump.py:3-4",
            "src/pump.py:1-1",
            "problems in src/pump.py",
            "open editors",
            ".env",
            "../elsewhere.txt",
        ]
        assert [("problem" in one) for one in each] == [False] * 6 + [True] * 2
        assert [one["tokens"] > 0 for one in each] == [True] * 6 + [False] * 2
        assert each[0]["tokens"] > 200
        assert each[5]["tokens"] > each[0]["tokens"] + each[1]["tokens"]
        assert len(each[5]["leftOut"]) == 1
        assert found["tokens"] == sum(one["tokens"] for one in each)
        assert "zqxsecret" not in repr(found)
        conversation_id = (await ed.client.result("palimpsest/conversation/create", {}))["conversationId"]
        again = await ed.client.result(ESTIMATE, {"attachments": wanted, "conversationId": conversation_id})
        assert again == found
        for wrong in ({"type": "file"}, {"type": "selection"}, {"type": "range", "path": "README.md"}):
            refused = await ed.client.request(ESTIMATE, {"attachments": [wrong]})
            assert refused["error"]["code"] == -32602
            assert f"type {wrong['type']} needs" in refused["error"]["message"]


async def test_mentions_are_completed_at_utf16_offsets(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        text = "😀 see @pmp and"
        found = await ed.client.result(COMPLETE, {"text": text, "position": 11, "folderUri": folder.as_uri()})
        assert found["start"] == 7
        assert found["items"] == [
            {
                "kind": "file",
                "label": "pump.py",
                "insertText": "@src/pump.py",
                "detail": "src",
                "path": "src/pump.py",
            }
        ]
        commands = await ed.client.result(COMPLETE, {"text": "/conte", "position": 6})
        assert [(item["kind"], item["insertText"]) for item in commands["items"]] == [("command", "/context ")]
        for position in (-5, 0, 10_000):
            nothing = await ed.client.result(COMPLETE, {"text": text, "position": position})
            assert nothing["items"] == []


async def test_commands_are_answered_in_markdown_or_with_a_sentence(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        conversation_id = (await ed.chat("When does the pump start?"))["result"]["conversationId"]
        for text, answer in (
            ("/help", "| /usage |"),
            ("/usage", "2 messages"),
            ("/context", "| message | 0 |"),
            ("/pin Never use tabs", "| holds | pin | Never use tabs |"),
            ("/search pump", "**When does the pump start?**"),
        ):
            assert answer in (await ed.client.result(RUN, {"text": text, "conversationId": conversation_id}))["text"]
        new = await ed.client.result(RUN, {"text": "/new Pumps", "folderUri": folder.as_uri()})
        assert new["conversationId"] != conversation_id
        assert (await ed.read(new["conversationId"]))["conversation"]["title"] == "Pumps"
        for params, sentence in (
            ({"text": "/contxt"}, "Did you mean /context or /cost or /continue?"),
            ({"text": "no command"}, "This is not a command."),
            ({"text": "/usage"}, "There is no conversation yet."),
            ({"text": "/usage", "conversationId": "nobody"}, "There is no conversation 'nobody'"),
        ):
            refused = await ed.client.request(RUN, params)
            assert refused["error"]["code"] == -32602
            assert sentence in refused["error"]["message"]
        assert len((await ed.read(conversation_id))["messages"]) == 2


async def test_what_is_attached_is_part_of_the_message_as_it_was(tmp_path: Path, folder: Path) -> None:
    pump = folder / "src/pump.py"
    async with editor(tmp_path, folder) as ed:
        opened(ed, pump, "def start():\n    return 20\n")
        wanted = [
            {"type": "range", "path": pump.as_uri(), "startLine": 2, "endLine": 2},
            {"type": "file", "path": "README.md"},
        ]
        sent = ed.chat_params("What starts at 18 percent?", attachments=wanted)
        answer = await ed.client.result("palimpsest/chat", sent)
        (folder / "README.md").unlink()
        question = (await ed.read(answer["conversationId"]))["messages"][0]
        assert question["text"] == "What starts at 18 percent?"
        assert [(part["type"], part.get("name"), part["text"].splitlines()[0]) for part in question["parts"]] == [
            ("attachment", "src/pump.py:2-2", "    return 20"),
            ("attachment", "README.md", "# Greenhouse"),
            ("text", None, "What starts at 18 percent?"),
        ]
        repeated = await ed.client.result("palimpsest/chat", sent)
        assert repeated["turnId"] == answer["turnId"]


async def test_a_message_whose_attachment_is_refused_is_not_stored(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        for path, reason in ((".env", "never read"), ("gone.py", "There is no 'gone.py'")):
            refused = await ed.chat("Look", attachments=[{"type": "file", "path": path}])
            assert refused["error"]["code"] == -32602
            assert reason in refused["error"]["message"]
            assert refused["error"]["message"].endswith("Nothing was sent.")
        assert (await ed.client.result("palimpsest/conversation/list", {}))["conversations"] == []
