"""An editor asks what the model saw, through the real server, also after a restart; and the command line compares."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

import pytest
from tests.lsp.real_server import editor, home

from palimpsest.cli.main import main

AT = "palimpsest/context/at"
QUESTION = "When does the pump start?"


async def test_an_editor_is_shown_what_the_model_saw_and_the_command_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "greenhouse"
    folder.mkdir()
    async with editor(tmp_path, folder) as ed:
        first = (await ed.chat(QUESTION))["result"]
        conversation_id = first["conversationId"]
        await ed.chat("And when does it end?", conversationId=conversation_id)
    async with editor(tmp_path, folder) as ed:
        this = {"conversationId": conversation_id, "turnId": first["turnId"]}
        shown = await ed.client.result(AT, this)
        assert (shown["step"], shown["stepCount"], shown["isSame"]) == (0, 1, True)
        assert [(m["role"], m["parts"]) for m in shown["messages"]] == [("user", [{"type": "text", "text": QUESTION}])]
        lines = [json.loads(line) for line in shown["lines"]]
        assert lines[0] == {"system": shown["system"]}
        assert [tool["name"] for tool in lines[1]["tools"]] == [tool["name"] for tool in shown["tools"]]
        assert shown["digest"] == hashlib.sha256("".join(f"{line}\n" for line in shown["lines"]).encode()).hexdigest()
        assert sum(segment["tokens"] for segment in shown["segments"]) == shown["usedTokens"] <= shown["limitTokens"]
        unknown = await ed.client.request(AT, this | {"turnId": "nothing"})
        assert unknown["error"]["data"]["kind"] == "not_found"
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    arguments = ["replay", "--conversation", conversation_id, "--folder", str(folder)]
    assert await asyncio.to_thread(main, [*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["requests"], found["equal"], found["first_difference"]) == (2, 2, None)
    assert await asyncio.to_thread(main, arguments) == 0
    assert capsys.readouterr().out == "2 requests, 2 of them equal to what was sent, byte for byte.\n"
    assert await asyncio.to_thread(main, [*arguments, "--show", "1"]) == 0
    page = capsys.readouterr().out
    assert "byte for byte as it was sent" in page
    assert f"=== system · {shown['segments'][0]['tokens']:,} tokens" in page
    assert f"--- user\n{QUESTION}\n" in page
    assert "And when does it end?" not in page
    assert await asyncio.to_thread(main, [*arguments, "--show", "3", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["is_same"], again["lines"][:2]) == (True, shown["lines"][:2])
    assert await asyncio.to_thread(main, [*arguments, "--show", "4"]) == 1
    assert "No request is known for message 4" in capsys.readouterr().err
    assert await asyncio.to_thread(main, [*arguments, "a.jsonl"]) == 1
