"""The Ollama client never lets the server shorten a request, and reads its lines whatever they hold."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx
import pytest
from tests.clients.contexts import Answer, assistant, collect, context, user
from tests.clients.fake_ollama import DEFAULT_TEXTS, FakeOllama, called, done, line, said, stream
from tests.waiting import WAIT_S

import palimpsest_clients.http
from palimpsest.domain.context.prepared import PreparedContext, Segment
from palimpsest.domain.errors import ErrorKind, ProviderError
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
from palimpsest.domain.models.limits import ModelLimits
from palimpsest.domain.models.provider import LiveModel, LiveProvider, StopReason, TokenUsage
from palimpsest_clients.fake.service import Sent, as_json, cut
from palimpsest_clients.ollama import OllamaClient, address_of, request_body
from palimpsest_clients.retry import RetryPolicy

QUICK = RetryPolicy(backoff_s=0.001)
TEXT = "".join(DEFAULT_TEXTS)


@pytest.fixture
async def ollama() -> AsyncIterator[FakeOllama]:
    async with FakeOllama() as service:
        yield service


@pytest.fixture
async def client(ollama: FakeOllama) -> AsyncIterator[OllamaClient]:
    client = OllamaClient(None, ollama.url, retry=QUICK)
    yield client
    await client.aclose()


async def ask(client: OllamaClient, *contents: Content, **more: Any) -> Answer:
    async with asyncio.timeout(WAIT_S):
        return await collect(client.stream(context(*contents, **more)))


def limited(text: str, limit_tokens: int, max_output_tokens: int, model: str = "model-x") -> PreparedContext:
    segment = Segment("message", 1, "live", (user(text),))
    base = context(model=model)
    return PreparedContext(
        base.conversation_id, model, "", (), (segment,), max_output_tokens, 10, limit_tokens, limit_tokens
    )


def messages_of(*contents: Content, **more: Any) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = request_body(context(*contents, **more), 8192)["messages"]
    return messages


def error_of(answer: Answer) -> ProviderError:
    assert answer.error is not None
    return answer.error


# --- what comes back --------------------------------------------------------------------------------------------------


async def test_text_thinking_and_whole_calls_arrive(client: OllamaClient, ollama: FakeOllama) -> None:
    arguments = {"path": "é\u2028\u0085.py", "lines": [1, 2]}
    ollama.script.append(
        stream(
            said(thinking="h\u2028"),
            said(thinking="m"),
            said("On it\u0085."),
            said(tool_calls=[called("read_file", arguments, "c1"), called("list_files", {})]),
            said(tool_calls=[called("list_files", None, "c1")]),
            done(),
        )
    )
    answer = await ask(client)
    ids, calls = list(answer.calls), list(answer.calls.values())
    assert (answer.error, answer.thinking, answer.text) == (None, "h\u2028m", "On it\u0085.")
    assert [(name, json.loads(text)) for name, text in calls] == [
        ("read_file", arguments),
        ("list_files", {}),
        ("list_files", {}),
    ]
    assert ids[0] == "c1"
    assert all(ids)
    assert answer.finished.stop_reason is StopReason.TOOL_CALLS


async def test_everything_said_arrives_wherever_the_bytes_are_cut(client: OllamaClient, ollama: FakeOllama) -> None:
    lines: tuple[dict[str, Any], ...] = (
        {"message": {"content": "é\u2028\u0085", "thinking": "🎉"}},
        {"message": {"tool_calls": [called("a", {"b": "ü"}, "c1")]}},
        {"done": True, "eval_count": 3},
    )
    whole = b"".join(map(line, lines))
    cuts = [cut(whole, place) for place in range(1, len(whole))] + [cut(whole, *range(1, len(whole)))]
    ollama.script += [Sent(chunks, "application/x-ndjson; charset=utf-8") for chunks in cuts]
    expected = None
    for chunks in cuts:
        answer = await ask(client)
        expected = expected or answer
        assert answer == expected, chunks[0][-20:]
    assert expected is not None
    assert (expected.text, expected.thinking) == ("é\u2028\u0085", "🎉")
    assert expected.calls == {"c1": ("a", '{"b":"ü"}')}


async def test_what_was_read_and_written_is_counted(client: OllamaClient, ollama: FakeOllama) -> None:
    ollama.script += [stream(said("a"), done(n_prompt=70, n_answer=9)), stream(said("a"), {"done": True})]
    assert (await ask(client)).finished.usage == TokenUsage(input_tokens=70, output_tokens=9)
    assert (await ask(client)).finished.usage == TokenUsage()


@pytest.mark.parametrize(
    ("reason", "calls", "expected"),
    [
        ("stop", [], StopReason.END),
        ("load", [], StopReason.END),
        ("stop", [called("a", {})], StopReason.TOOL_CALLS),
        ("length", [called("a", {})], StopReason.OUTPUT_LIMIT),
    ],
)
async def test_done_reasons(
    client: OllamaClient, ollama: FakeOllama, reason: str, calls: list[Any], expected: StopReason
) -> None:
    ollama.script.append(stream(said("a", tool_calls=calls), done(reason)))
    assert (await ask(client)).finished.stop_reason is expected


async def test_what_later_versions_add_and_empty_lines_are_ignored(client: OllamaClient, ollama: FakeOllama) -> None:
    lines = (b"\n", line({"novelty": [1]}), b" \r\n", line(said("a", novelty=1)), line(done()))
    ollama.script.append(Sent(lines, "application/x-ndjson"))
    answer = await ask(client)
    assert (answer.text, answer.error) == ("a", None)


# --- what is sent -----------------------------------------------------------------------------------------------------


async def test_the_server_may_not_shorten_the_request(client: OllamaClient, ollama: FakeOllama) -> None:
    answer = await collect(client.stream(limited("x" * 60_000, 20_000, 1_000)))
    body = ollama.bodies[0]
    assert (body["truncate"], body["shift"]) == (False, False)
    assert body["options"] == {"num_ctx": 21_504, "num_predict": 1_000}
    assert answer.finished.usage.input_tokens > 15_000
    found = error_of(await collect(client.stream(limited("x" * 100_000, 20_000, 1_000))))
    assert found.kind is ErrorKind.CONTEXT_TOO_LONG


async def test_the_window_of_a_model_only_grows(client: OllamaClient, ollama: FakeOllama) -> None:
    # Another window would make the server load the model again.
    ollama.shown["other"] = ollama.shown["model-x"]
    for limit, model in ((100, "model-x"), (7_936, "model-x"), (3_000, "model-x"), (100, "other")):
        await collect(client.stream(limited("Hi", limit, 256, model)))
    assert [body["options"]["num_ctx"] for body in ollama.bodies] == [1_024, 8_192, 8_192, 1_024]


async def test_a_call_and_its_result_make_the_round_trip(client: OllamaClient, ollama: FakeOllama) -> None:
    ollama.script.append(stream(said(thinking="hm"), said(tool_calls=[called("read_file", {"path": "a"})]), done()))
    answer = await ask(client)
    [(call_id, (name, arguments))] = answer.calls.items()
    part = ToolCallPart(call_id, name, arguments)
    said_again = assistant(ReasoningPart("hm"), TextPart(" "), part, *answer.finished.opaque)
    follow_up = (user("Hi"), said_again, user("be quick"), tool_result(part, "A\u2028"))
    assert (await ask(client, *follow_up)).error is None
    assert ollama.bodies[1]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "",
            "thinking": "hm",
            "tool_calls": [{"id": call_id, "function": {"name": "read_file", "arguments": {"path": "a"}}}],
        },
        {"role": "tool", "tool_name": "read_file", "tool_call_id": call_id, "content": "A\u2028"},
        {"role": "user", "content": "be quick"},
    ]


@pytest.mark.parametrize(
    ("provider", "model", "goes_back"),
    [
        ("ollama", "qwen:8b", True),
        ("ollama", "qwen:latest", False),
        ("ollama", "llama:8b", False),
        ("openai", "qwen:8b", False),
    ],
)
def test_thinking_goes_back_to_its_own_family(provider: str, model: str, goes_back: bool) -> None:
    opaque = OpaquePart(provider, model, '{"thinking":"hm"}')
    part = ToolCallPart("c1", "read_file", "{}")
    sent = messages_of(user("Hi"), assistant(part, opaque), tool_result(part, "ok"), model="qwen:8b")[2]
    assert ("thinking" in sent) is goes_back


def test_a_model_and_its_latest_are_one_family() -> None:
    part = ToolCallPart("c1", "read_file", "{}")
    opaque = OpaquePart("ollama", "qwen:latest", '{"thinking":"hm"}')
    assert messages_of(user("Hi"), assistant(part, opaque), tool_result(part, "ok"), model="qwen")[2]["thinking"]


def test_messages_of_one_role_are_merged_and_what_is_empty_is_not_sent() -> None:
    history = (
        user("Look"),
        Content(Role.USER, (AttachmentPart("a.py:1-1", "x = 1\n"),)),
        assistant(),
        assistant(TextPart("Half")),
        assistant(TextPart("done")),
        user(" "),
    )
    assert messages_of(*history, system=" ") == [
        {"role": "user", "content": "Look\n\n```a.py:1-1\nx = 1\n```"},
        {"role": "assistant", "content": "Half\n\ndone"},
    ]


async def test_malformed_arguments_can_be_sent(client: OllamaClient, ollama: FakeOllama) -> None:
    part = ToolCallPart("c1", "read_file", '{"path": "a')
    assert (await ask(client, user("Hi"), assistant(part), tool_result(part, "bad JSON"))).error is None
    sent = ollama.bodies[0]["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert sent == {"malformed_arguments": '{"path": "a'}


async def test_the_models_own_window_is_asked_for_where_the_request_names_it(
    client: OllamaClient, ollama: FakeOllama
) -> None:
    for window in (0, 32_768):
        request = replace(limited("Hi", 20_000, 1_000), window_tokens=window)
        assert (await collect(client.stream(request))).error is None
    assert [body["options"]["num_ctx"] for body in ollama.bodies] == [21_504, 32_768]


def test_no_tool_is_offered_when_none_may_be_called() -> None:
    assert "tools" not in request_body(context(tool_choice="none"), 8192)
    [tool] = request_body(context(), 8192)["tools"]
    assert tool["type"] == "function"
    assert tool["function"]["parameters"]["type"] == "object"


# --- what goes wrong --------------------------------------------------------------------------------------------------


async def test_a_model_that_was_not_pulled_is_named_with_what_to_do(client: OllamaClient, ollama: FakeOllama) -> None:
    found = error_of(await ask(client, model="qwen3:8b"))
    assert (found.kind, found.is_retryable, len(ollama.asked)) == (ErrorKind.BAD_RESPONSE, False, 1)
    assert "ollama pull qwen3:8b" in str(found)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("an error was encountered while running the model: unexpected EOF", ErrorKind.OVERLOADED),
        ('POST predict: Post "http://127.0.0.1:40213/completion": EOF', ErrorKind.OVERLOADED),
        ("unexpected EOF", ErrorKind.OVERLOADED),
        ("an error was encountered while running the model: CUDA error: out of memory", ErrorKind.OVERLOADED),
        ("llama runner process has terminated: cudaMalloc failed: out of memory", ErrorKind.OVERLOADED),
        ("llama runner process no longer running: 2", ErrorKind.OVERLOADED),
        ("server busy, please try again.  maximum pending requests exceeded", ErrorKind.OVERLOADED),
        ("timed out waiting for llama runner to start", ErrorKind.OVERLOADED),
        ("the prompt's JSON ended with an unexpected EOF", ErrorKind.BAD_RESPONSE),
        ("boom", ErrorKind.BAD_RESPONSE),
    ],
)
async def test_a_server_that_gives_up_while_it_answers_is_asked_again_and_may_be_replaced(
    client: OllamaClient, ollama: FakeOllama, said: str, kind: ErrorKind
) -> None:
    ollama.script += [stream({"error": said})] * 4
    found = error_of(await ask(client))
    assert (found.kind, len(ollama.asked) > 1) == (kind, kind is ErrorKind.OVERLOADED)
    assert said not in str(found)


async def test_a_model_without_tools_is_named_with_what_to_do(client: OllamaClient, ollama: FakeOllama) -> None:
    ollama.shown["model-x"]["capabilities"] = ["completion"]
    found = error_of(await ask(client))
    assert (found.kind, found.is_retryable) == (ErrorKind.BAD_RESPONSE, False)
    assert "cannot use tools" in str(found)
    assert (await ask(client, tools=())).error is None


@pytest.mark.parametrize(
    ("status", "body", "kind", "limit", "projected"),
    [
        (400, {"error": "input length exceeds the context length"}, ErrorKind.CONTEXT_TOO_LONG, None, None),
        (
            400,
            {"error": "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"},
            ErrorKind.CONTEXT_TOO_LONG,
            4096,
            5000,
        ),
        (
            400,
            {"error": {"type": "exceed_context_size_error", "message": "x", "n_prompt_tokens": 5000, "n_ctx": 4096}},
            ErrorKind.CONTEXT_TOO_LONG,
            4096,
            5000,
        ),
        (400, {"error": "json: cannot unmarshal SECRET"}, ErrorKind.BAD_RESPONSE, None, None),
        (500, {"error": "model requires more system memory (9 GiB) SECRET"}, ErrorKind.OVERLOADED, None, None),
        (503, {"error": "server busy, please try again. SECRET"}, ErrorKind.OVERLOADED, None, None),
    ],
)
async def test_each_refusal_has_its_kind_and_numbers_and_is_not_quoted(
    client: OllamaClient,
    ollama: FakeOllama,
    status: int,
    body: Any,
    kind: ErrorKind,
    limit: int | None,
    projected: int | None,
) -> None:
    ollama.script += [as_json(body, status)] * 4
    found = error_of(await ask(client))
    assert (found.kind, found.detail.limit_tokens, found.detail.projected_tokens) == (kind, limit, projected)
    assert "SECRET" not in str(found)
    assert len(ollama.asked) == (4 if kind is ErrorKind.OVERLOADED else 1)


async def test_too_little_memory_is_named_with_what_to_do(client: OllamaClient, ollama: FakeOllama) -> None:
    said_no = {"error": "model requires more system memory (9.1 GiB) than is available (3.2 GiB)"}
    ollama.script += [as_json(said_no, 500)] * 4
    assert "smaller window" in str(error_of(await ask(client)))


@pytest.mark.parametrize(
    ("rest", "then", "kind"),
    [
        ((), "end", ErrorKind.NETWORK),
        ((), "drop", ErrorKind.NETWORK),
        ((b'{"message":{"content":"cut o',), "end", ErrorKind.NETWORK),
        ((line({"error": "model runner has unexpectedly stopped"}),), "end", ErrorKind.OVERLOADED),
        ((line({"error": "SECRET"}),), "end", ErrorKind.BAD_RESPONSE),
        ((b"{broken SECRET\n",), "end", ErrorKind.BAD_RESPONSE),
        ((line({"message": {"content": ["SECRET"]}}),), "end", ErrorKind.BAD_RESPONSE),
        ((line({"message": {"tool_calls": [{"function": {}}]}}),), "end", ErrorKind.BAD_RESPONSE),
    ],
    ids=["not done", "dropped", "half a line", "runner stopped", "error", "broken JSON", "no text", "nameless call"],
)
async def test_an_answer_that_breaks_off_keeps_what_came_and_is_not_asked_again(
    client: OllamaClient, ollama: FakeOllama, rest: tuple[bytes, ...], then: Any, kind: ErrorKind
) -> None:
    ollama.script.append(Sent((line(said("Half")), *rest), "application/x-ndjson", then=then))
    answer = await ask(client)
    assert (answer.text, error_of(answer).kind, len(ollama.asked)) == ("Half", kind, 1)
    assert "SECRET" not in str(answer.error)


async def test_a_call_is_repeated_until_the_first_delta(client: OllamaClient, ollama: FakeOllama) -> None:
    dropped = Sent((), "application/x-ndjson", then="drop")
    paused = as_json({"error": "busy"}, 503, {"retry-after-ms": "20"})
    ollama.script += [paused, dropped, stream({"error": "model runner has unexpectedly stopped"})]
    assert (await ask(client)).text == TEXT
    assert len({json.dumps(body) for body in ollama.bodies}) == 1
    assert len(ollama.asked) == 4


async def test_a_pause_that_nobody_would_sit_through_fails_at_once(client: OllamaClient, ollama: FakeOllama) -> None:
    ollama.script.append(as_json({"error": "busy"}, 503, {"retry-after": "3600"}))
    assert error_of(await ask(client)).detail.retry_after_ms == 3_600_000
    assert len(ollama.asked) == 1


async def test_silence_has_an_end(ollama: FakeOllama, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(palimpsest_clients.http, "TIMEOUT", httpx.Timeout(5, read=0.05))
    ollama.script.append(stream(said("Half"), then="stall"))
    async with aclosing(OllamaClient(None, ollama.url)) as client:
        answer = await ask(client)
    assert (answer.text, error_of(answer).kind) == ("Half", ErrorKind.NETWORK)
    assert "in time" in str(answer.error)


@pytest.mark.parametrize("n_lines", [0, 1])
async def test_cancelling_closes_the_connection(client: OllamaClient, ollama: FakeOllama, n_lines: int) -> None:
    ollama.script.append(stream(*[said("Half")] * n_lines, then="stall"))
    task = asyncio.create_task(ask(client))
    async with asyncio.timeout(WAIT_S):
        await ollama.stalled.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await ollama.disconnected.wait()
    assert (await ask(client)).error is None


async def test_closing_the_iterator_closes_the_connection(client: OllamaClient, ollama: FakeOllama) -> None:
    ollama.script.append(stream(said("Half"), then="stall"))
    async with asyncio.timeout(WAIT_S):
        async with aclosing(client.stream(context())) as events:
            await anext(events)
        await ollama.disconnected.wait()
    assert ollama.disconnected.is_set()


async def test_no_key_is_sent_and_calls_share_a_connection(client: OllamaClient, ollama: FakeOllama) -> None:
    for _ in range(3):
        await ask(client)
    assert [asked.connection for asked in ollama.asked] == [1, 1, 1]
    assert ollama.asked[0].target == "/api/chat"
    assert not {"authorization", "x-api-key"} & set(ollama.asked[0].headers)


async def test_a_server_that_does_not_run_is_a_network_error() -> None:
    async with aclosing(OllamaClient(None, "http://127.0.0.1:1", retry=RetryPolicy(attempts=1))) as client:
        assert error_of(await ask(client)).kind is ErrorKind.NETWORK


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("gpu", "http://gpu:11434"),
        ("gpu:80", "http://gpu:80"),
        (":8080", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("[::1]", "http://[::1]:11434"),
        ('"0.0.0.0:1234"', "http://127.0.0.1:1234"),
        ("https://gpu.example/ollama/", "https://gpu.example/ollama"),
    ],
)
def test_an_address_is_what_ollama_makes_of_it(host: str, address: str) -> None:
    assert address_of(host) == address


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trained", "parameters", "window"),
    [
        (8_192, None, 8_192),
        (131_072, "stop <|im_end|>\ntemperature 0.6", 32_768),
        (131_072, "temperature 0.6\nnum_ctx                        65536\nstop x", 65_536),
        (4_096, "num_ctx 65536", 4_096),
        (None, "num_ctx 16384", 16_384),
        (None, None, None),
        ("many", 5, None),
    ],
)
async def test_the_window_is_what_the_model_can_take_and_its_file_asks_for(
    client: OllamaClient, ollama: FakeOllama, trained: Any, parameters: Any, window: int | None
) -> None:
    info = {"general.architecture": "qwen3", "qwen3.context_length": trained, "qwen3.block_count": 28}
    ollama.shown["model-x"] = {"model_info": info, "parameters": parameters}
    limits = None if window is None else ModelLimits(window, window)
    assert await client.models() == [LiveModel("model-x", limits)]


async def test_the_models_that_can_chat_are_listed(client: OllamaClient, ollama: FakeOllama) -> None:
    provider: LiveProvider = client
    info = {"llama.context_length": 8_192}
    ollama.shown = {
        "llama:8b": {"capabilities": ["completion"], "model_info": info},
        "embedder": {"capabilities": ["embedding"], "model_info": info},
        "odd": [],
    }
    ollama.shown["seer"] = {"capabilities": ["completion", "vision"], "model_info": info}
    assert await provider.models() == [
        LiveModel("llama:8b", ModelLimits(8_192, 8_192, images=False)),
        LiveModel("odd", None),
        LiveModel("seer", ModelLimits(8_192, 8_192, images=True)),
    ]
    assert sorted(asked.target for asked in ollama.asked) == ["/api/show"] * 4 + ["/api/tags"]


async def test_a_model_that_cannot_be_asked_about_has_no_limits(client: OllamaClient, ollama: FakeOllama) -> None:
    ollama.script.append(as_json({"models": [{"name": "gone"}, {"size": 1}, 5]}))
    assert await client.models() == [LiveModel("gone", None)]


async def test_a_place_without_ollama_is_named(client: OllamaClient, ollama: FakeOllama) -> None:
    ollama.script.append(Sent((b"404 page not found",), "text/plain", 404))
    with pytest.raises(ProviderError, match=r"^ollama has nothing at this place\. Check its base address\."):
        await client.models()


@pytest.mark.parametrize("body", [{}, [], {"models": 5}, {"models": None}])
async def test_a_list_of_models_that_is_none_is_empty(client: OllamaClient, ollama: FakeOllama, body: Any) -> None:
    ollama.script.append(as_json(body))
    assert await client.models() == []


async def test_ollama_counts_nothing_beforehand(client: OllamaClient, ollama: FakeOllama) -> None:
    assert await client.count_tokens(context()) is None
    assert ollama.asked == []
