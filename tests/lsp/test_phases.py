"""What is answered before, in and after the life of a connection, and the code with which a server ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.lsp import demo_server
from tests.lsp.in_process import served
from tests.lsp.rawlsp import ABSENT, RawClient, encode


@pytest.fixture
async def fresh() -> AsyncIterator[RawClient]:
    """The demo server, not initialized."""
    async with served(demo_server.build()) as client:
        yield client


def logged(client: RawClient) -> list[str]:
    return [params["message"] for params in client.received("window/logMessage")]


async def held_chat(client: RawClient) -> Any:
    """A chat that has streamed one word and waits."""
    params = {"conversationId": "a", "text": "one two", "hold": True, "partialResultToken": "held"}
    request = client.start_request("demo/chat", params)
    await client.notification("$/progress")
    return request


# -------------------------------------------------------------------------------------------------------------- phases


async def test_nothing_runs_before_initialize(fresh: RawClient) -> None:
    fresh.notify("demo/poke", {})
    assert (await fresh.request("demo/echo", {}))["error"]["code"] == -32002
    assert "result" in await fresh.initialize()
    assert (await fresh.request("demo/echo", {}))["result"] == {}
    assert fresh.received("demo/poked") == []


async def test_nothing_runs_while_initialize_does(fresh: RawClient) -> None:
    first = fresh.start_request("initialize", {"capabilities": {}, "initializationOptions": {"slow": True}})
    assert (await fresh.notification("window/logMessage"))["message"] == "initializing"
    assert (await fresh.request("demo/echo", {}))["error"]["code"] == -32002
    assert (await fresh.request("initialize", {"capabilities": {}}))["error"]["code"] == -32600
    assert not first.is_answered
    assert "result" in await first.answer()
    assert (await fresh.request("demo/echo", {}))["result"] == {}


async def test_initialize_may_be_tried_again_after_it_failed(fresh: RawClient) -> None:
    failing = {"capabilities": {}, "initializationOptions": {"fail": True}}
    wrong: list[tuple[Any, int]] = [(failing, -32603), ({}, -32602), (5, -32602), (ABSENT, -32602)]
    for params, code in wrong:
        assert (await fresh.request("initialize", params))["error"]["code"] == code
        assert (await fresh.request("demo/echo", {}))["error"]["code"] == -32002
    assert "result" in await fresh.initialize()
    assert (await fresh.request("initialize", {"capabilities": {}}))["error"]["code"] == -32600


async def test_an_editor_whose_initialize_failed_can_leave_in_order(fresh: RawClient) -> None:
    await fresh.request("initialize", {})
    assert (await fresh.request("shutdown"))["result"] is None
    fresh.notify("exit")
    assert await fresh.exit_code() == 0


async def test_shutdown_ends_what_runs_and_every_request_is_answered(fresh: RawClient) -> None:
    await fresh.initialize()
    fresh.silent_for = lambda _: None
    waiting = fresh.start_request("demo/pick", {})
    held = await held_chat(fresh)
    assert (await fresh.request("shutdown"))["result"] is None
    assert (await held.answer())["error"]["code"] == -32800
    assert (await waiting.answer())["error"]["code"] == -32800
    assert (await fresh.request("demo/echo", {}))["error"]["code"] == -32600
    assert (await fresh.request("shutdown"))["error"]["code"] == -32600
    fresh.notify("exit")
    assert await fresh.exit_code() == 0
    assert logged(fresh) == ["saved 1 words", "on_stop ran"]


async def test_messages_behind_exit_are_not_read(fresh: RawClient) -> None:
    await fresh.initialize()
    bye = {"jsonrpc": "2.0", "id": "bye", "method": "shutdown"}
    late = {"jsonrpc": "2.0", "id": "late", "method": "demo/echo"}
    fresh.send_bytes(encode(bye) + encode({"jsonrpc": "2.0", "method": "exit"}) + encode(late))
    assert await fresh.exit_code() == 0
    assert len(fresh.answers("bye")) == 1
    assert fresh.answers("late") == []


# ----------------------------------------------------------------------------------------------------------- exit codes


async def test_exit_without_shutdown_is_a_failure(fresh: RawClient) -> None:
    await fresh.initialize()
    fresh.notify("exit")
    assert await fresh.exit_code() == 1
    assert "on_stop ran" in logged(fresh)


@pytest.mark.parametrize(("says_shutdown", "code"), [(False, 1), (True, 0)])
async def test_an_input_that_ends_ends_the_server(fresh: RawClient, says_shutdown: bool, code: int) -> None:
    await fresh.initialize()
    held = await held_chat(fresh)
    if says_shutdown:
        await fresh.request("shutdown")
    fresh.writer.close()
    assert await fresh.exit_code() == code
    assert (await held.answer())["error"]["code"] == -32800
    assert logged(fresh) == ["saved 1 words", "on_stop ran"]


@pytest.mark.parametrize(
    ("garbage", "says"),
    [
        (b"a stray line\r\n", "not a header"),
        (b"Content-Length: -4\r\n\r\n{}", "negative"),
        (b"Content-Length: 99999999999\r\n\r\n", "longer than 64 MiB"),
        (b"Content-Length: 2\n\n{}", "CR LF"),
    ],
)
async def test_a_broken_stream_ends_the_server_with_one_line_that_says_why(
    fresh: RawClient, capsys: pytest.CaptureFixture[str], garbage: bytes, says: str
) -> None:
    await fresh.initialize()
    await held_chat(fresh)
    fresh.send_bytes(encode({"jsonrpc": "2.0", "id": "last", "method": "demo/echo", "params": {}}) + garbage)
    assert await fresh.exit_code() == 1
    assert len(fresh.answers("last")) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("palimpsest: ")
    assert says in lines[0]
    assert lines[1] == "on_stop ran"
    assert logged(fresh) == ["saved 1 words", "on_stop ran"]


async def test_an_input_that_ends_inside_a_message_is_named(
    fresh: RawClient, capsys: pytest.CaptureFixture[str]
) -> None:
    await fresh.initialize()
    fresh.send_bytes(b"Content-Length: 50\r\n\r\n{")
    fresh.writer.close()
    assert await fresh.exit_code() == 1
    assert "ended inside a message" in capsys.readouterr().err
