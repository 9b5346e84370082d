"""What models cost adds up to what their service charged, to the token."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.lsp.real_server import Editor
from tests.lsp.test_own_services import opened
from tests.waiting import WAIT_S

from palimpsest_clients.fake.server import Failure, FakeModels

COSTS = "palimpsest/costs"


def config(url: str, *more: str) -> str:
    return "\n".join(
        (
            'model = "box/any"',
            '[providers.box]\nkind = "anthropic"',
            f'base_url = "{url}"',
            "window = 12000\nmax_output = 1000",
            '[models."box/any"]\ninput_price = 2\noutput_price = 10\ncache_read_price = 1',
            *more,
        )
    )


async def said(ed: Editor, conversation_id: str, text: str) -> dict[str, Any]:
    answer: dict[str, Any] = await ed.chat(text, conversationId=conversation_id)
    return answer


async def costs(ed: Editor, **of: Any) -> dict[str, Any]:
    found: dict[str, Any] = await ed.client.result(COSTS, of)
    return found


def tokens(found: dict[str, Any]) -> tuple[int, ...]:
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    return tuple(sum(line[name] for line in found["lines"]) for name in names)


def charged(fake: FakeModels) -> tuple[int, ...]:
    each = [(one.n_input, one.n_cache_read, one.n_cache_written, one.n_output) for one in fake.charged]
    return tuple(map(sum, zip(*each, strict=True)))


async def begun(ed: Editor) -> str:
    conversation_id: str = (await ed.client.result("palimpsest/conversation/create", {}))["conversationId"]
    return conversation_id


async def test_answers_summaries_facts_and_refusals_add_up_to_what_the_service_charged(tmp_path: Path) -> None:
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        ed = await opened(
            services, tmp_path, config(fake.url, '[summarization]\nkind = "llm"'), BOX_API_KEY="key-of-box"
        )
        conversation_id = await begun(ed)
        for number in range(12):
            if number in (3, 7):
                fake.replies.append(Failure(529, {"x-should-retry": "true", "retry-after": "0"}))
            answer = await said(ed, conversation_id, f"Note {number}: " + f"the kiln is at {number} degrees. " * 90)
            assert answer["result"]["status"] == "committed", answer

        async with asyncio.timeout(WAIT_S):  # facts are asked for behind the turns
            while tokens((found := await costs(ed, conversationId=conversation_id))["conversation"]) != charged(fake):
                pass
        (sent, read, written, received), n_charged = charged(fake), len(fake.charged)
    whole = found["conversation"]
    assert {line["purpose"] for line in whole["lines"]} >= {"answer", "summaries"}
    assert sum(line["calls"] for line in whole["lines"]) == n_charged
    assert whole["dollars"] == pytest.approx((2 * sent + read + 2 * written + 10 * received) / 1_000_000)
    assert whole["isPriced"]
    for span in ("today", "month"):
        assert tokens(found[span]) == (sent, read, written, received)
    assert found["everywhereDollars"] == pytest.approx(whole["dollars"])


@pytest.mark.parametrize("then", ["drop", "error"])
async def test_an_answer_that_broke_off_is_estimated_and_said_to_be(tmp_path: Path, then: Any) -> None:
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        quiet = "[librarian]\nenabled = false"
        ed = await opened(services, tmp_path, config(fake.url, quiet), BOX_API_KEY="key-of-box")
        conversation_id = await begun(ed)
        fake.replies.append(Failure(headers={"x-should-retry": "false"}, then=then, after=4))
        refused = await said(ed, conversation_id, "hello")
        assert "error" in refused
        (line,) = (await costs(ed, conversationId=conversation_id))["conversation"]["lines"]
        assert (line["calls"], line["estimatedCalls"]) == (1, 1)
        assert line["inputTokens"] > 0
        assert line["dollars"] > 0
        shown = await ed.client.result("palimpsest/command/run", {"text": "/cost", "conversationId": conversation_id})
    assert "1 call broke off" in shown["text"]


async def test_a_spent_budget_asks_before_the_days_next_answer(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        quiet = ["[librarian]\nenabled = false", "[budget]\nmonthly = 0.0001"]
        ed = await opened(services, tmp_path, config(fake.url, *quiet), BOX_API_KEY="key-of-box")
        answers = ["deny", "once"]

        def answer(params: dict[str, Any]) -> dict[str, Any]:
            asked.append(params)
            return {"answer": answers.pop(0)}

        ed.client.handlers["palimpsest/approval/request"] = answer
        conversation_id = await begun(ed)
        assert (await said(ed, conversation_id, "the first answer is paid"))["result"]["status"] == "committed"
        n_asked = len(fake.asked)
        refused = await said(ed, conversation_id, "the second one is not")
        assert "budget" in refused["error"]["message"]
        assert refused["error"]["data"]["kind"] == "budget_spent"
        assert len(fake.asked) == n_asked
        for text in ("yes, go on", "and on"):
            assert (await said(ed, conversation_id, text))["result"]["status"] == "committed"
    assert len(asked) == 2, "a yes holds for the day"
    assert "$0.00" in asked[0]["shown"] or "$0.0" in asked[0]["shown"]


async def test_a_never_about_a_spent_budget_holds_for_the_day(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        quiet = ["[librarian]\nenabled = false", "[budget]\nmonthly = 0.0001"]
        ed = await opened(services, tmp_path, config(fake.url, *quiet), BOX_API_KEY="key-of-box")

        def answer(params: dict[str, Any]) -> dict[str, Any]:
            asked.append(params)
            return {"answer": "never"}

        ed.client.handlers["palimpsest/approval/request"] = answer
        conversation_id = await begun(ed)
        await said(ed, conversation_id, "the first answer is paid")
        n_asked = len(fake.asked)
        for text in ("one", "two"):
            refused = await said(ed, conversation_id, text)
            assert "budget" in refused["error"]["message"]
        assert (len(asked), len(fake.asked)) == (1, n_asked)


async def test_the_other_folders_of_the_user_count_for_the_month(tmp_path: Path) -> None:
    quiet = "[librarian]\nenabled = false"
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        ed = await opened(services, tmp_path, config(fake.url, quiet), BOX_API_KEY="key-of-box")
        await said(ed, await begun(ed), "hello")
        first = (await costs(ed))["month"]["dollars"]
        (tmp_path / "other").mkdir()
        (tmp_path / "project").rename(tmp_path / "gone")
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        ed = await opened(services, tmp_path, config(fake.url, quiet), BOX_API_KEY="key-of-box")
        folder = (tmp_path / "other").as_uri()
        ed.client.notify(
            "workspace/didChangeWorkspaceFolders",
            {"event": {"added": [{"uri": folder, "name": "other"}], "removed": []}},
        )
        created = await ed.client.result("palimpsest/conversation/create", {"folder": folder})
        await said(ed, created["conversationId"], "hello")
        found = await asyncio.wait_for(costs(ed, folder=folder), WAIT_S)
    assert first > 0
    assert found["month"]["dollars"] > 0
    assert found["everywhereDollars"] == pytest.approx(first + found["month"]["dollars"])
