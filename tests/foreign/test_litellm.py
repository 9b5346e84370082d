"""A server that nobody here wrote understands our clients, and they understand it: the LiteLLM proxy, by its OpenAI
front and by its Anthropic front. What it answers with, it asks of the fake model service; both are on loopback.

Run by `make test-foreign`, which makes an environment of its own for the proxy; left out otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Final, Literal

import httpx
import pytest
import pytest_asyncio
from tests.clients.contexts import READ_FILE, assistant, collect, context, user
from tests.clients.fake_provider import Call, FakeProvider, Fault, Raw, Reply, sse

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import Content, TextPart, ToolCallPart, tool_result
from palimpsest.domain.models.provider import Finished, StopReason, TextDelta, TokenUsage, ToolArguments
from palimpsest_clients.anthropic import AnthropicClient
from palimpsest_clients.fake.dialect import texts
from palimpsest_clients.fake.replies import DEFAULT_TEXT, rough_count
from palimpsest_clients.openai.chat_completions import ChatCompletionsClient
from palimpsest_clients.retry import RetryPolicy

PROXY: Final = os.environ.get("TEST_PALIMPSEST_FOREIGN", "")
pytestmark = [
    pytest.mark.skipif(not PROXY, reason="needs the LiteLLM proxy: run make test-foreign"),
    pytest.mark.timeout(900),
    pytest.mark.asyncio(loop_scope="module"),
]
KEY: Final = "sk-foreign-0123456789"
"""As in litellm.yaml."""
START_S: Final = 600
WAIT_S: Final = 60
"""Seconds, for the upstream to see something, or for the proxy to end."""
ONCE: Final = RetryPolicy(attempts=1)
Client = ChatCompletionsClient | AnthropicClient
FRONTS: Final = ("openai", "anthropic")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as provider:
        yield provider


@pytest.fixture(scope="module")
def proxy(upstream: FakeProvider) -> Iterator[str]:
    """Its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = Path(__file__).with_name("litellm.yaml")
    environ = {
        "PATH": os.environ["PATH"],
        "PALIMPSEST_UPSTREAM": f"{upstream.url}/v1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
        "NO_PROXY": "*",
        "PYTHONUNBUFFERED": "1",
    }
    with tempfile.TemporaryDirectory(prefix="palimpsest-foreign-") as home, tempfile.TemporaryFile() as log:
        command = [PROXY, "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        running = subprocess.Popen(command, env={**environ, "HOME": home}, cwd=home, stdout=log, stderr=log)
        try:
            url, end = f"http://127.0.0.1:{port}", time.monotonic() + START_S
            while not _answers(url):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.wait(0.5)
                if running.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    pytest.fail(f"the proxy did not start:\n{log.read()[-4_000:].decode(errors='replace')}")
            yield url
        finally:
            running.terminate()
            try:
                running.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait(WAIT_S)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/liveliness", timeout=5, trust_env=False).is_success
    except httpx.TransportError:
        return False


@pytest.fixture
def fake(upstream: FakeProvider) -> FakeProvider:
    """The upstream, as it was at first."""
    upstream.script.clear()
    upstream.requests.clear()
    upstream.stalled.clear()
    upstream.disconnected.clear()
    upstream.limit_tokens = 200_000
    return upstream


def build(front: str, url: str, key: str = KEY) -> Client:
    if front == "openai":
        return ChatCompletionsClient(key, f"{url}/v1", retry=ONCE)
    return AnthropicClient(key, url, retry=ONCE)


@pytest_asyncio.fixture(params=FRONTS, loop_scope="module")
async def client(request: pytest.FixtureRequest, proxy: str) -> AsyncIterator[Client]:
    async with aclosing(build(request.param, proxy)) as built:
        yield built


def asked(*contents: Content, model: str = "upstream") -> PreparedContext:
    return context(*contents or (user("Hi"),), model=model)


async def test_an_answer_streams_whole_with_its_thinking_and_usage(client: Client, fake: FakeProvider) -> None:
    reply = Reply(thinking="hm\u2028m")
    fake.script.append(reply)
    answer = await collect(client.stream(asked()))
    assert answer.error is None
    assert (answer.text, answer.thinking) == (reply.text, reply.thinking)
    assert len([event for event in answer.events if isinstance(event, TextDelta)]) == reply.n_pieces
    assert answer.finished.stop_reason is StopReason.END
    assert answer.finished.usage == TokenUsage(rough_count(fake.bodies[0]), 22, 11, 33)
    system, message = fake.bodies[0]["messages"]
    assert (texts(system["content"]), texts(message["content"])) == ("Be brief.", "Hi")


async def test_a_call_streams_and_its_result_goes_back(client: Client, fake: FakeProvider) -> None:
    arguments = '{"path": "a é\u2028.py"}'
    fake.script.append(Reply("I look.", thinking="hm", calls=(Call("c1", "read_file", arguments),)))
    answer = await collect(client.stream(asked()))
    assert answer.error is None
    assert answer.calls == {"c1": ("read_file", arguments)}
    assert len([event for event in answer.events if isinstance(event, ToolArguments)]) == 3
    assert answer.finished.stop_reason is StopReason.TOOL_CALLS
    assert fake.bodies[0]["tools"][0]["function"]["parameters"] == READ_FILE.parameters

    call = ToolCallPart("c1", "read_file", arguments)
    said = assistant(TextPart(answer.text), call, *answer.finished.opaque)
    second = await collect(client.stream(asked(user("Hi"), said, tool_result(call, "x = 1\n"))))
    assert second.error is None
    assert second.text == DEFAULT_TEXT
    *_, called, result = fake.bodies[1]["messages"]
    assert (called["role"], texts(called["content"])) == ("assistant", "I look.")
    [sent] = called["tool_calls"]
    assert (sent["id"], sent["function"]["name"]) == ("c1", "read_file")
    assert json.loads(sent["function"]["arguments"]) == json.loads(arguments)
    assert (result["role"], result["tool_call_id"], texts(result["content"])) == ("tool", "c1", "x = 1\n")


async def test_two_calls_arrive_one_behind_the_other_and_both_results_go_back(
    client: Client, fake: FakeProvider
) -> None:
    pieces = (("c1", '{"path": '), (None, '"1.py"}'), ("c2", '{"path": '), (None, '"2.py"}'))
    chunks = [
        {"tool_calls": [{"index": n // 2, "id": call_id, "type": "function", "function": function}]}
        for n, (call_id, text) in enumerate(pieces)
        for function in [{"name": "read_file" if call_id else None, "arguments": text}]
    ]
    ends = ((chunks[0] | {"role": "assistant"}, None), *((chunk, None) for chunk in chunks[1:]), ({}, "tool_calls"))
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "upstream"}
    events = [
        sse({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}) for delta, reason in ends
    ]
    fake.script.append(Raw(b"".join([*events, sse("[DONE]")])))
    answer = await collect(client.stream(asked()))
    assert answer.error is None
    assert answer.calls == {f"c{n}": ("read_file", f'{{"path": "{n}.py"}}') for n in (1, 2)}

    calls = [ToolCallPart(call_id, *call) for call_id, call in answer.calls.items()]
    results = [tool_result(call, f"x = {call.call_id}") for call in calls]
    assert (await collect(client.stream(asked(user("Hi"), assistant(*calls), *results)))).error is None
    sent = [message for message in fake.bodies[1]["messages"] if message["role"] == "tool"]
    assert [(each["tool_call_id"], texts(each["content"])) for each in sent] == [("c1", "x = c1"), ("c2", "x = c2")]


# The Anthropic front ends a block when the next call begins, and puts all that arrives later into the last one.
@pytest.mark.parametrize("client", ["openai"], indirect=True)
async def test_calls_whose_arguments_arrive_interleaved_stay_apart(client: Client, fake: FakeProvider) -> None:
    first, second = (Call(f"c{n}", "read_file", json.dumps({"path": f"{n}.py"})) for n in (1, 2))
    fake.script.append(Reply(calls=(first, second)))
    answer = await collect(client.stream(asked()))
    assert answer.error is None
    assert answer.calls == {call.call_id: (call.name, call.arguments) for call in (first, second)}


@pytest.mark.parametrize(
    ("status", "kind", "is_retryable"),
    [
        (400, ErrorKind.BAD_RESPONSE, False),
        (401, ErrorKind.AUTH, False),
        (404, ErrorKind.BAD_RESPONSE, False),
        (429, ErrorKind.RATE_LIMITED, True),
        (500, ErrorKind.OVERLOADED, True),
        (503, ErrorKind.OVERLOADED, True),
        (529, ErrorKind.OVERLOADED, True),
    ],
)
async def test_the_upstream_s_refusals_are_told_apart(
    client: Client, fake: FakeProvider, status: int, kind: ErrorKind, is_retryable: bool
) -> None:
    fake.script.append(Fault(status))
    error = (await collect(client.stream(asked()))).error
    assert error is not None
    assert (error.kind, error.is_retryable) == (kind, is_retryable)
    assert len(fake.requests) == 1
    assert "scripted failure" not in str(error)


# The Anthropic front does not pass it on.
@pytest.mark.parametrize("client", ["openai"], indirect=True)
async def test_when_to_come_back_is_read(client: Client, fake: FakeProvider) -> None:
    fake.script.append(Fault(429, {"retry-after": "7"}))
    error = (await collect(client.stream(asked()))).error
    assert error is not None
    assert error.detail.retry_after_ms == 7_000


async def test_a_request_that_is_too_long_is_told_with_its_numbers(client: Client, fake: FakeProvider) -> None:
    fake.limit_tokens = 20
    error = (await collect(client.stream(asked()))).error
    assert error is not None
    assert error.kind is ErrorKind.CONTEXT_TOO_LONG
    assert (error.detail.limit_tokens, error.detail.projected_tokens) == (20, rough_count(fake.bodies[0]))


@pytest.mark.parametrize("then", ["drop", "error"])
async def test_an_answer_that_goes_wrong_in_the_middle_is_not_taken_for_a_whole_one(
    client: Client, fake: FakeProvider, then: Literal["drop", "error"]
) -> None:
    fake.script.append(Fault(then=then, after=3))
    answer = await collect(client.stream(asked()))
    assert answer.error is not None
    assert (answer.error.kind, answer.error.is_retryable) == (ErrorKind.OVERLOADED, True)
    assert not any(isinstance(event, Finished) for event in answer.events)
    assert DEFAULT_TEXT.startswith(answer.text)


@pytest.mark.parametrize("front", FRONTS)
async def test_a_key_that_is_refused_is_not_quoted(front: str, proxy: str, fake: FakeProvider) -> None:
    async with aclosing(build(front, proxy, "sk-wrong-9876543210")) as client:
        error = (await collect(client.stream(asked()))).error
    assert error is not None
    # Without a database the proxy cannot look keys up and says so with a 400, not a 401.
    assert error.kind in (ErrorKind.AUTH, ErrorKind.BAD_RESPONSE)
    assert "9876543210" not in str(error)
    assert fake.requests == []


async def test_cancelling_hangs_up_all_the_way_and_leaves_the_client_usable(client: Client, fake: FakeProvider) -> None:
    fake.script.append(Fault(then="stall", after=4))
    async with asyncio.timeout(WAIT_S):
        async with aclosing(client.stream(asked(model="hangs-up"))) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
            await fake.stalled.wait()
            assert not fake.disconnected.is_set()
        await fake.disconnected.wait()
    answer = await collect(client.stream(asked()))
    assert (answer.error, answer.text) == (None, DEFAULT_TEXT)


async def test_the_list_of_models_is_read(client: Client) -> None:
    assert [model.service_name for model in await client.models()] == ["upstream", "hangs-up"]
