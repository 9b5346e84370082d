"""An editor finds what was said, and what it purges after asking is gone from the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.lsp.real_server import Editor, editor

SEARCH, PURGE = "palimpsest/conversation/search", "palimpsest/conversation/purge"
SECRET = b"zqxsecret7731"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "greenhouse"
    root.mkdir()
    (root / "README.md").write_text("# Greenhouse\n\nThe pump starts when the soil moisture falls below 18 percent.\n")
    return root


def files_with(directory: Path, text: bytes) -> list[str]:
    return [path.name for path in directory.rglob("*") if path.is_file() and text in path.read_bytes().lower()]


async def asked(ed: Editor, text: str, **more: str) -> str:
    answer = await ed.chat(text, **more)
    conversation_id: str = answer["result"]["conversationId"]
    return conversation_id


async def test_messages_are_found_by_an_editor(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        first = await asked(ed, "Where is readMoistureSensor called?")
        second = await asked(ed, "When do the pumps start?")
        found = await ed.client.result(SEARCH, {"query": "moisture sensors", "conversationId": first, "limit": 1})
        (hit,) = found["hits"]
        assert (hit["conversationId"], hit["messageId"], hit["role"], hit["isHidden"]) == (first, 0, "user", False)
        assert "readMoistureSensor" in hit["snippet"]
        assert hit["title"] == "Where is readMoistureSensor called?"
        everywhere = await ed.client.result(SEARCH, {"query": "pump (", "folderUri": folder.as_uri()})
        assert {hit["conversationId"] for hit in everywhere["hits"]} >= {second}
        refused = await ed.client.request(SEARCH, {"query": "pump", "limit": 1000})
        assert refused["error"]["data"]["kind"] == "invalid_request"


async def test_a_purge_is_confirmed_and_then_complete(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        conversation_id = await asked(ed, "When does the pump start?")
        await asked(ed, f"The key is {SECRET.decode()}.", conversationId=conversation_id)
        assert files_with(tmp_path / "data", SECRET)
        params = {"conversationId": conversation_id, "range": {"start": 2, "end": 4}}
        refused = await ed.client.request(PURGE, params)
        assert refused["error"]["data"]["kind"] == "invalid_request"
        assert "messages 2 to 3" in refused["error"]["message"]
        assert SECRET.decode() not in refused["error"]["message"]
        plan = await ed.client.result(f"{PURGE}/plan", params)
        assert (plan["messages"], plan["messageCount"], plan["alsoPurged"]) == ({"start": 2, "end": 4}, 2, [])
        assert (plan["summaryCount"], plan["factCount"]) == (0, 0)
        assert files_with(tmp_path / "data", SECRET), "a plan deletes nothing"
        done = await ed.client.result(PURGE, params | {"confirm": True})
        assert (done["purged"], done["messageCount"], done["alsoPurged"]) == ({"start": 2, "end": 4}, 2, [])
        assert done["usage"]["messageCount"] == 2
        assert files_with(tmp_path, SECRET) == []
        page = await ed.read(conversation_id)
        assert [m.get("isPurged", False) for m in page["messages"]] == [False, False, True, True]
        assert [(m["role"], m["text"], m["parts"]) for m in page["messages"][2:]] == [
            ("user", "", []),
            ("assistant", "", []),
        ]
        assert (await ed.client.result(SEARCH, {"query": SECRET.decode(), "includeHidden": True}))["hits"] == []
        await asked(ed, "and now?", conversationId=conversation_id)
        whole = await ed.client.result(PURGE, {"conversationId": conversation_id, "confirm": True})
        assert whole["purged"] == {"start": 0, "end": 6}
    async with editor(tmp_path, folder) as ed:
        listed = await ed.client.result("palimpsest/conversation/list", {})
        assert [(c["conversationId"], c["title"]) for c in listed["conversations"]] == [(conversation_id, "")]
        await asked(ed, "A fresh start", conversationId=conversation_id)


async def test_a_purge_by_command_asks_the_user_first(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        conversation_id = await asked(ed, f"The key is {SECRET.decode()}.")
        questions: list[str] = []
        answers = iter(["Cancel", "Purge"])

        def answer(params: dict[str, Any]) -> dict[str, str]:
            questions.append(params["message"])
            return {"title": next(answers)}

        command = {"command": "palimpsest.conversation.purge", "arguments": [{"conversationId": conversation_id}]}
        refused = await ed.client.request("workspace/executeCommand", command)
        assert "cannot ask" in refused["error"]["message"]
        ed.client.handlers["window/showMessageRequest"] = answer
        assert await ed.client.result("workspace/executeCommand", command) is None
        assert files_with(tmp_path / "data", SECRET)
        done = await ed.client.result("workspace/executeCommand", command)
        assert done["messageCount"] == 2
        assert files_with(tmp_path, SECRET) == []
        assert len(questions) == 2
        wrong = {"command": "palimpsest.conversation.purge", "arguments": [{"conversation": 1}]}
        assert "error" in await ed.client.request("workspace/executeCommand", wrong)
