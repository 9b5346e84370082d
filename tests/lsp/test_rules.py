"""An editor lists, pins and takes back standing rules, and asks what summaries brought, through the real server."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lsp.real_server import editor

LIST, PIN, WITHDRAW = (f"palimpsest/rules/{name}" for name in ("list", "pin", "withdraw"))
RULE, FROZEN = "Never use tabs in this project.", "The schema is frozen until the release."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "greenhouse"
    root.mkdir()
    (root / "README.md").write_text("# Greenhouse\n\nThe pump starts when the soil moisture falls below 18 percent.\n")
    return root


async def test_rules_are_listed_pinned_and_taken_back_and_a_restart_knows_them(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        conversation_id = (await ed.chat(f"{RULE} When does the pump start?"))["result"]["conversationId"]
        this = {"conversationId": conversation_id}
        listed = await ed.client.result(LIST, this)
        assert listed["rules"] == [{"id": "0.0", "text": RULE, "state": "open", "isPin": False, "messageId": 0}]
        assert 0 < listed["tokens"] < listed["capTokens"]
        pinned = await ed.client.result(PIN, this | {"text": FROZEN})
        (pin, rule) = pinned["rules"]
        assert (pin["id"].startswith("pin-"), pin["text"], pin["isPin"]) == (True, FROZEN, True)
        assert ("messageId" in pin, rule["text"]) == (False, RULE)
        assert pinned["tokens"] > listed["tokens"]
        refused = await ed.client.request(PIN, this | {"text": "Never touch the pump. " * 100_000})
        data = refused["error"]["data"]
        assert data["kind"] == "rules_too_large"
        assert data["projectedTokens"] > data["limitTokens"] == pinned["capTokens"]
        assert "pump" not in refused["error"]["message"]
        assert await ed.client.result(LIST, this) == pinned
        await ed.chat("Go on.", conversationId=conversation_id)
        plan = await ed.client.result("palimpsest/prepareContext", this)
        assert [segment["type"] for segment in plan["segments"]].count("injection") == 1
    async with editor(tmp_path, folder) as ed:
        assert await ed.client.result(LIST, this) == pinned
        other = await ed.client.result("palimpsest/conversation/create", {})
        there = await ed.client.result(LIST, {"conversationId": other["conversationId"]})
        assert [each["text"] for each in there["rules"]] == [FROZEN]
        await ed.client.result(WITHDRAW, this | {"ruleId": pin["id"]})
        left = await ed.client.result(WITHDRAW, this | {"ruleId": "0.0"})
        assert [(each["text"], each["state"]) for each in left["rules"]] == [(RULE, "withdrawn")]
        assert left["tokens"] == 0
        unknown = await ed.client.request(WITHDRAW, this | {"ruleId": "0.0"})
        assert unknown["error"]["data"]["kind"] == "not_found"
        nobody = await ed.client.request(LIST, {"conversationId": "nope"})
        assert nobody["error"]["data"]["kind"] == "not_found"


async def test_statistics_say_what_a_summary_on_request_saved(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        conversation_id = (await ed.chat("When does the pump start? " * 200))["result"]["conversationId"]
        this = {"conversationId": conversation_id}
        empty = await ed.client.result("palimpsest/stats", this)
        (request,) = empty.pop("moments")
        assert (sorted(request), request["tokens"] > 0) == (["timestamp", "tokens"], True)
        assert empty == {"strategies": [], "compactions": [], "durationMs": 0, "summaries": []}
        for _ in range(3):
            await ed.chat("And when does it stop? " * 40, conversationId=conversation_id)
        done = await ed.client.result("palimpsest/summarize", this)
        assert done["tokensAfter"] < done["tokensBefore"]
        found = await ed.client.result("palimpsest/stats", this)
        (strategy,) = found["strategies"]
        saved = done["tokensBefore"] - done["tokensAfter"]
        assert strategy == {"strategy": "manual", "timesFired": 1, "tokensSaved": saved}
        assert [(each["cause"], each["count"]) for each in found["compactions"]] == [("user", 1)]
        (cost,) = found["summaries"]
        assert (cost["kind"], cost["inputTokens"], cost["outputTokens"]) == ("extractive", 0, 0)
