"""Two servers on one folder, each with an editor: either sees, follows and stops what the other does; each request
runs once."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import FakeProvider, Reply
from tests.lsp.real_server import STALL, STALLED_TEXT, Editor, editor, two_editors


@pytest.fixture
async def editors(tmp_path: Path, fake: FakeProvider) -> AsyncIterator[list[Editor]]:
    async with two_editors(tmp_path, fake, editor) as both:
        yield both


async def new_conversation(one: Editor) -> str:
    made = await one.client.result("palimpsest/conversation/create", {"title": "shared"})
    return str(made["conversationId"])


async def until_changed(one: Editor, method: str, conversation_id: str) -> None:
    while (await one.client.notification(method))["conversationId"] != conversation_id:
        pass


async def running_turn(one: Editor, conversation_id: str) -> str:
    found = (await one.client.result("palimpsest/conversation/list", {}))["conversations"]
    (turn_id,) = [each["runningTurnId"] for each in found if each["conversationId"] == conversation_id]
    return str(turn_id)


def attach_params(turn_id: str, token: str, **more: Any) -> dict[str, Any]:
    return {"turnId": turn_id, "partialResultToken": token} | more


async def test_a_message_is_seen_its_answer_followed_and_cancelled_on_the_other_server(
    editors: list[Editor], fake: FakeProvider
) -> None:
    one, two = editors
    conversation_id = await new_conversation(one)
    fake.script.append(STALL)
    params = Editor.chat_params("question", conversationId=conversation_id, partialResultToken="p1")
    request = one.client.start_request("palimpsest/chat", params)
    await until_changed(two, "palimpsest/didChangeConversation", conversation_id)
    await until_changed(two, "palimpsest/didChangeUsage", conversation_id)
    await one.until_shown("p1", STALLED_TEXT)
    page = await two.read(conversation_id)
    assert [message["text"] for message in page["messages"]] == ["question"]
    running = page["running"]
    assert running["text"] == STALLED_TEXT
    attached = two.client.start_request("palimpsest/turn/attach", attach_params(running["turnId"], "q1"))
    await two.until_shown("q1", STALLED_TEXT)
    assert two.shown("q1")[0] == one.shown("p1")[0]
    from_there = attach_params(running["turnId"], "q2", afterSeq=running["seq"])
    later = two.client.start_request("palimpsest/turn/attach", from_there)

    cancelled = await two.client.result("palimpsest/turn/cancel", {"turnId": running["turnId"]})
    assert cancelled == {"status": "cancelled"}
    answers = [(await each.answer())["result"] for each in (request, attached, later)]
    assert {answer["status"] for answer in answers} == {"cancelled"}
    assert two.shown_text("q1") == STALLED_TEXT
    assert two.shown_text("q2") == "", "what was seen already was shown again"
    page = await two.read(conversation_id)
    assert [(m["text"], m["state"]) for m in page["messages"]] == [
        ("question", "complete"),
        (STALLED_TEXT, "cancelled"),
    ]


async def test_of_two_that_write_one_conversation_at_once_one_is_told_what_keeps_it(
    editors: list[Editor], fake: FakeProvider
) -> None:
    conversation_id = await new_conversation(editors[0])
    fake.script += [STALL]
    waiting = [
        asyncio.create_task(each.chat("mine", conversationId=conversation_id, partialResultToken="p2"))
        for each in editors
    ]
    done, pending = await asyncio.wait(waiting, timeout=30, return_when=asyncio.FIRST_COMPLETED)
    (error,) = [each.result()["error"] for each in done]
    assert error["data"]["kind"] == "conversation_busy"
    assert "a turn is still running" in error["message"]
    winner = editors[0] if waiting[0] in pending else editors[1]
    await winner.until_shown("p2", STALLED_TEXT)
    turn_id = await running_turn(editors[0], conversation_id)
    for each in editors:
        await each.client.result("palimpsest/turn/cancel", {"turnId": turn_id})
    (other,) = pending
    assert (await other)["result"]["status"] == "cancelled"
    page = await editors[1].read(conversation_id)
    assert [message["text"] for message in page["messages"] if message["role"] == "user"] == ["mine"]


async def test_one_request_to_both_runs_once_while_requests_of_their_own_both_go_on(
    editors: list[Editor], fake: FakeProvider
) -> None:
    n_before = len(fake.requests)
    ids = [await new_conversation(each) for each in editors]
    own = await asyncio.gather(
        *(each.chat("question", conversationId=mine) for each, mine in zip(editors, ids, strict=True))
    )
    assert [answer["result"]["status"] for answer in own] == ["committed", "committed"]
    assert [answer["result"]["conversationId"] for answer in own] == ids
    assert len(fake.requests) == n_before + 2
    params = Editor.chat_params("again", conversationId=ids[0])
    requests = [each.client.start_request("palimpsest/chat", params) for each in editors]
    one, two = [(await each.answer())["result"] for each in requests]
    assert one["turnId"] == two["turnId"]
    assert one["text"] == two["text"] == Reply().text
    assert one["messageIds"] == two["messageIds"] == [2, 3]
    assert len(fake.requests) == n_before + 3


async def test_a_repeat_of_a_request_that_runs_elsewhere_follows_it_and_cancels_it(
    editors: list[Editor], fake: FakeProvider
) -> None:
    one, two = editors
    request_id = uuid.uuid4().hex
    fake.script.append(STALL)
    params = Editor.chat_params("question", requestId=request_id)
    first = one.client.start_request("palimpsest/chat", params | {"partialResultToken": "p4"})
    await one.until_shown("p4", STALLED_TEXT)
    repeated = two.client.start_request("palimpsest/chat", params | {"partialResultToken": "q4"})
    await two.until_shown("q4", STALLED_TEXT)
    two.client.notify("$/cancelRequest", {"id": repeated.id})
    assert (await repeated.answer())["error"]["code"] == -32800
    assert (await first.answer())["result"]["status"] == "cancelled"
