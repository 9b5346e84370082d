"""An editor draws the context of a conversation: each segment in a few words, the summaries in full, the cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.real_server import editor, on_fake


async def test_segments_and_summaries_say_what_they_hold_and_the_requests_are_counted(
    tmp_path: Path, fake: FakeProvider
) -> None:
    folder = tmp_path / "greenhouse"
    folder.mkdir()
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        created = await ed.client.result("palimpsest/conversation/create", {})
        this = {"conversationId": created["conversationId"]}
        await ed.client.result("palimpsest/rules/pin", this | {"text": "Answer in one sentence."})
        for number in range(6):
            fake.script.append(Reply(text=f"Answer {number}. " * 80))
            await ed.chat(f"Question {number}.\n" * 20, **this)
        done = await ed.client.result("palimpsest/summarize", this | {"range": {"start": 0, "end": 6}})
        plan = await ed.client.result("palimpsest/prepareContext", this)
        segments: list[dict[str, Any]] = plan["segments"]
        by_type = {segment["type"]: segment for segment in segments}
        tools = by_type["tools"]
        assert len(tools["excerpt"].split(", ")) == tools["itemCount"] > 1
        assert (by_type["pins"]["excerpt"], by_type["pins"]["itemCount"]) == ("Answer in one sentence.", 1)
        assert plan["usedTokens"] < plan["summarizeAtTokens"] <= plan["limitTokens"]
        summary = by_type["summary"]
        assert summary["originalTokens"] > summary["tokens"]
        assert "Question" in summary["excerpt"]
        said = [segment for segment in segments if segment["type"] == "message"]
        assert [segment["role"] for segment in said] == ["user", "assistant"] * 3
        assert said[0]["excerpt"].startswith("Question 3. Question 3.")
        assert all(len(segment["excerpt"]) <= 200 for segment in [*said, summary])
        (listed,) = (await ed.client.result("palimpsest/summary/list", this))["summaries"]
        assert (listed["summaryId"], listed["messages"]) == (done["summaryId"], {"start": 0, "end": 6})
        assert listed["originalTokens"] == summary["originalTokens"]
        assert "Question" in listed["text"]
        stats = await ed.client.result("palimpsest/stats", this)
        requests = [moment for moment in stats["moments"] if "cause" not in moment]
        assert all(0 <= moment["cachedTokens"] <= moment["tokens"] for moment in requests)
        assert [moment["model"] for moment in stats["moments"] if "cause" in moment] == ["gpt-4o"]
        assert stats["sent"]["requestCount"] == len(requests) == 6
        assert stats["sent"]["inputTokens"] == sum(moment["tokens"] for moment in requests)
        assert stats["sent"]["outputTokens"] > 0
        await ed.client.result("palimpsest/summary/expand", this | {"summaryId": done["summaryId"]})
        assert (await ed.client.result("palimpsest/summary/list", this))["summaries"] == []


async def test_the_usage_before_the_first_message_is_that_of_a_new_conversation(
    tmp_path: Path, fake: FakeProvider
) -> None:
    async with editor(tmp_path, tmp_path, **on_fake(fake.url)) as ed:
        before = await ed.client.result("palimpsest/usage", {})
        assert before["messageCount"] == 0
        assert 0 < before["usedTokens"] == sum(each["tokens"] for each in before["byKind"])
        assert (await ed.client.result("palimpsest/conversation/list", {}))["conversations"] == []
        created = await ed.client.result("palimpsest/conversation/create", {})
        assert await ed.client.result("palimpsest/usage", {"conversationId": created["conversationId"]}) == before
