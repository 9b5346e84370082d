"""The Gemini client sends what the API accepts, loses nothing of what comes back, and shows its key nowhere."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st
from tests.clients.contexts import READ_FILE, Answer, assistant, collect, context, user
from tests.clients.fake_gemini import DEFAULT_PARTS, KEY, FakeGemini, check_schema, chunk, error, event, reply, stream
from tests.waiting import WAIT_S

import palimpsest_clients.http
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
from palimpsest.domain.models.provider import Counted, LiveModel, LiveProvider, StopReason, TokenUsage
from palimpsest.domain.tools import ToolSchema
from palimpsest_clients.fake.service import Sent, as_json, cut
from palimpsest_clients.gemini import GeminiClient, request_body
from palimpsest_clients.gemini_schema import supported_schema
from palimpsest_clients.retry import RetryPolicy

MODEL = "gemini-3.6-flash"
QUICK = RetryPolicy(backoff_s=0.001)
TEXT = "".join(part["text"] for part in DEFAULT_PARTS)


@pytest.fixture
async def gemini() -> AsyncIterator[FakeGemini]:
    async with FakeGemini() as service:
        yield service


@pytest.fixture
async def client(gemini: FakeGemini) -> AsyncIterator[GeminiClient]:
    client = GeminiClient(KEY, gemini.url, retry=QUICK)
    yield client
    await client.aclose()


async def ask(client: GeminiClient, *contents: Content, **more: Any) -> Answer:
    async with asyncio.timeout(WAIT_S):
        return await collect(client.stream(context(*contents, **{"model": MODEL, **more})))


def contents_of(*contents: Content, model: str = MODEL, **more: Any) -> list[dict[str, Any]]:
    rendered: list[dict[str, Any]] = request_body(context(*contents, model=model, **more))["contents"]
    return rendered


def error_of(answer: Answer) -> ProviderError:
    assert answer.error is not None
    return answer.error


def call(name: str, arguments: Any, call_id: str | None = None, signature: str | None = None) -> dict[str, Any]:
    described = {"name": name, "args": arguments} | ({"id": call_id} if call_id else {})
    return {"functionCall": described} | ({"thoughtSignature": signature} if signature else {})


# --- what comes back --------------------------------------------------------------------------------------------------


async def test_text_thoughts_and_several_calls_of_one_chunk_arrive(client: GeminiClient, gemini: FakeGemini) -> None:
    arguments = {"path": "é\u2028.py", "lines": [1, 2]}
    gemini.script.append(
        stream(
            chunk({"text": "hm\u2028", "thought": True}),
            chunk({"text": "m", "thought": True}, {"text": "On "}),
            chunk({"text": "it."}, call("read_file", arguments, "c1"), call("list_files", {}), finish="STOP"),
        )
    )
    answer = await ask(client)
    (first, made), calls = list(answer.calls), list(answer.calls.values())
    assert (answer.error, answer.thinking, answer.text) == (None, "hm\u2028m", "On it.")
    assert [name for name, _ in calls] == ["read_file", "list_files"]
    assert [json.loads(text) for _, text in calls] == [arguments, {}]
    assert first == "c1"
    assert made not in ("", "c1")
    assert answer.finished.stop_reason is StopReason.TOOL_CALLS


async def test_calls_that_share_an_id_get_their_own(client: GeminiClient, gemini: FakeGemini) -> None:
    gemini.script.append(reply(call("a", {}, "same"), call("b", {}, "same"), call("c", None)))
    assert list((await ask(client)).calls.values()) == [("a", "{}"), ("b", "{}"), ("c", "{}")]


async def test_everything_said_arrives_wherever_the_bytes_are_cut(client: GeminiClient, gemini: FakeGemini) -> None:
    parts = ({"text": "é\u2028"}, call("a", {"b": "🎉"}, "c1", "c2ln"))
    whole = b"".join(event({"candidates": [{"content": {"parts": [part]}}]}) for part in parts)
    whole += event({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}})
    cuts = [cut(whole, place) for place in range(1, len(whole))] + [cut(whole, *range(1, len(whole)))]
    gemini.script += [Sent(chunks, "text/event-stream") for chunks in cuts]
    expected = None
    for chunks in cuts:
        answer = await ask(client)
        expected = expected or answer
        assert answer == expected, chunks[0][-20:]
    assert expected is not None
    assert (expected.text, expected.calls) == ("é\u2028", {"c1": ("a", '{"b":"🎉"}')})


async def test_what_was_counted_of_the_request_is_told_once_however_often_it_comes(
    client: GeminiClient, gemini: FakeGemini
) -> None:
    counted = {"promptTokenCount": 9, "cachedContentTokenCount": 2}
    chunks = [{"candidates": [{"content": {"parts": [{"text": each}]}}], "usageMetadata": counted} for each in "ab"]
    gemini.script.append(Sent((b"".join(map(event, chunks)),), "text/event-stream"))
    answer = await ask(client)
    assert answer.error is not None
    assert [each for each in answer.events if isinstance(each, Counted)] == [Counted(TokenUsage(7, 2))]


async def test_thoughts_count_as_output_and_cached_tokens_not_as_input(client: GeminiClient) -> None:
    usage = (await ask(client)).finished.usage
    assert usage == TokenUsage(input_tokens=40, cache_read_tokens=60, output_tokens=25)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("STOP", StopReason.END),
        ("OTHER", StopReason.END),
        ("SOMETHING_NEW", StopReason.END),
        ("MAX_TOKENS", StopReason.OUTPUT_LIMIT),
        ("CONTINUATION", StopReason.OUTPUT_LIMIT),
        ("SAFETY", StopReason.FILTERED),
        ("RECITATION", StopReason.FILTERED),
        ("PROHIBITED_CONTENT", StopReason.FILTERED),
        ("SPII", StopReason.FILTERED),
    ],
)
async def test_finish_reasons(client: GeminiClient, gemini: FakeGemini, said: str, reason: StopReason) -> None:
    gemini.script.append(reply({"text": "a"}, finish=said))
    assert (await ask(client)).finished.stop_reason is reason


async def test_calls_cut_off_by_the_output_limit_are_no_ordinary_calls(
    client: GeminiClient, gemini: FakeGemini
) -> None:
    gemini.script.append(reply(call("read_file", {}), finish="MAX_TOKENS"))
    assert (await ask(client)).finished.stop_reason is StopReason.OUTPUT_LIMIT


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE"])
async def test_an_answer_that_failed_is_asked_for_again_only_while_nothing_was_shown(
    client: GeminiClient, gemini: FakeGemini, reason: str
) -> None:
    failed = stream({"candidates": [{"finishReason": reason, "finishMessage": "call: SECRET"}]})
    gemini.script += [failed, reply({"text": "At last"})]
    assert (await ask(client)).text == "At last"
    gemini.script.append(stream(chunk({"text": "Half"}), chunk(finish=reason)))
    answer = await ask(client)
    assert answer.text == "Half"
    assert (error_of(answer).kind, error_of(answer).is_retryable) == (ErrorKind.BAD_RESPONSE, True)
    assert "SECRET" not in str(error_of(answer))
    assert len(gemini.asked) == 3


async def test_a_blocked_prompt_is_an_error_of_its_kind(client: GeminiClient, gemini: FakeGemini) -> None:
    gemini.script.append(stream({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}))
    found = error_of(await ask(client))
    assert (found.kind, found.is_retryable, len(gemini.asked)) == (ErrorKind.FILTERED, False, 1)


async def test_what_later_versions_add_is_ignored(client: GeminiClient, gemini: FakeGemini) -> None:
    news = chunk({"executableCode": {"code": "1"}}, {"novelty": 1}, {"text": ""}, novelty=[1])
    gemini.script.append(stream({"novelty": 1}, news, chunk({"text": "a"}, finish="STOP")))
    answer = await ask(client)
    assert (answer.text, answer.calls, answer.error) == ("a", {}, None)


# --- what is sent -----------------------------------------------------------------------------------------------------


async def test_the_key_is_in_its_header_and_the_model_in_the_address(client: GeminiClient, gemini: FakeGemini) -> None:
    assert (await ask(client)).error is None
    asked = gemini.asked[0]
    assert asked.target == f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    assert asked.headers["x-goog-api-key"] == KEY
    assert asked.body["generationConfig"] == {
        "maxOutputTokens": 1234,
        "thinkingConfig": {"includeThoughts": True},
    }
    assert asked.body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}


@pytest.mark.parametrize(
    ("model", "thinks"),
    [("gemini-2.5-pro", True), ("gemini-flash-latest", True), ("gemini-2.0-flash", False), ("gemma-3-27b-it", False)],
)
def test_thoughts_are_asked_for_where_the_model_has_some(model: str, thinks: bool) -> None:
    assert ("thinkingConfig" in request_body(context(model=model))["generationConfig"]) is thinks


async def test_a_name_that_is_no_path_stays_one_name(client: GeminiClient, gemini: FakeGemini) -> None:
    await ask(client, model="gemini-3?key=x#y")
    assert gemini.asked[0].target == "/v1beta/models/gemini-3%3Fkey%3Dx%23y:streamGenerateContent?alt=sse"


async def test_roles_alternate_and_results_follow_their_calls_at_once(client: GeminiClient, gemini: FakeGemini) -> None:
    one, two = ToolCallPart("c1", "read_file", '{"path":"a"}'), ToolCallPart("c2", "read_file", '{"path": "b')
    history = (
        assistant(TextPart("Done.")),
        user("Look"),
        Content(Role.USER, (AttachmentPart("a.py:1-1", "x = 1\n"), TextPart(" "))),
        assistant(TextPart("Half")),
        assistant(TextPart("Looking"), one, two),
        tool_result(one, "A"),
        user("and be quick"),
        tool_result(two, "no such file", is_error=True),
    )
    assert (await ask(client, *history, model="gemini-2.5-pro")).error is None
    assert gemini.bodies[0]["contents"] == [
        {"role": "user", "parts": [{"text": "[The conversation began earlier.]"}]},
        {"role": "model", "parts": [{"text": "Done."}]},
        {"role": "user", "parts": [{"text": "Look"}, {"text": "```a.py:1-1\nx = 1\n```"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Half"},
                {"text": "Looking"},
                call("read_file", {"path": "a"}, "c1"),
                call("read_file", {"malformed_arguments": '{"path": "b'}, "c2"),
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "A"}}},
                {"functionResponse": {"id": "c2", "name": "read_file", "response": {"error": "no such file"}}},
                {"text": "and be quick"},
            ],
        },
    ]


async def test_what_is_empty_is_not_sent(client: GeminiClient, gemini: FakeGemini) -> None:
    history = (user("Hi"), assistant(), assistant(TextPart(" \n"), ReasoningPart("hm")), user(" "), user("So?"))
    assert (await ask(client, *history, system=" ", tools=())).error is None
    assert set(gemini.bodies[0]) == {"contents", "generationConfig"}
    assert gemini.bodies[0]["contents"] == [{"role": "user", "parts": [{"text": "Hi"}, {"text": "So?"}]}]


def test_no_tool_may_be_called_when_the_context_says_so() -> None:
    body = request_body(context(tool_choice="none"))
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
    assert body["tools"] == request_body(context())["tools"]
    assert "toolConfig" not in request_body(context(tool_choice="none", tools=()))


async def test_signatures_go_back_verbatim_on_the_very_parts_they_came_with(
    client: GeminiClient, gemini: FakeGemini
) -> None:
    gemini.script.append(
        stream(
            chunk({"text": "thought", "thought": True, "thoughtSignature": "s0"}, {"text": "ab"}),
            chunk({"text": "cd", "thoughtSignature": "s1"}),
            chunk({"text": "ef"}, call("read_file", {"path": "a"}, "c1", "s2"), call("read_file", {}, "c2")),
            chunk({"text": "", "thoughtSignature": "s3"}, finish="STOP"),
        )
    )
    answer = await ask(client)
    calls = [ToolCallPart(call_id, *said) for call_id, said in answer.calls.items()]
    # The texts have become one part, as a turn may join them.
    said_again = assistant(ReasoningPart("thought"), TextPart(answer.text), *calls, *answer.finished.opaque)
    follow_up = (user("Hi"), said_again, *(tool_result(each, "ok") for each in calls))
    assert (await ask(client, *follow_up)).error is None
    assert gemini.bodies[1]["contents"][1]["parts"] == [
        {"text": "thought", "thought": True, "thoughtSignature": "s0"},
        {"text": "ab"},
        {"text": "cd", "thoughtSignature": "s1"},
        {"text": "ef"},
        call("read_file", {"path": "a"}, "c1", "s2"),
        call("read_file", {}, "c2"),
        {"text": "", "thoughtSignature": "s3"},
    ]


@pytest.mark.parametrize(("provider", "model"), [("gemini", "gemini-3-pro"), ("openai", MODEL)])
async def test_signatures_of_another_family_stay_home_and_their_calls_are_still_accepted(
    client: GeminiClient, gemini: FakeGemini, provider: str, model: str
) -> None:
    opaque = OpaquePart(provider, model, json.dumps({"at": 0, "length": 1, "signature": "theirs", "thought": ""}))
    calls = [ToolCallPart(f"c{n}", "read_file", "{}") for n in range(2)]
    history = (user("Hi"), assistant(*calls, opaque), *(tool_result(each, "ok") for each in calls))
    assert (await ask(client, *history)).error is None
    sent = gemini.bodies[0]["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in sent] == ["skip_thought_signature_validator", None]
    assert "thoughtSignature" not in json.dumps(contents_of(*history, model="gemini-2.5-pro"))


async def test_a_schema_is_sent_in_the_words_that_gemini_reads(client: GeminiClient, gemini: FakeGemini) -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "definitions": {"Line": {"type": "integer", "exclusiveMinimum": 0}},
        "properties": {
            "pattern": {"type": ["string", "null"], "pattern": "^a", "default": None, "minLength": 1},
            "kind": {"const": "file"},
            "mode": {"enum": ["r", "w", None]},
            "flag": {"enum": [True]},
            "line": {"$ref": "#/definitions/Line", "description": "beside"},
            "wrapped": {"allOf": [{"$ref": "#/definitions/Line"}], "description": "d", "default": 1},
            "both": {
                "allOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"]}],
                "properties": {"b": {}},
            },
            "either": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "number", "multipleOf": 2}}]},
            "any": True,
        },
        "required": ["pattern"],
    }
    tools = (ToolSchema("find", "Finds.", schema), ToolSchema("now", "Tells the time.", {"type": "object"}))
    assert (await ask(client, tools=tools)).error is None
    find, now = gemini.bodies[0]["tools"][0]["functionDeclarations"]
    assert now == {"name": "now", "description": "Tells the time."}
    assert find["parametersJsonSchema"] == {
        "type": "object",
        "additionalProperties": False,
        "$defs": {"Line": {"type": "integer"}},
        "properties": {
            "pattern": {"type": ["string", "null"]},
            "kind": {"enum": ["file"]},
            "mode": {"enum": ["r", "w"]},
            "flag": {},
            "line": {"$ref": "#/$defs/Line"},
            "wrapped": {"$ref": "#/$defs/Line"},
            "both": {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]},
            "either": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]},
            "any": True,
        },
        "required": ["pattern"],
    }


SCHEMAS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["string", "a", "#/definitions/a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("a", "type", "properties", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions"),
                    *("const", "enum", "required", "additionalProperties", "prefixItems", "pattern", "default", "not"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@seed(20261122)
@given(st.dictionaries(st.just("properties"), st.dictionaries(st.just("a"), SCHEMAS)))
def test_any_schema_becomes_one_that_gemini_reads(schema: dict[str, Any]) -> None:
    supported = supported_schema(schema)
    check_schema(supported)
    assert supported_schema(supported) == supported


def test_a_schema_that_adds_to_another_is_not_taken_for_that_one() -> None:
    added = {"properties": {"a": {"type": "string"}}}
    assert supported_schema({"allOf": [{"$ref": "#/$defs/Base"}, added]}) == added
    assert supported_schema({"allOf": [{"$ref": "#/$defs/Base"}], **added}) == added


def test_a_plain_schema_stays_as_it_is() -> None:
    assert supported_schema(READ_FILE.parameters) == READ_FILE.parameters


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "kind", "is_retryable"),
    [
        (400, error(400, "Invalid value"), ErrorKind.BAD_RESPONSE, False),
        (403, error(403, "no", "PERMISSION_DENIED"), ErrorKind.AUTH, False),
        (404, error(404, "no", "NOT_FOUND"), ErrorKind.BAD_RESPONSE, False),
        (429, error(429, "You exceeded your current quota", "RESOURCE_EXHAUSTED"), ErrorKind.RATE_LIMITED, True),
        (
            429,
            error(429, "x", "RESOURCE_EXHAUSTED", {"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}),
            ErrorKind.QUOTA,
            False,
        ),
        (400, error(400, "Please enable billing on x", "FAILED_PRECONDITION"), ErrorKind.QUOTA, False),
        (500, error(500, "x", "INTERNAL"), ErrorKind.OVERLOADED, True),
        (503, error(503, "The model is overloaded.", "UNAVAILABLE"), ErrorKind.OVERLOADED, True),
        (503, [error(503, "in a list, as without alt=sse", "UNAVAILABLE")], ErrorKind.OVERLOADED, True),
    ],
)
async def test_each_refusal_has_its_kind(
    client: GeminiClient, gemini: FakeGemini, status: int, body: Any, kind: ErrorKind, is_retryable: bool
) -> None:
    gemini.script += [as_json(body, status)] * 4
    found = error_of(await ask(client))
    assert (found.kind, found.is_retryable, len(gemini.asked)) == (kind, is_retryable, 4 if is_retryable else 1)
    assert found.detail.provider == "gemini"
    assert found.detail.model == MODEL


async def test_a_context_that_is_too_long_tells_its_numbers() -> None:
    async with FakeGemini(limit_tokens=100) as gemini, aclosing(GeminiClient(KEY, gemini.url)) as client:
        found = error_of(await ask(client, user("x" * 4000)))
    assert found.kind is ErrorKind.CONTEXT_TOO_LONG
    assert found.detail.limit_tokens == 100
    assert (found.detail.projected_tokens or 0) > 1000


@pytest.mark.parametrize("delay", ["0.05s", "3600s"])
async def test_the_pause_that_google_asks_for_is_kept_or_told(
    client: GeminiClient, gemini: FakeGemini, delay: str
) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    gemini.script.append(as_json(error(429, "slow down", "RESOURCE_EXHAUSTED", info), 429))
    answer = await ask(client)
    if delay == "3600s":
        assert error_of(answer).detail.retry_after_ms == 3_600_000
        assert len(gemini.asked) == 1
    else:
        assert answer.text == TEXT
        assert len(gemini.asked) == 2


async def test_the_header_that_asks_for_a_pause_counts_more(client: GeminiClient, gemini: FakeGemini) -> None:
    body = error(429, "slow down", "RESOURCE_EXHAUSTED", {"retryDelay": "1s"})
    gemini.script.append(as_json(body, 429, {"retry-after": "7200"}))
    assert error_of(await ask(client)).detail.retry_after_ms == 7_200_000


@pytest.mark.parametrize(
    "sent",
    [
        Sent((b"data: {\n\n",), "text/event-stream"),
        stream({"candidates": 5}),
        stream({"candidates": [{"content": {"parts": [{"text": ["x"]}]}}]}),
        stream({"candidates": [{"content": {"parts": [call("", {})]}, "finishReason": ["STOP"]}]}),
        stream({"candidates": [{"content": {"parts": [{"functionCall": {"args": {}}}]}}]}),
        as_json([{"candidates": []}]),
    ],
    ids=["broken JSON", "candidates", "text", "reason", "nameless call", "JSON array"],
)
async def test_what_is_no_answer_is_told_apart(client: GeminiClient, gemini: FakeGemini, sent: Sent) -> None:
    gemini.script.append(sent)
    assert error_of(await ask(client)).kind is ErrorKind.BAD_RESPONSE


@pytest.mark.parametrize(
    ("rest", "then", "kind"),
    [
        ((), "end", ErrorKind.NETWORK),
        ((), "drop", ErrorKind.NETWORK),
        ((event(error(503, "The model is overloaded.", "UNAVAILABLE")),), "end", ErrorKind.OVERLOADED),
        ((b"data: {broken\n\n",), "end", ErrorKind.BAD_RESPONSE),
    ],
    ids=["no finish reason", "dropped", "error", "broken JSON"],
)
async def test_an_answer_that_breaks_off_keeps_what_came_and_is_not_asked_again(
    client: GeminiClient, gemini: FakeGemini, rest: tuple[bytes, ...], then: Any, kind: ErrorKind
) -> None:
    gemini.script.append(Sent((event(chunk({"text": "Half"})), *rest), "text/event-stream", then=then))
    answer = await ask(client)
    assert (answer.text, error_of(answer).kind, len(gemini.asked)) == ("Half", kind, 1)


async def test_a_call_is_repeated_until_the_first_delta(client: GeminiClient, gemini: FakeGemini) -> None:
    dropped = Sent((), "text/event-stream", then="drop")
    gemini.script += [as_json({}, 503), dropped, stream(error(503, "x", "UNAVAILABLE"))]
    assert (await ask(client)).text == TEXT
    assert len({json.dumps(body) for body in gemini.bodies}) == 1
    assert len(gemini.asked) == 4


async def test_silence_has_an_end(gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(palimpsest_clients.http, "TIMEOUT", httpx.Timeout(5, read=0.05))
    gemini.script.append(stream(chunk({"text": "Half"}), then="stall"))
    async with aclosing(GeminiClient(KEY, gemini.url)) as client:
        answer = await ask(client)
    assert (answer.text, error_of(answer).kind) == ("Half", ErrorKind.NETWORK)
    assert "in time" in str(answer.error)


@pytest.mark.parametrize("n_chunks", [0, 1])
async def test_cancelling_closes_the_connection(client: GeminiClient, gemini: FakeGemini, n_chunks: int) -> None:
    gemini.script.append(stream(*[chunk({"text": "Half"})] * n_chunks, then="stall"))
    task = asyncio.create_task(ask(client))
    async with asyncio.timeout(WAIT_S):
        await gemini.stalled.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gemini.disconnected.wait()
    assert (await ask(client)).error is None


async def test_calls_share_a_connection(client: GeminiClient, gemini: FakeGemini) -> None:
    for _ in range(3):
        await ask(client)
    assert [asked.connection for asked in gemini.asked] == [1, 1, 1]


async def test_the_key_is_in_no_address_error_log_or_description(
    gemini: FakeGemini, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = f"{KEY}-wrong"
    async with aclosing(GeminiClient(wrong, gemini.url)) as client:
        found = error_of(await ask(client))
        with pytest.raises(ProviderError) as caught:
            await client.models()
        described = [repr(client), repr(vars(client)), repr(vars(client._service))]
    shown = [*traceback.format_exception(found), *traceback.format_exception(caught.value), caplog.text, *described]
    assert (found.kind, caught.value.kind) == (ErrorKind.AUTH, ErrorKind.AUTH)
    assert str(caught.value).startswith("gemini did not accept the key. Check the key. (")
    assert [asked.headers["x-goog-api-key"] for asked in gemini.asked] == [wrong, wrong]
    assert KEY not in "".join([*shown, *(asked.target for asked in gemini.asked)])


# --- limits and counts ------------------------------------------------------------------------------------------------


async def test_the_models_that_write_text_come_with_their_limits(client: GeminiClient, gemini: FakeGemini) -> None:
    provider: LiveProvider = client
    chat = {"supportedGenerationMethods": ["generateContent", "countTokens"]}
    limits = {"inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536}
    gemini.script += [
        as_json({"models": [{"name": "models/gemini-a", **chat, **limits}, 5], "nextPageToken": "a&b="}),
        as_json(
            {
                "models": [
                    {"name": "models/gemini-b", **chat, "inputTokenLimit": 8192},
                    {"name": "models/embedder", "supportedGenerationMethods": ["embedContent"], **limits},
                ]
            }
        ),
    ]
    assert await provider.models() == [
        LiveModel("gemini-a", ModelLimits(1_048_576, 65_536)),
        LiveModel("gemini-b", None),
    ]
    assert [asked.target for asked in gemini.asked] == [
        "/v1beta/models?pageSize=1000",
        "/v1beta/models?pageSize=1000&pageToken=a%26b%3D",
    ]


@pytest.mark.parametrize("body", [{}, [], {"models": 5}, {"models": None, "nextPageToken": None}])
async def test_a_list_of_models_that_is_none_is_empty(client: GeminiClient, gemini: FakeGemini, body: Any) -> None:
    gemini.script.append(as_json(body))
    assert await client.models() == []


async def test_the_whole_request_is_counted(client: GeminiClient, gemini: FakeGemini) -> None:
    asked = context(user("Hi"), model=MODEL)
    assert await client.count_tokens(asked) == 4711
    assert gemini.asked[0].target == f"/v1beta/models/{MODEL}:countTokens"
    assert gemini.bodies[0] == {"generateContentRequest": {"model": f"models/{MODEL}", **request_body(asked)}}
    gemini.script.append(as_json({"totalTokens": "many"}))
    assert await client.count_tokens(asked) is None
