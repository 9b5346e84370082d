"""A local model with a small window behind a name of the user's own: its first refusal sets window, reserve and margin,
and from then on every message is answered, with few compactions."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.lsp.test_own_services import opened
from tests.slow import slow

from palimpsest_clients.fake.server import DIALECTS, FakeModels

CHAT = [each for each in DIALECTS if each.name == "chat"]


@pytest.mark.parametrize(
    ("window", "n_turns"), [(4_096, 20), (8_192, 20), slow(4_096, 100), slow(8_192, 100), slow(16_384, 100)]
)
async def test_every_message_is_answered_and_compactions_are_few(tmp_path: Path, window: int, n_turns: int) -> None:
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels(CHAT, limit_tokens=window))
        config = f'model = "box/any"\n[providers.box]\nbase_url = "{fake.url}/v1"\n[librarian]\nenabled = false\n'
        ed = await opened(services, tmp_path, config, BOX_API_KEY="key-of-box")
        conversation_id = (await ed.client.result("palimpsest/conversation/create", {}))["conversationId"]
        refused = []
        for number in range(n_turns):
            text = f"Step {number}: the kiln of room {number % 7} runs at {900 + number} degrees; note it in kiln.md."
            answer = await ed.chat(f"{text} Then say which rooms are still cold.", conversationId=conversation_id)
            if "error" in answer:
                refused.append(answer["error"]["message"])
        stats = await ed.client.result("palimpsest/stats", {"conversationId": conversation_id})
    assert refused == []
    n_compactions = sum(each["count"] for each in stats["compactions"])
    assert n_compactions <= n_turns / 10 + 1, "one more for the first refusal"
    assert sum(tokens > window for tokens in fake.counts) <= 1, "a refusal teaches the limit"
