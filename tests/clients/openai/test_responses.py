"""The Responses client keeps nothing at OpenAI, loses nothing of what is said, and gives thinking back as it came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from tests.clients.contexts import Answer, assistant, collect, context, user
from tests.clients.fake_provider import KEY, Call, Fault, Raw, Reply, sse
from tests.clients.fake_responses import FakeResponses, call, events_of, message, refusal, thought
from tests.waiting import WAIT_S

from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    OpaquePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    tool_result,
)
from palimpsest.domain.models.provider import LiveProvider, StopReason, TextDelta, TokenUsage
from palimpsest_clients.openai import chat_completions
from palimpsest_clients.openai.responses import ResponsesClient, request_body
from palimpsest_clients.retry import RetryPolicy

MODEL = "gpt-6.2-sol"
QUICK = RetryPolicy(backoff_s=0.001)


@pytest.fixture
async def fake() -> AsyncIterator[FakeResponses]:
    async with FakeResponses() as provider:
        yield provider


@pytest.fixture
async def client(fake: FakeResponses) -> AsyncIterator[ResponsesClient]:
    client = ResponsesClient(KEY, f"{fake.url}/v1", retry=QUICK)
    yield client
    await client.aclose()


def stream_of(*items: dict[str, Any], **more: Any) -> Raw:
    return Raw(b"".join(events_of(items, **more)))


def items_for(*contents: Content, **more: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = request_body(context(*contents, **{"model": MODEL, **more}))["input"]
    return items


def error_of(answer: Answer) -> ProviderError:
    assert answer.error is not None
    return answer.error


async def ask(client: ResponsesClient, *contents: Content, **more: Any) -> Answer:
    return await collect(client.stream(context(*contents, **{"model": MODEL, **more})))


# --- the answer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_bytes", [1, 7, None])
async def test_everything_said_arrives_however_the_bytes_are_cut(chunk_bytes: int | None) -> None:
    arguments = json.dumps({"path": "é\u2028\u0085.py", "lines": [1, 2]}, ensure_ascii=False)
    reply = Reply(thinking="hm\u2028m", calls=(Call("call_1", "read_file", arguments), Call("call_2", "list", "")))
    async with FakeResponses(chunk_bytes=chunk_bytes) as fake:
        fake.script.append(reply)
        async with aclosing(ResponsesClient(KEY, f"{fake.url}/v1")) as client:
            provider: LiveProvider = client
            answer = await collect(client.stream(context()))
    assert provider.name == "openai"
    assert answer.error is None
    assert answer.text == reply.text
    assert answer.thinking == reply.thinking
    assert answer.calls == {"call_1": ("read_file", arguments), "call_2": ("list", "{}")}
    assert answer.finished.stop_reason is StopReason.TOOL_CALLS


async def test_an_answer_cut_anywhere_breaks_off_with_what_came(client: ResponsesClient, fake: FakeResponses) -> None:
    whole = stream_of(thought(1, "hm"), message(1, "é🎉 yes"), call(1, "read_file", '{"path":"ü"}')).body
    once = ResponsesClient(KEY, f"{fake.url}/v1", retry=RetryPolicy(attempts=1))
    async with aclosing(once):
        for end in range(0, len(whole), 13):
            fake.script.append(Raw(whole[:end]))
            answer = await ask(once)
            assert error_of(answer).kind is ErrorKind.NETWORK
            assert "é🎉 yes".startswith(answer.text)


async def test_parts_of_a_summary_are_paragraphs_of_the_thinking(client: ResponsesClient, fake: FakeResponses) -> None:
    fake.script.append(stream_of(thought(1, "First.", "Second."), message(1, "Yes")))
    assert (await ask(client)).thinking == "First.\n\nSecond."


async def test_thinking_told_in_plain_text_is_shown(client: ResponsesClient, fake: FakeResponses) -> None:
    told = sse({"type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm"})
    fake.script.append(Raw(told + stream_of(message(1, "Yes")).body))
    assert (await ask(client)).thinking == "hm"


async def test_arguments_that_were_not_streamed_are_taken_from_the_whole_call(
    client: ResponsesClient, fake: FakeResponses
) -> None:
    item = call(1, "read_file", '{"path":"a"}')
    done = sse({"type": "response.output_item.done", "output_index": 0, "item": item})
    fake.script.append(Raw(done + stream_of().body))
    answer = await ask(client)
    assert answer.calls == {"call_1": ("read_file", '{"path":"a"}')}
    assert answer.finished.stop_reason is StopReason.TOOL_CALLS


async def test_usage_takes_the_cached_tokens_out_of_the_input(client: ResponsesClient, fake: FakeResponses) -> None:
    fake.script += [stream_of(message(1, "a"), n_tokens=1000), stream_of(message(1, "a"), usage=None)]
    found = [(await ask(client)).finished.usage for _ in range(2)]
    counted = TokenUsage(input_tokens=1000, cache_read_tokens=22, cache_write_tokens=11, output_tokens=44)
    assert found == [counted, TokenUsage()]


@pytest.mark.parametrize(
    ("items", "why", "reason"),
    [
        ([message(1, "a")], None, StopReason.END),
        ([call(1, "list", "{}")], None, StopReason.TOOL_CALLS),
        ([message(1, "a")], "max_output_tokens", StopReason.OUTPUT_LIMIT),
        ([call(1, "list", '{"a')], "max_output_tokens", StopReason.OUTPUT_LIMIT),
        ([message(1, "a")], "content_filter", StopReason.FILTERED),
        ([message(1, "a")], "something_else", StopReason.END),
        ([refusal("I will not.")], None, StopReason.FILTERED),
    ],
)
async def test_stop_reasons(
    client: ResponsesClient, fake: FakeResponses, items: list[dict[str, Any]], why: str | None, reason: StopReason
) -> None:
    last = "incomplete" if why else "completed"
    fake.script.append(stream_of(*items, last=last, incomplete_details={"reason": why} if why else None))
    assert (await ask(client)).finished.stop_reason is reason


async def test_a_refusal_is_shown(client: ResponsesClient, fake: FakeResponses) -> None:
    fake.script.append(stream_of(refusal("I will not.")))
    assert (await ask(client)).text == "I will not."


async def test_what_a_later_version_adds_is_ignored(client: ResponsesClient, fake: FakeResponses) -> None:
    news = sse({"type": "response.novelty", "delta": 5}) + sse({"novelty": 1})
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    for kind in ("added", "done"):
        news += sse({"type": f"response.output_item.{kind}", "output_index": 9, "item": item})
    fake.script.append(Raw(news + stream_of(message(1, "a")).body))
    answer = await ask(client)
    assert (answer.text, answer.finished.opaque, answer.error) == ("a", (), None)


# --- the request ------------------------------------------------------------------------------------------------------


async def test_nothing_is_kept_at_the_service_and_everything_is_sent(
    client: ResponsesClient, fake: FakeResponses
) -> None:
    assert (await ask(client, user("Hi"))).error is None
    request = fake.requests[0]
    assert request.target == "/v1/responses"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    tool = request.body.pop("tools")[0]
    assert request.body == {
        "model": MODEL,
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": "Hi"}],
        "max_output_tokens": 1234,
        "prompt_cache_key": "c-1",
        "store": False,
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "include": ["reasoning.encrypted_content"],
    }
    assert (tool["type"], tool["name"], tool["strict"]) == ("function", "read_file", False)
    assert tool["parameters"]["type"] == "object"


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest"])
async def test_a_model_that_does_not_think_is_not_asked_for_thinking(client: ResponsesClient, model: str) -> None:
    assert "include" not in request_body(context(model=model))
    assert (await ask(client, model=model)).error is None


async def test_a_small_reserve_is_raised_to_what_the_service_takes(
    client: ResponsesClient, fake: FakeResponses
) -> None:
    assert (await collect(client.stream(replace(context(), max_output_tokens=1)))).error is None
    assert fake.bodies[0]["max_output_tokens"] == 16


def test_no_tool_may_be_called_when_the_context_says_so() -> None:
    assert request_body(context(tool_choice="none"))["tool_choice"] == "none"
    assert "tool_choice" not in request_body(context(tool_choice="none", tools=()))


async def test_calls_and_their_outputs_are_items_of_their_own(client: ResponsesClient, fake: FakeResponses) -> None:
    one = ToolCallPart("call_1", "read_file", '{"path":"a"}')
    two = ToolCallPart("functions.read_file:" + "x" * 80, "read_file", '{"path": "b')
    history = (
        user("Look"),
        Content(Role.USER, (AttachmentPart("a.py:1-1", "x = 1\n"),)),
        assistant(TextPart("Looking"), ReasoningPart("hm"), one, two),
        tool_result(one, "A"),
        tool_result(two, "no such file", is_error=True),
        assistant(TextPart(" \n")),
        user(" "),
        user("Go on"),
    )
    assert (await ask(client, *history)).error is None
    sent = fake.bodies[0]["input"]
    assert [item.get("role") or item["type"] for item in sent] == [
        *("user", "user", "assistant", "function_call", "function_call"),
        *("function_call_output", "function_call_output", "user"),
    ]
    assert sent[1]["content"] == "```a.py:1-1\nx = 1\n```"
    assert [json.loads(item["arguments"]) for item in sent[3:5]] == [
        {"path": "a"},
        {"malformed_arguments": '{"path": "b'},
    ]
    assert [item["output"] for item in sent[5:7]] == ["A", "no such file"]
    assert sent[4]["call_id"] == sent[6]["call_id"]


# --- thinking goes back -----------------------------------------------------------------------------------------------


def said_again(answer: Answer, *, joined: bool = True) -> list[Content]:
    """The answer as a turn stores it, with a result for each call."""
    calls = [ToolCallPart(call_id, name, arguments) for call_id, (name, arguments) in answer.calls.items()]
    texts = [answer.text] if joined else [e.text for e in answer.events if isinstance(e, TextDelta)]
    parts: list[Part] = [ReasoningPart("hm"), *(TextPart(text) for text in texts), *calls, *answer.finished.opaque]
    return [user("Hi"), assistant(*parts), *(tool_result(each, "ok") for each in calls), user("And?")]


async def test_thinking_goes_back_verbatim_between_its_neighbours(client: ResponsesClient, fake: FakeResponses) -> None:
    first, second = thought(1, "hm", encrypted="enc-é🎉"), thought(2)
    fake.script.append(
        stream_of(
            *(first, message(1, "Let me look."), second, message(2, "Yes.", phase="commentary")),
            *(call(1, "read_file", '{"path":"a"}'), thought(3), call(2, "read_file", "{}")),
        )
    )
    answer = await ask(client, model=f"{MODEL}-2026-09-01")
    assert (await ask(client, *said_again(answer))).error is None
    _, *sent = fake.bodies[1]["input"]
    assert [item.get("id") for item in sent] == ["rs_1", "msg_1", "rs_2", "msg_2", "fc_1", "rs_3", "fc_2"] + [None] * 3
    assert (sent[0], sent[2], sent[5]) == (first, second, thought(3))
    assert sent[1]["content"] == [{"type": "output_text", "text": "Let me look.", "annotations": []}]
    assert (sent[3]["content"][0]["text"], sent[3]["phase"]) == ("Yes.", "commentary")
    assert sent[4] == {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "read_file",
        "arguments": '{"path":"a"}',
    }


async def test_an_id_is_sent_once_however_the_text_was_cut_into_parts(
    client: ResponsesClient, fake: FakeResponses
) -> None:
    fake.script.append(stream_of(thought(1), message(1, "One two three")))
    answer = await ask(client)
    assert (await ask(client, *said_again(answer, joined=False))).error is None
    assert [item.get("id") for item in fake.bodies[1]["input"]].count("msg_1") == 1


@pytest.mark.parametrize("first", [thought(1, encrypted=None), thought(1) | {"id": ""}])
async def test_thinking_that_cannot_go_back_takes_the_ids_with_it(
    client: ResponsesClient, fake: FakeResponses, first: dict[str, Any]
) -> None:
    fake.script.append(stream_of(first, message(1, "Yes.", phase="final_answer"), call(1, "list", "{}")))
    answer = await ask(client)
    assert (await ask(client, *said_again(answer))).error is None
    sent = fake.bodies[1]["input"]
    assert [item for item in sent if "id" in item] == []
    assert sent[1] == {"type": "message", "role": "assistant", "content": "Yes.", "phase": "final_answer"}


async def test_thinking_that_nothing_follows_stays_home(client: ResponsesClient, fake: FakeResponses) -> None:
    fake.script.append(stream_of(thought(1), message(1, "Yes"), thought(2), last="incomplete"))
    answer = await ask(client)
    assert (await ask(client, *said_again(answer))).error is None
    assert [item.get("id") for item in fake.bodies[1]["input"]] == [None, "rs_1", "msg_1", None]


async def test_text_that_became_shorter_does_not_part_a_call_from_its_thinking(
    client: ResponsesClient, fake: FakeResponses
) -> None:
    answer = stream_of(thought(1), message(1, "The key is sk-123456"), thought(2), call(1, "list", "{}"))
    fake.script.append(answer)
    asked, said, *rest = said_again(await ask(client))
    parts = [replace(part, text="The key is …") if isinstance(part, TextPart) else part for part in said.parts]
    assert (await ask(client, asked, assistant(*parts), *rest)).error is None
    assert [item.get("id") for item in fake.bodies[1]["input"]][1:5] == ["rs_1", "msg_1", "rs_2", "fc_1"]


@pytest.mark.parametrize(
    ("provider", "model", "data"),
    [
        ("openai", "gpt-5.2", {"after": 0, "item": thought(1)}),
        ("anthropic", MODEL, {"after": 0, "item": thought(1)}),
        ("openai", MODEL, {"reasoning_content": "hm"}),
    ],
)
def test_opaque_parts_of_another_family_service_or_format_stay_home(
    provider: str, model: str, data: dict[str, Any]
) -> None:
    opaque = OpaquePart(provider, model, json.dumps(data))
    sent = items_for(user("Hi"), assistant(opaque, TextPart("Yes")), user("Why?"))
    assert sent[1] == {"type": "message", "role": "assistant", "content": "Yes"}


def test_marks_do_not_reach_a_service_that_speaks_chat_completions_under_the_same_name() -> None:
    opaque = OpaquePart("openai", MODEL, json.dumps({"after": 0, "item": thought(1)}))
    part = ToolCallPart("call_1", "list", "{}")
    body = chat_completions.request_body(
        context(user("Hi"), assistant(part, opaque), tool_result(part, "ok"), model=MODEL), "openai"
    )
    assert set(body["messages"][2]) == {"role", "content", "tool_calls"}


async def test_thinking_that_the_service_cannot_read_any_more_is_left_out(
    client: ResponsesClient, fake: FakeResponses
) -> None:
    fake.script.append(stream_of(thought(1), message(1, "Yes"), call(1, "list", "{}")))
    history = said_again(await ask(client))
    fake.can_read = "another key's"
    fake.script += [Reply(), Reply(text="Still here")]
    answer = await ask(client, *history)
    assert (answer.text, answer.error, len(fake.requests)) == ("Still here", None, 3)
    assert [item for item in fake.bodies[2]["input"] if item["type"] == "reasoning" or "id" in item] == []


# --- failures ---------------------------------------------------------------------------------------------------------


def failed(code: str, text: str = "x") -> bytes:
    response = {"id": "resp_1", "status": "failed", "error": {"code": code, "message": text}, "usage": None}
    return sse({"type": "response.failed", "sequence_number": 3, "response": response})


FLAT = {"type": "error", "code": "server_error", "message": "boom", "param": None, "sequence_number": 4}
NESTED = {"type": "error", "sequence_number": 4, "error": {"type": "server_error", "code": None, "message": "boom"}}


@pytest.mark.parametrize("error", [sse(FLAT), sse(NESTED), failed("server_error")], ids=["flat", "nested", "failed"])
async def test_an_error_in_the_middle_keeps_what_came_and_is_not_asked_again(
    client: ResponsesClient, fake: FakeResponses, error: bytes
) -> None:
    begun = b"".join(list(events_of([message(1, "Half an answer")]))[:5])
    fake.script.append(Raw(begun + error))
    answer = await ask(client)
    assert answer.text
    assert "Half an answer".startswith(answer.text)
    assert error_of(answer).kind is ErrorKind.OVERLOADED
    assert len(fake.requests) == 1


@pytest.mark.parametrize("error", [sse(FLAT), sse(NESTED), failed("rate_limit_exceeded")])
async def test_an_error_before_the_first_delta_is_tried_again(
    client: ResponsesClient, fake: FakeResponses, error: bytes
) -> None:
    fake.script += [Raw(b"".join(list(events_of([]))[:2]) + error), Fault(status=503), Reply(text="At last")]
    answer = await ask(client)
    assert (answer.text, answer.error, len(fake.requests)) == ("At last", None, 3)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", ErrorKind.RATE_LIMITED),
        ("insufficient_quota", ErrorKind.QUOTA),
        ("context_length_exceeded", ErrorKind.CONTEXT_TOO_LONG),
        ("invalid_prompt", ErrorKind.FILTERED),
        ("bio_policy", ErrorKind.FILTERED),
        ("misalignment_policy_violation", ErrorKind.FILTERED),
        ("invalid_image", ErrorKind.BAD_RESPONSE),
    ],
)
async def test_a_failed_response_has_the_kind_of_its_code(fake: FakeResponses, code: str, kind: ErrorKind) -> None:
    fake.script.append(Raw(failed(code, "some words")))
    async with aclosing(ResponsesClient(KEY, f"{fake.url}/v1", retry=RetryPolicy(attempts=1))) as client:
        error = error_of(await ask(client))
    assert error.kind is kind
    assert "some words" not in str(error)


async def test_too_long_a_request_is_refused_once_with_numbers() -> None:
    async with FakeResponses(limit_tokens=100) as fake, aclosing(ResponsesClient(KEY, f"{fake.url}/v1")) as client:
        error = error_of(await ask(client, user("x" * 4000)))
    assert error.kind is ErrorKind.CONTEXT_TOO_LONG
    assert error.detail.limit_tokens == 100
    assert (error.detail.projected_tokens or 0) > 1000
    assert len(fake.requests) == 1


async def test_a_pause_that_is_asked_for_is_told_and_a_long_one_not_waited_for(
    client: ResponsesClient, fake: FakeResponses
) -> None:
    fake.script += [
        Fault(status=429, headers={"retry-after-ms": "1"}),
        Fault(status=429, headers={"retry-after": "3600"}),
    ]
    error = error_of(await ask(client))
    assert (error.kind, error.detail.retry_after_ms) == (ErrorKind.RATE_LIMITED, 3_600_000)
    assert len(fake.requests) == 2


@pytest.mark.parametrize(
    "raw",
    [
        Raw(b"data: {\n\n"),
        Raw(sse({"type": "response.output_item.added", "output_index": 0, "item": 5})),
        Raw(sse({"type": "response.output_text.delta", "delta": 5})),
        Raw(sse({"type": "response.function_call_arguments.delta", "output_index": 7, "delta": "x"})),
        Raw(sse({"type": "response.completed"})),
        Raw(b'{"id": "resp_1", "output": []}', "application/json"),
    ],
    ids=range(6),
)
async def test_what_is_no_answer_is_a_bad_response(client: ResponsesClient, fake: FakeResponses, raw: Raw) -> None:
    fake.script.append(raw)
    assert error_of(await ask(client)).kind is ErrorKind.BAD_RESPONSE


@pytest.mark.parametrize("after", [1, 5])
async def test_cancelling_a_silent_answer_closes_the_connection(
    client: ResponsesClient, fake: FakeResponses, after: int
) -> None:
    fake.script.append(Fault(then="stall", after=after))
    task = asyncio.create_task(ask(client))
    async with asyncio.timeout(WAIT_S):
        await fake.stalled.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await fake.disconnected.wait()
    assert (await ask(client)).error is None


async def test_closing_the_iterator_closes_the_connection(client: ResponsesClient, fake: FakeResponses) -> None:
    fake.script.append(Fault(then="stall", after=5))
    async with asyncio.timeout(WAIT_S):
        async with aclosing(client.stream(context(model=MODEL))) as stream:
            await anext(stream)
        await fake.disconnected.wait()
    assert fake.disconnected.is_set()


async def test_nothing_is_sent_before_the_first_item_is_awaited(client: ResponsesClient, fake: FakeResponses) -> None:
    stream = client.stream(context())
    await asyncio.sleep(0)
    await stream.aclose()
    assert fake.requests == []


@pytest.mark.parametrize("key", ["", "sk-\u2026", "sk a"])
def test_what_cannot_be_a_key_is_refused(key: str) -> None:
    with pytest.raises(ProviderError) as caught:
        ResponsesClient(key)
    assert caught.value.kind is ErrorKind.AUTH


def test_answers_stored_in_steps_keep_their_marks_apart() -> None:
    """Two answers of one turn are two messages: the marks of one do not reach into the other."""

    def step(number: int) -> Sequence[Content]:
        part = ToolCallPart(f"call_{number}", "list", "{}")
        marks = [
            {"after": 0, "item": thought(number)},
            {"after": 0, "item": {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}},
        ]
        opaque = [OpaquePart("openai", MODEL, json.dumps(mark)) for mark in marks]
        return (assistant(part, *opaque), tool_result(part, "ok"))

    sent = items_for(user("Hi"), *step(1), *step(2))
    assert [item.get("id") or item["type"] for item in sent] == [
        *("message", "rs_1", "fc_1", "function_call_output", "rs_2", "fc_2", "function_call_output")
    ]
