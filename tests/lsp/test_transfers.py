"""Export and import through the real server: what one editor wrote, another reads."""

from __future__ import annotations

import stat
from pathlib import Path

from tests.lsp.real_server import editor

EXPORT, IMPORT = "palimpsest/conversation/export", "palimpsest/conversation/import"


def folder_in(directory: Path) -> Path:
    root = directory / "greenhouse é"
    root.mkdir(parents=True)
    (root / "README.md").write_text("# Greenhouse\n\nThe pump starts when the soil moisture falls below 18 percent.\n")
    return root


async def test_an_editor_exports_a_conversation_and_another_imports_it(tmp_path: Path) -> None:
    here, there = folder_in(tmp_path / "a"), folder_in(tmp_path / "b")
    file = tmp_path / "talk é.jsonl"
    async with editor(tmp_path / "a", here) as ed:
        conversation_id = (await ed.chat("When does the pump start?"))["result"]["conversationId"]
        said = (await ed.read(conversation_id))["messages"]
        exported = await ed.client.result(EXPORT, {"conversationId": conversation_id, "path": file.as_uri()})
        assert exported == {"messageCount": 2, "sizeBytes": file.stat().st_size, "path": str(file)}
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        again = await ed.client.request(EXPORT, {"conversationId": conversation_id, "path": str(file)})
        assert again["error"]["code"] == -32602
        assert "exists already" in again["error"]["message"]
        inline = await ed.client.result(EXPORT, {"conversationId": conversation_id})
        assert inline["jsonl"] == file.read_text()
    async with editor(tmp_path / "b", there) as ed:
        imported = await ed.client.result(IMPORT, {"path": str(file)})
        assert imported["outcome"] == "imported"
        assert imported["conversation"]["conversationId"] == conversation_id
        assert imported["conversation"]["folder"] == there.as_uri()
        assert (await ed.read(conversation_id))["messages"] == said
        present = await ed.client.result(IMPORT, {"jsonl": inline["jsonl"], "folderUri": there.as_uri()})
        assert present["outcome"] == "present"
        for params in ({}, {"path": str(file), "jsonl": "x"}, {"path": "talk.jsonl"}, {"jsonl": "x"}):
            refused = await ed.client.request(IMPORT, params)
            assert refused["error"]["code"] == -32602
            assert refused["error"]["data"]["kind"] == "invalid_request"
        assert len((await ed.client.result("palimpsest/conversation/list", {}))["conversations"]) == 1
