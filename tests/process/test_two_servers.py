"""Two server processes on one folder: when one dies, whoever follows it on the other is told."""

from __future__ import annotations

from pathlib import Path

from tests.clients.fake_provider import FakeProvider
from tests.lsp.real_server import STALL, STALLED_TEXT, Editor, editor_of_process, two_editors


async def test_who_follows_a_server_that_is_killed_is_told_of_the_interruption_with_the_text(
    tmp_path: Path, fake: FakeProvider
) -> None:
    async with two_editors(tmp_path, fake, editor_of_process) as (one, two):
        fake.script.append(STALL)
        one.client.start_request("palimpsest/chat", Editor.chat_params("question", partialResultToken="p"))
        await one.until_shown("p", STALLED_TEXT)
        turn_id = one.shown("p")[0]["turnId"]
        attached = two.client.start_request("palimpsest/turn/attach", {"turnId": turn_id, "partialResultToken": "q"})
        await two.until_shown("q", STALLED_TEXT)
        assert one.client.process is not None
        one.client.process.kill()
        result = (await attached.answer())["result"]
        assert result["status"] == "interrupted"
        assert two.shown_text("q") == STALLED_TEXT
        page = await two.read(result["conversationId"])
        assert [(m["text"], m["state"]) for m in page["messages"]] == [
            ("question", "complete"),
            (STALLED_TEXT, "interrupted"),
        ]
