"""The Chat Completions client sends what every service of that kind accepts, and reads their dialects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from tests.clients.contexts import assistant, collect, context, user
from tests.clients.fake_provider import KEY, Call, FakeProvider, Fault, Raw, Reply, sse
from tests.waiting import WAIT_S

from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    OpaquePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    tool_result,
)
from palimpsest.domain.models.provider import Provider, StopReason, TokenUsage, ToolArguments
from palimpsest_clients.openai.chat_completions import ChatCompletionsClient, request_body


def client_of(fake: FakeProvider, name: str = "openai") -> ChatCompletionsClient:
    return ChatCompletionsClient(KEY, f"{fake.url}/v1", name)


@pytest.fixture
async def client(fake: FakeProvider) -> AsyncIterator[ChatCompletionsClient]:
    client = client_of(fake)
    yield client
    await client.aclose()


def messages_of(*contents: Content, **more: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = request_body(context(*contents, **more), "openai")["messages"]
    return messages


def stream_of(*deltas: dict[str, Any], finish: str | None = "stop", is_done: bool = True) -> Raw:
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    if finish:
        chunks.append({"choices": [{"index": 0, "delta": None, "finish_reason": finish}]})
    return Raw(b"".join(sse(chunk) for chunk in chunks) + (sse("[DONE]") if is_done else b""))


def piece(
    index: int | None, call_id: str | None = None, name: str | None = None, arguments: str = ""
) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name, "arguments": arguments}
    call: dict[str, Any] = {"index": index, "id": call_id, "type": "function", "function": function}
    return {"tool_calls": [call]}


@pytest.mark.parametrize("chunk_bytes", [1, 7, None])
async def test_everything_said_arrives_however_the_bytes_are_cut(chunk_bytes: int | None) -> None:
    arguments = json.dumps({"path": "é\u2028\u0085.py", "lines": [1, 2]}, ensure_ascii=False)
    calls = (Call("c1", "read_file", arguments), Call("c2", "read_file", '{"path":"b"}'), Call("c3", "list_files", ""))
    reply = Reply(thinking="hm\u2028m", calls=calls)
    async with FakeProvider(chunk_bytes=chunk_bytes) as fake:
        fake.script.append(reply)
        async with aclosing(client_of(fake, "deepseek")) as client:
            provider: Provider = client
            answer = await collect(client.stream(context()))
    assert provider.name == "deepseek"
    assert answer.error is None
    assert answer.text == reply.text
    assert answer.thinking == reply.thinking
    assert answer.calls == {
        "c1": ("read_file", arguments),
        "c2": ("read_file", '{"path":"b"}'),
        "c3": ("list_files", "{}"),
    }
    assert answer.finished.stop_reason is StopReason.TOOL_CALLS


async def test_usage_takes_the_cached_tokens_out_of_the_prompt(
    client: ChatCompletionsClient, fake: FakeProvider
) -> None:
    usage = (await collect(client.stream(context()))).finished.usage
    sent = len(json.dumps(fake.bodies[0], ensure_ascii=False)) // 4
    assert usage == TokenUsage(input_tokens=sent, cache_read_tokens=22, cache_write_tokens=11, output_tokens=33)


async def test_the_last_of_several_running_totals_counts(client: ChatCompletionsClient, fake: FakeProvider) -> None:
    def counted(n: int, delta: dict[str, Any], finish: str | None = None) -> bytes:
        usage = {"prompt_tokens": 10, "completion_tokens": n, "prompt_cache_hit_tokens": 4}
        return sse({"choices": [{"delta": delta, "finish_reason": finish}], "usage": usage})

    fake.script.append(Raw(counted(1, {"content": "a"}) + counted(2, {"content": "b"}) + counted(3, {}, "stop")))
    answer = await collect(client.stream(context()))
    assert answer.text == "ab"
    assert answer.finished.usage == TokenUsage(input_tokens=6, cache_read_tokens=4, output_tokens=3)


async def test_a_service_that_does_not_count_is_read_all_the_same(
    client: ChatCompletionsClient, fake: FakeProvider
) -> None:
    fake.script += [stream_of({"content": "a"}), stream_of({"content": "b"}, is_done=False)]
    answers = [await collect(client.stream(context())) for _ in range(2)]
    assert [(answer.text, answer.finished.usage) for answer in answers] == [("a", TokenUsage()), ("b", TokenUsage())]


@pytest.mark.parametrize(
    ("said", "calls", "reason"),
    [
        ("stop", (), StopReason.END),
        ("tool_calls", (), StopReason.END),
        ("something_new", (), StopReason.END),
        ("stop", (Call("c1", "read_file", "{}"),), StopReason.TOOL_CALLS),
        ("length", (Call("c1", "read_file", '{"pa'),), StopReason.OUTPUT_LIMIT),
        ("content_filter", (), StopReason.FILTERED),
    ],
)
async def test_stop_reasons_do_not_trust_what_is_said_about_calls(
    client: ChatCompletionsClient, fake: FakeProvider, said: str, calls: tuple[Call, ...], reason: StopReason
) -> None:
    fake.script.append(Reply(stop=said, calls=calls))
    assert (await collect(client.stream(context()))).finished.stop_reason is reason


async def test_a_refusal_is_shown_and_named(client: ChatCompletionsClient, fake: FakeProvider) -> None:
    fake.script.append(stream_of({"refusal": "I will not."}))
    answer = await collect(client.stream(context()))
    assert (answer.text, answer.finished.stop_reason) == ("I will not.", StopReason.FILTERED)


async def test_the_request_is_understood_everywhere(client: ChatCompletionsClient, fake: FakeProvider) -> None:
    await collect(client.stream(context()))
    request = fake.requests[0]
    assert request.target == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert set(request.body) == {"model", "max_tokens", "stream", "stream_options", "messages", "tools"}
    assert request.body["stream_options"] == {"include_usage": True}
    assert request.body["messages"][0] == {"role": "system", "content": "Be brief."}


async def test_openai_itself_is_asked_in_its_own_words(fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", fake.url)
    async with aclosing(ChatCompletionsClient(KEY, "http://api.openai.com/v1")) as client:
        assert (await collect(client.stream(context()))).error is None
    assert fake.requests[0].target == "http://api.openai.com/v1/chat/completions"
    assert fake.bodies[0]["max_completion_tokens"] == 1234
    assert fake.bodies[0]["prompt_cache_key"] == "c-1"
    assert "max_tokens" not in fake.bodies[0]


async def test_a_local_service_needs_no_key(fake: FakeProvider) -> None:
    async with aclosing(ChatCompletionsClient(None, f"{fake.url}/v1")) as client:
        answer = await collect(client.stream(context()))
    assert "authorization" not in fake.requests[0].headers
    assert answer.error is not None
    assert answer.error.kind is ErrorKind.AUTH


def test_no_tool_may_be_called_when_the_context_says_so() -> None:
    assert request_body(context(tool_choice="none"), "openai")["tool_choice"] == "none"
    assert "tool_choice" not in request_body(context(tool_choice="none", tools=()), "openai")


async def test_messages_alternate_and_results_stand_right_behind_their_calls(
    client: ChatCompletionsClient, fake: FakeProvider
) -> None:
    one, two = ToolCallPart("c1", "read_file", '{"path":"a"}'), ToolCallPart("c2", "read_file", '{"path": "b')
    history = (
        user("Look"),
        Content(Role.USER, (AttachmentPart("a.py:1-1", "x = 1\n"),)),
        assistant(TextPart("Half")),
        assistant(TextPart("Looking"), one, two),
        tool_result(one, "A"),
        user("and be quick"),
        tool_result(two, ""),
    )
    assert (await collect(client.stream(context(*history)))).error is None
    _, *sent = fake.bodies[0]["messages"]
    calls = sent[1].pop("tool_calls")
    assert sent == [
        {"role": "user", "content": "Look\n\n```a.py:1-1\nx = 1\n```"},
        {"role": "assistant", "content": "Half\n\nLooking"},
        {"role": "tool", "tool_call_id": "c1", "content": "A"},
        {"role": "tool", "tool_call_id": "c2", "content": ""},
        {"role": "user", "content": "and be quick"},
    ]
    arguments = [json.loads(call["function"]["arguments"]) for call in calls]
    assert arguments == [{"path": "a"}, {"malformed_arguments": '{"path": "b'}]


def test_what_is_empty_is_not_sent() -> None:
    call = ToolCallPart("c1", "read_file", "")
    history = (user("Hi"), assistant(), assistant(TextPart(" \n"), ReasoningPart("hm")), user(" "), assistant(call))
    first, second, _ = messages_of(*history, tool_result(call, "x"), system="")
    assert first == {"role": "user", "content": "Hi"}
    assert second["content"] is None
    assert second["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_both_dialects_of_thinking_are_read(
    client: ChatCompletionsClient, fake: FakeProvider, field: str
) -> None:
    fake.script.append(stream_of({field: "h", "content": None}, {field: "m"}, {"content": "Yes", field: None}))
    answer = await collect(client.stream(context()))
    assert (answer.thinking, answer.text, answer.finished.opaque) == ("hm", "Yes", ())


async def test_thinking_that_led_to_calls_goes_back_to_its_own_family(
    client: ChatCompletionsClient, fake: FakeProvider
) -> None:
    thought, call = {"reasoning_content": "hm"}, piece(0, "c1", "read_file", "{}")
    fake.script.append(stream_of(thought, call, finish="tool_calls"))
    answer = await collect(client.stream(context(model="thinker-2026-01-01")))
    part = ToolCallPart("c1", "read_file", "{}")
    said_again = assistant(ReasoningPart("hm"), part, *answer.finished.opaque)
    history = (user("Hi"), said_again, tool_result(part, "ok"))
    assert messages_of(*history, model="thinker")[2]["reasoning_content"] == "hm"
    assert "reasoning_content" not in messages_of(*history, model="other")[2]


def test_opaque_parts_of_another_service_stay_home() -> None:
    opaque = OpaquePart("anthropic", "model-x", json.dumps({"after": 0, "block": {"type": "thinking"}}))
    call = ToolCallPart("c1", "read_file", "{}")
    sent = messages_of(user("Hi"), assistant(opaque, TextPart("Yes"), call), tool_result(call, "x"))
    assert set(sent[2]) == {"role", "content", "tool_calls"}


async def test_parallel_calls_under_one_index_are_told_apart_by_id(
    client: ChatCompletionsClient, fake: FakeProvider
) -> None:
    fake.script.append(
        stream_of(
            piece(0, "c1", "read_file", '{"path":'),
            piece(0, "c1", "read_file", '"a"}'),
            piece(0, "c2", "read_file", "{}"),
        )
    )
    answer = await collect(client.stream(context()))
    assert answer.calls == {"c1": ("read_file", '{"path":"a"}'), "c2": ("read_file", "{}")}


async def test_calls_without_an_id_or_with_a_used_one_get_their_own(
    client: ChatCompletionsClient, fake: FakeProvider
) -> None:
    deltas = (piece(0, None, "a"), piece(0, arguments="{}"), piece(1, "c1", "b", "{}"), piece(2, "c1", "c", "{}"))
    fake.script.append(stream_of(*deltas))
    calls = (await collect(client.stream(context()))).calls
    assert list(calls.values()) == [("a", "{}"), ("b", "{}"), ("c", "{}")]
    assert all(calls)


async def test_the_arguments_of_parallel_calls_may_interleave(
    client: ChatCompletionsClient, fake: FakeProvider
) -> None:
    fake.script.append(Reply(calls=(Call("c1", "a", '{"x":1}'), Call("c2", "b", '{"y":2}'))))
    answer = await collect(client.stream(context()))
    order = [event.call_id for event in answer.events if isinstance(event, ToolArguments)]
    assert order == ["c1", "c2"] * 3


async def test_unknown_chunks_are_ignored(client: ChatCompletionsClient, fake: FakeProvider) -> None:
    news = b": keep-alive\n\n" + sse({"choices": [], "prompt_filter_results": [1]}) + sse({"novelty": 1})
    fake.script.append(Raw(news + stream_of({"content": "a", "annotations": [1]}).body))
    answer = await collect(client.stream(context()))
    assert (answer.text, answer.error) == ("a", None)


@pytest.mark.parametrize("then", ["drop", "error"])
async def test_an_answer_that_breaks_off_keeps_what_came_and_is_not_asked_again(
    client: ChatCompletionsClient, fake: FakeProvider, then: Any
) -> None:
    fake.script.append(Fault(then=then, after=3))
    answer = await collect(client.stream(context()))
    assert answer.text
    assert Reply().text.startswith(answer.text)
    assert answer.error is not None
    assert answer.error.kind is (ErrorKind.NETWORK if then == "drop" else ErrorKind.OVERLOADED)
    assert len(fake.requests) == 1


@pytest.mark.parametrize(("finish", "is_done"), [(None, True), (None, False), ("error", True)])
async def test_a_stream_without_a_finish_reason_is_broken_off(
    client: ChatCompletionsClient, fake: FakeProvider, finish: str | None, is_done: bool
) -> None:
    fake.script.append(stream_of({"content": "a"}, finish=finish, is_done=is_done))
    answer = await collect(client.stream(context()))
    assert answer.text == "a"
    assert answer.error is not None
    assert answer.error.kind is ErrorKind.NETWORK


async def test_only_the_goodbye_may_be_missing(client: ChatCompletionsClient, fake: FakeProvider) -> None:
    # Six events are the role, three pieces of text, the finish reason and the usage: [DONE] is dropped.
    fake.script.append(Fault(then="drop", after=5))
    answer = await collect(client.stream(context()))
    assert (answer.text, answer.error) == (Reply().text, None)


async def test_cancelling_closes_the_connection(client: ChatCompletionsClient, fake: FakeProvider) -> None:
    fake.script.append(Fault(then="stall", after=3))
    async with asyncio.timeout(WAIT_S):
        async with aclosing(client.stream(context())) as stream:
            await anext(stream)
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
        await fake.disconnected.wait()
    assert fake.disconnected.is_set()


async def test_calls_share_a_connection(client: ChatCompletionsClient, fake: FakeProvider) -> None:
    for _ in range(3):
        await collect(client.stream(context()))
    assert [request.connection for request in fake.requests] == [1, 1, 1]
