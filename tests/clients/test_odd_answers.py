"""Whatever JSON a service sends, a stream ends in events that can be stored or in a ProviderError, and what a
conversation holds already never stops its next request."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st
from tests.clients.contexts import assistant, collect, context, user
from tests.properties import examples

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ProviderError
from palimpsest.domain.messages import OpaquePart, TextPart, ToolCallPart, canonical_json, tool_result
from palimpsest.domain.models.provider import Finished, TextDelta, ThinkingDelta, ToolArguments, ToolCallStart
from palimpsest.domain.turns.answers import MAX_TOKENS
from palimpsest_clients import anthropic, faults, gemini, http, model_lists, ollama
from palimpsest_clients.anthropic import MessagesDecoder
from palimpsest_clients.gemini import GenerateDecoder
from palimpsest_clients.http import Decoder, ModelService
from palimpsest_clients.openai import chat_completions, responses
from palimpsest_clients.openai.responses import ResponsesDecoder
from palimpsest_clients.retry import RetryPolicy

CALL = {"id": "c", "name": "f", "arguments": "{}"}
ANSWERS: Mapping[str, tuple[Callable[[], Decoder], list[Any]]] = {
    "anthropic": (
        lambda: MessagesDecoder("m"),
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 5}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "t"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "t"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "x"}},
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "x"}},
            {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "c", "name": "f"}},
            {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
            {"type": "content_block_stop", "index": 2},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ],
    ),
    "chat": (
        lambda: chat_completions.ChatDecoder("p", "m"),
        [
            {"choices": [{"delta": {"reasoning_content": "t", "content": "x", "refusal": None}}]},
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": CALL}]}}]},
            {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 2}}},
        ],
    ),
    "openai": (
        lambda: ResponsesDecoder("m"),
        [
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "r"}},
            {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "t"},
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {"type": "reasoning", "id": "r", "encrypted_content": "e"},
            },
            {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "m"}},
            {"type": "response.output_text.delta", "output_index": 1, "delta": "x"},
            {
                "type": "response.output_item.added",
                "output_index": 2,
                "item": {"type": "function_call", "id": "f", "call_id": "c", "name": "f"},
            },
            {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{}"},
            {
                "type": "response.output_item.done",
                "output_index": 2,
                "item": {"type": "function_call", "id": "f", "call_id": "c", "name": "f", "arguments": "{}"},
            },
            {
                "type": "response.completed",
                "response": {"usage": {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 1}}},
            },
        ],
    ),
    "gemini": (
        lambda: GenerateDecoder("m"),
        [
            {"candidates": [{"content": {"parts": [{"text": "t", "thought": True, "thoughtSignature": "s"}]}}]},
            {"candidates": [{"content": {"parts": [{"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}]}}]},
            {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 5}},
        ],
    ),
    "ollama": (
        lambda: ollama.ChatDecoder("m"),
        [
            {"message": {"thinking": "t", "content": "x"}},
            {"message": {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]}},
            {"done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 5},
        ],
    ),
}
"""A whole answer of each format."""
ODD: tuple[Any, ...] = (
    *(None, True, -7, 7, 1.5, 2**63, 10**30, 1e308, float("inf"), float("nan"), "", "x", "7", "\ud800\0"),
    *([], [1], {}, {"a": {"b": []}}, [[]], "NaN", "x" * 2000),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*path, key))
    return found


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    return value


def stream_of(events: list[Any], new_decoder: Callable[[], Decoder]) -> Any:
    async def answer(_: httpx.Request) -> httpx.Response:
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=body)

    service = ModelService("p", "http://p", {}, None, RetryPolicy(attempts=1))
    service._client = httpx.AsyncClient(base_url="http://p", transport=httpx.MockTransport(answer))
    return service.stream("/", {"model": "m"}, new_decoder)


async def check(events: list[Any], new_decoder: Callable[[], Decoder]) -> None:
    answer = await collect(stream_of(events, new_decoder))
    if answer.error is None:
        assert isinstance(answer.events[-1], Finished)
    for event in answer.events:
        match event:
            case TextDelta() | ThinkingDelta():
                event.text.encode()
            case ToolCallStart():
                assert event.name.isascii()
                assert event.call_id.isascii()
            case ToolArguments():
                event.text.encode()
            case Finished(usage=usage, opaque=opaque):
                numbers = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
                assert all(type(n) is int and 0 <= n <= 2 * MAX_TOKENS for n in numbers)
                for part in opaque:
                    part.data.encode()


@pytest.mark.parametrize("format", ANSWERS)
async def test_any_value_in_any_place_gives_an_answer_or_our_own_error(format: str) -> None:
    new_decoder, events = ANSWERS[format]
    await check(events, new_decoder)
    for path in places(events):
        for odd in ODD:
            await check(replaced(events, path, odd), new_decoder)


@pytest.mark.parametrize("format", ANSWERS)
@seed(3)
@examples(60)
@given(data=st.data())
def test_several_odd_values_at_once_give_an_answer_or_our_own_error(format: str, data: st.DataObject) -> None:
    new_decoder, events = ANSWERS[format]
    anything = st.recursive(
        st.sampled_from(ODD), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    )
    for _ in range(data.draw(st.integers(1, 4))):
        path = data.draw(st.sampled_from(places(events)))
        events = replaced(events, path, data.draw(anything))
    asyncio.run(check(events, new_decoder))


@pytest.mark.parametrize("format", ANSWERS)
async def test_usage_of_another_type_costs_no_answer(format: str) -> None:
    new_decoder, events = ANSWERS[format]
    names = ("usage", "usageMetadata", "prompt_eval_count", "eval_count")
    usages = [path for path in places(events) if any(name in path for name in names)]
    assert usages
    for path in usages:
        for odd in ODD:
            answer = await collect(stream_of(replaced(events, path, odd), new_decoder))
            assert answer.error is None, (path, odd)


REQUESTS: Mapping[str, Callable[[PreparedContext], Any]] = {
    "anthropic": anthropic.request_body,
    "openai": responses.request_body,
    "chat": lambda prepared: chat_completions.request_body(prepared, "chat"),
    "gemini": gemini.request_body,
    "ollama": lambda prepared: ollama.request_body(prepared, 4096),
}
ARGUMENTS = (
    *("", "{", "nonsense", "[]", "null", '{"path":5}', "[" * 50_000, '{"path":"a.txt","start_line":1e400}'),
    *('{"x":-1e999}', '{"path":NaN}', '{"n":' + "9" * 5000 + "}", '{"path":"\\ud800"}', '{"path":"\\u0000"}'),
    *('{"a":' * 3000 + "1" + "}" * 3000, '{"n":99999999999999999999999}', "x" * 1_100_000),
)


@pytest.mark.parametrize("provider", REQUESTS)
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda text: f"{text[:20]} {len(text)}")
def test_no_stored_call_stops_the_requests_after_it(provider: str, arguments: str) -> None:
    call = ToolCallPart("c", "re\ud800ad\x1b" + "n" * 500, arguments)
    body = REQUESTS[provider](context(user("q"), assistant(call), tool_result(call, "r"), user("go on")))
    sent = http._encoded(body)
    assert canonical_json(json.loads(sent))


@pytest.mark.parametrize("provider", REQUESTS)
@pytest.mark.parametrize("data", ["", "nonsense", "[]", "{}", '{"after":"x"}', '{"thinking":7,"item":{},"after":1}'])
def test_no_opaque_part_of_a_file_stops_the_requests_after_it(provider: str, data: str) -> None:
    call = ToolCallPart("c", "f", "{}")
    said = assistant(TextPart("what was said"), call, OpaquePart(provider, "model-x", data))
    body = REQUESTS[provider](context(user("q"), said, tool_result(call, "what was found")))
    sent = http._encoded(body).decode()
    assert "what was said" in sent
    assert "what was found" in sent


def test_refusals_with_any_value_in_them_are_our_own_errors() -> None:
    error = {
        "error": {
            "message": "maximum context length is 5 tokens",
            "code": "context_length_exceeded",
            "type": "t",
            "n_ctx": 5,
            "n_prompt_tokens": 7,
            "details": [{"reason": "r", "retryDelay": "3s", "violations": [{"quotaId": "q"}]}],
        }
    }
    digits = "9" * 6000
    for odd in (*ODD, f"input length exceeds context limit: {digits} + {digits} > {digits}", "context limit: " * 5000):
        for path in places(error):
            refused = faults.from_answer("p", "m", None, replaced(error, path, odd))
            assert isinstance(refused, ProviderError)
            for n in (refused.detail.limit_tokens, refused.detail.projected_tokens):
                assert n is None or 0 < n <= 2 * MAX_TOKENS


async def _no_models(answer: Any) -> None:
    async def fetch(path: str, model: str = "", body: object = None) -> Any:
        return answer

    for client in (
        anthropic.AnthropicClient("k"),
        responses.ResponsesClient("k"),
        chat_completions.ChatCompletionsClient(None, "http://p/v1"),
        gemini.GeminiClient("k"),
        ollama.OllamaClient(),
    ):
        client._service.fetch = fetch  # type: ignore[method-assign]
        for found in await client.models():
            limits = found.limits
            assert limits is None or 0 < limits.window <= MAX_TOKENS
        await client.count_tokens(context(user("q")))


async def test_lists_of_models_with_any_value_in_them_are_read() -> None:
    listed = {
        "data": [{"id": "a", "max_input_tokens": 5, "max_tokens": 5, "meta": {"n_ctx_train": 5}, "context_length": 5}],
        "models": [
            {
                "name": "models/a",
                "model": "a",
                "supportedGenerationMethods": ["generateContent"],
                "inputTokenLimit": 5,
                "outputTokenLimit": 5,
            }
        ],
        "has_more": False,
        "input_tokens": 5,
        "totalTokens": 5,
        "model_info": {"x.context_length": 5},
        "parameters": "num_ctx 5",
        "default_generation_settings": {"n_ctx": 5},
    }
    for path in places(listed):
        for odd in (*ODD, "num_ctx " + "9" * 9):
            await _no_models(replaced(listed, path, odd))
    for odd in ODD:
        await _no_models(odd)
    assert model_lists.tokens(10**30) is None


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/x-ndjson"])
async def test_a_line_without_an_end_is_given_up(content_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_LINE_BYTES", 1000)
    n_sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal n_sent
        for _ in range(1000):
            n_sent += 100
            yield b"data: " + b"x" * 94

    async def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": content_type}, content=endless())

    service = ModelService("p", "http://p", {}, None, RetryPolicy(attempts=1))
    service._client = httpx.AsyncClient(base_url="http://p", transport=httpx.MockTransport(answer))
    ended = await collect(service.stream("/", {"model": "m"}, lambda: ollama.ChatDecoder("m")))
    assert ended.error is not None
    assert n_sent <= 1200


class Piece(str):
    """Text that must not be added to other text: long thinking would be copied once a piece."""

    __slots__ = ()

    def __add__(self, other: str) -> str:
        raise AssertionError("a piece was added")

    __radd__ = __add__


@pytest.mark.parametrize(
    ("decoder", "start", "piece", "end"),
    [
        (
            MessagesDecoder("m"),
            [{"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}],
            {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": Piece("t")}},
            [{"type": "message_stop"}],
        ),
        (
            chat_completions.ChatDecoder("p", "m"),
            [{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": CALL}]}}]}],
            {"choices": [{"delta": {"reasoning_content": Piece("t")}}]},
            [{"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}],
        ),
        (
            ollama.ChatDecoder("m"),
            [{"message": {"tool_calls": [{"id": "c", "function": {"name": "f"}}]}}],
            {"message": {"thinking": Piece("t")}},
            [{"done": True}],
        ),
    ],
    ids=["anthropic", "chat", "ollama"],
)
def test_thinking_of_many_pieces_is_put_together_at_once(
    decoder: Decoder, start: list[Any], piece: Any, end: list[Any]
) -> None:
    for event in [*start, *[piece] * 50, *end]:
        decoder.feed(event)
    finished = decoder.finish()
    assert finished is not None
    assert f'"{"t" * 50}"' in finished.opaque[0].data
