"""Every way in which a model's service can fail becomes a ProviderError with the right kind, and shows no secret."""

from __future__ import annotations

import asyncio
import errno
import inspect
import json
import os
import socket
import ssl
import subprocess
import sys
import traceback
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st
from tests.clients.contexts import Answer, collect, context, user
from tests.clients.fake_provider import KEY, SUFFIX, FakeProvider, Fault, Format, Raw, Reply, sse
from tests.waiting import WAIT_S

import palimpsest_clients
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import NO_HANDLES, ErrorKind, ProviderError
from palimpsest.domain.models.provider import Pause, StreamEvent, TextDelta
from palimpsest_clients import faults
from palimpsest_clients.anthropic import AnthropicClient
from palimpsest_clients.http import ModelService, transport_error
from palimpsest_clients.openai.chat_completions import ChatCompletionsClient
from palimpsest_clients.retry import RetryPolicy

KINDS = frozenset(
    {
        ErrorKind.AUTH,
        ErrorKind.RATE_LIMITED,
        ErrorKind.QUOTA,
        ErrorKind.OVERLOADED,
        ErrorKind.CONTEXT_TOO_LONG,
        ErrorKind.FILTERED,
        ErrorKind.NETWORK,
        ErrorKind.BAD_RESPONSE,
    }
)
QUICK = RetryPolicy(backoff_s=0.001)
ONCE = RetryPolicy(attempts=1)
BOTH: tuple[Format, ...] = ("anthropic", "chat")


class Client(Protocol):
    def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]: ...

    async def aclose(self) -> None: ...


def client_for(wire: Format, url: str, retry: RetryPolicy = QUICK, key: str = KEY) -> Client:
    if wire == "anthropic":
        return AnthropicClient(key, url, retry=retry)
    return ChatCompletionsClient(key, url + SUFFIX["chat"], retry=retry)


async def ask(wire: Format, url: str, retry: RetryPolicy = QUICK, text: str = "Hi", key: str = KEY) -> Answer:
    async with aclosing(client_for(wire, url, retry, key)) as client:
        return await collect(client.stream(context(user(text))))


def error_of(answer: Answer) -> ProviderError:
    assert answer.error is not None
    assert answer.error.kind in KINDS
    return answer.error


def words(message: str, code: str | None = None, kind: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}


# --- refusals: status x format -> kind --------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", BOTH)
@pytest.mark.parametrize(
    ("status", "kind", "is_retryable"),
    [
        (400, ErrorKind.BAD_RESPONSE, False),
        (401, ErrorKind.AUTH, False),
        (402, ErrorKind.QUOTA, False),
        (403, ErrorKind.AUTH, False),
        (404, ErrorKind.BAD_RESPONSE, False),
        (408, ErrorKind.NETWORK, True),
        (409, ErrorKind.OVERLOADED, True),
        (413, ErrorKind.CONTEXT_TOO_LONG, False),
        (422, ErrorKind.BAD_RESPONSE, False),
        (429, ErrorKind.RATE_LIMITED, True),
        (500, ErrorKind.OVERLOADED, True),
        (502, ErrorKind.OVERLOADED, True),
        (503, ErrorKind.OVERLOADED, True),
        (504, ErrorKind.OVERLOADED, True),
        (529, ErrorKind.OVERLOADED, True),
        (307, ErrorKind.BAD_RESPONSE, False),
    ],
)
@pytest.mark.parametrize("body", [None, "<html>a page of some proxy</html>", []], ids=["own", "html", "array"])
async def test_each_status_has_its_kind(
    fake: FakeProvider, wire: Format, status: int, kind: ErrorKind, is_retryable: bool, body: Any
) -> None:
    fake.script += [Fault(status=status, body=body)] * 2
    error = error_of(await ask(wire, fake.url, RetryPolicy(attempts=2, backoff_s=0.001)))
    assert (error.kind, error.is_retryable) == (kind, is_retryable)
    assert error.detail.provider == ("anthropic" if wire == "anthropic" else "openai")
    assert error.detail.model == "model-x"
    assert f"HTTP {status}" in str(error)
    assert len(fake.requests) == (2 if is_retryable else 1)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, words("You exceeded your current quota", "insufficient_quota"), ErrorKind.QUOTA),
        (400, words("Your credit balance is too low to access the API", kind="invalid_request_error"), ErrorKind.QUOTA),
        (400, words("", "content_filter"), ErrorKind.FILTERED),
        (400, words("Output blocked by content filtering policy"), ErrorKind.FILTERED),
        (403, words("Your input was flagged for violence", "403"), ErrorKind.FILTERED),
        (400, {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}, ErrorKind.AUTH),
        (422, words("detail", kind="internal_error_proxy"), ErrorKind.BAD_RESPONSE),
        (
            400,
            {"object": "error", "message": "maximum context length is 5 tokens", "code": 400},
            ErrorKind.CONTEXT_TOO_LONG,
        ),
        (400, {"error": "input length exceeds the context length"}, ErrorKind.CONTEXT_TOO_LONG),
        (429, words("This would exceed your rate limit of 30,000 input tokens per minute"), ErrorKind.RATE_LIMITED),
    ],
)
def test_words_decide_where_the_status_does_not(status: int, body: Any, kind: ErrorKind) -> None:
    assert faults.from_answer("p", "m", status, body).kind is kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (503, ErrorKind.OVERLOADED),
        ("503", ErrorKind.OVERLOADED),
        ("429", ErrorKind.RATE_LIMITED),
        ("5030", ErrorKind.BAD_RESPONSE),
        (True, ErrorKind.BAD_RESPONSE),
        ([503], ErrorKind.BAD_RESPONSE),
    ],
)
def test_an_error_inside_a_stream_may_hold_its_status_as_number_or_string(code: Any, kind: ErrorKind) -> None:
    assert faults.from_answer("p", "m", None, {"error": {"message": "boom", "code": code}}).kind is kind


@pytest.mark.parametrize(
    ("error", "limit", "projected"),
    [
        ({"message": "prompt is too long: 210000 tokens > 200000 maximum"}, 200_000, 210_000),
        (
            {"message": "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease either"},
            200_000,
            222_000,
        ),
        (
            {
                "message": "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
                "(112946 in the messages, 10000 in the completion)."
            },
            16_384,
            122_946,
        ),
        (
            {"message": "maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens."},
            8_192,
            10_000,
        ),
        ({"message": "maximum context length is 4096 tokens and your request has 100 input tokens"}, 4_096, None),
        (
            {"message": "Input tokens exceed the limit of 272000 tokens. Your messages resulted in 300001."},
            272_000,
            300_001,
        ),
        ({"message": "Your input exceeds the context window", "code": "context_length_exceeded"}, None, None),
        ({"message": "x", "type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256}, 256, 1_407),
        ({"message": "request (5,000 tokens) exceeds the available context size (4,096 tokens)"}, 4_096, 5_000),
        (
            {"message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
            1_048_576,
            1_200_000,
        ),
        ({"message": "Request too large for m on tokens per minute (TPM): Limit 6000, Requested 9000"}, 6_000, 9_000),
        ({"message": "maximum prompt length is 131072 but the request contains 150000 tokens."}, 131_072, 150_000),
        ({"message": "Your request exceeded model token limit: 8192"}, 8_192, None),
        (
            {"message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"},
            32_768,
            40_000,
        ),
    ],
)
def test_a_context_that_is_too_long_tells_its_numbers(
    error: dict[str, Any], limit: int | None, projected: int | None
) -> None:
    found = faults.from_answer("p", "m", 400, {"error": error})
    assert found.kind is ErrorKind.CONTEXT_TOO_LONG
    assert (found.detail.limit_tokens, found.detail.projected_tokens) == (limit, projected)


@pytest.mark.parametrize("wire", BOTH)
async def test_too_long_a_request_is_refused_once_with_numbers(wire: Format) -> None:
    async with FakeProvider(limit_tokens=100) as fake:
        error = error_of(await ask(wire, fake.url, text="x" * 4000))
    assert error.kind is ErrorKind.CONTEXT_TOO_LONG
    assert error.detail.limit_tokens == 100
    assert error.detail.projected_tokens is not None
    assert error.detail.projected_tokens > 1000
    assert len(fake.requests) == 1


def test_every_status_has_a_kind() -> None:
    found = {status: faults.from_answer("p", "m", status, None) for status in range(100, 1000)}
    assert {error.kind for error in found.values()} <= KINDS
    assert {status for status, error in found.items() if not str(error)} == set()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["error", "message", "code", "type", "details", "status", "n_ctx"]), inner)
    ),
    max_leaves=8,
)


HEADERS = st.dictionaries(st.sampled_from(["retry-after", "request-id"]), st.text())


@seed(20261121)
@given(st.none() | st.integers(100, 999), JSON, HEADERS)
def test_any_answer_has_a_kind(status: int | None, body: Any, headers: dict[str, str]) -> None:
    assert faults.from_answer("p", "m", status, body, headers).kind in KINDS


# --- transport --------------------------------------------------------------------------------------------------------


def httpx_errors() -> list[type[Exception]]:
    bases = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError)
    classes = (cls for _, cls in inspect.getmembers(httpx, inspect.isclass))
    found: list[type[Exception]] = [cls for cls in classes if issubclass(cls, bases)]
    assert len(found) > 20
    return found


@pytest.mark.parametrize("cls", httpx_errors(), ids=lambda cls: cls.__name__)
def test_every_httpx_error_is_mapped(cls: type[Exception]) -> None:
    error = transport_error("p", "m", cls.__new__(cls))
    assert error.kind in (ErrorKind.NETWORK, ErrorKind.BAD_RESPONSE)
    assert cls.__name__ in str(error)


def test_a_certificate_that_is_not_trusted_is_no_passing_trouble() -> None:
    error = httpx.ConnectError("x")
    error.__cause__ = OSError()
    error.__cause__.__context__ = ssl.SSLCertVerificationError()
    found = transport_error("p", "m", error)
    assert (found.kind, found.is_retryable) == (ErrorKind.NETWORK, False)
    assert "certificate" in str(found)


@pytest.mark.parametrize(
    ("provider", "base_url", "said"),
    [
        (
            "ollama",
            "http://localhost:11434",
            "ollama could not be reached at http://localhost:11434. Start the service with "
            "`ollama serve`, or check OLLAMA_HOST, then try again.",
        ),
        (
            "openai",
            "http://someone:secret@127.0.0.1:8000/v1",
            "openai could not be reached at http://127.0.0.1:8000. Start the service there, or check "
            "OPENAI_BASE_URL, then try again.",
        ),
        (
            "gemini",
            "https://example.com",
            "gemini could not be reached at https://example.com. Check the network and the address, then try again.",
        ),
    ],
)
def test_a_service_that_is_not_there_is_told_with_its_address_and_the_next_step(
    provider: str, base_url: str, said: str
) -> None:
    assert str(transport_error(provider, "m", httpx.ConnectError("[Errno 111]"), base_url)) == said


async def test_an_ollama_that_does_not_run_is_told_with_its_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets it, and nobody answers
        url = "http://{}:{}".format(*taken.getsockname())
        error = error_of(await ask("anthropic", url))
    assert url in str(error)
    assert "ANTHROPIC_BASE_URL" in str(error)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_process_that_may_open_nothing_more_is_told_so(number: int) -> None:
    error = httpx.ConnectError("All connection attempts failed")
    error.__cause__ = ExceptionGroup("attempts", [OSError(errno.ECONNREFUSED, "no"), OSError(number, "too many")])
    found = transport_error("p", "m", error)
    assert (found.kind, str(found), found.is_retryable) == (ErrorKind.NETWORK, NO_HANDLES, True)


@pytest.mark.parametrize(
    ("url", "is_retryable"),
    [
        ("http://127.0.0.1:1", True),
        ("localhost:8080", False),
        ("ftp://127.0.0.1", False),
        ("", False),
        ("http://[::1", False),
        ("http://127.0.0.1:99999", False),
    ],
)
async def test_an_address_that_leads_nowhere_is_a_network_error(url: str, is_retryable: bool) -> None:
    error = error_of(await ask("anthropic", url))
    assert (error.kind, error.is_retryable) == (ErrorKind.NETWORK, is_retryable)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "gopher://127.0.0.1:1"])
async def test_a_proxy_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    error = error_of(await ask("anthropic", "http://127.0.0.1:1"))
    assert error.kind is ErrorKind.NETWORK
    assert "proxy" in str(error)


async def test_proxies_of_the_environment_are_used(fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", fake.url)
    assert (await ask("anthropic", "http://model.invalid")).error is None
    assert fake.requests[0].target == "http://model.invalid/v1/messages"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert (await ask("anthropic", fake.url)).error is None
    assert fake.requests[1].target == "/v1/messages"


# --- streams that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", BOTH)
@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (Raw(b'{"choices": []}', "application/json"), ErrorKind.BAD_RESPONSE),
        (Raw(b"<html>Sign in</html>", "text/html"), ErrorKind.BAD_RESPONSE),
        (
            Raw(json.dumps(words("Overloaded", kind="overloaded_error")).encode(), "application/json"),
            ErrorKind.OVERLOADED,
        ),
        (Raw(b"data: {\n\n"), ErrorKind.BAD_RESPONSE),
        (Raw(b"data: 5\n\n"), ErrorKind.BAD_RESPONSE),
        (Raw(b"data: " + b"[" * 100_000 + b"\n\n"), ErrorKind.BAD_RESPONSE),
        (Raw(sse({"type": "content_block_start", "choices": [{"delta": {"content": ["x"]}}]})), ErrorKind.BAD_RESPONSE),
        (Raw(sse({"type": "message_start", "message": 5, "choices": {"a": 5}})), ErrorKind.BAD_RESPONSE),
        (Raw(b""), ErrorKind.NETWORK),
        (Raw(b"data: [DONE]\n\n"), ErrorKind.NETWORK),
    ],
    ids=lambda value: value.body[:40].decode() if isinstance(value, Raw) else value,
)
async def test_what_is_no_answer_is_told_apart(fake: FakeProvider, wire: Format, raw: Raw, kind: ErrorKind) -> None:
    fake.script.append(raw)
    answer = await ask(wire, fake.url, ONCE)
    assert error_of(answer).kind is kind
    assert answer.events == []


async def test_an_error_page_without_an_end_is_not_read_to_its_end() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 500 X\r\ncontent-type: text/html\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
        except ConnectionError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with asyncio.timeout(WAIT_S):
        error = error_of(await ask("anthropic", f"http://127.0.0.1:{port}", ONCE))
        server.close()
        await server.wait_closed()
    assert error.kind is ErrorKind.OVERLOADED


# --- retries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", BOTH)
async def test_a_call_is_repeated_until_the_first_delta(fake: FakeProvider, wire: Format) -> None:
    fake.script += [Fault(status=503), Fault(then="drop", after=0), Fault(then="error", after=1), Reply(text="At last")]
    answer = await ask(wire, fake.url)
    assert (answer.text, answer.error, len(fake.requests)) == ("At last", None, 4)
    assert len({json.dumps(body) for body in fake.bodies}) == 1


async def test_the_last_failure_is_told_when_attempts_run_out(fake: FakeProvider) -> None:
    fake.script += [Fault(status=503)] * 3 + [Fault(status=429)]
    assert error_of(await ask("anthropic", fake.url)).kind is ErrorKind.RATE_LIMITED
    assert len(fake.requests) == 4


async def test_a_pause_that_is_asked_for_is_kept(fake: FakeProvider) -> None:
    fake.script.append(Fault(status=429, headers={"retry-after-ms": "120"}))
    started = asyncio.get_running_loop().time()
    assert (await ask("chat", fake.url, RetryPolicy(backoff_s=0))).error is None
    assert asyncio.get_running_loop().time() - started >= 0.12


async def test_a_long_pause_is_told_and_can_be_skipped(fake: FakeProvider) -> None:
    fake.script += [Fault(status=429, headers={"retry-after": "55"}), Fault(status=503, headers={"retry-after": "50"})]
    fake.script.append(Reply(text="Here"))
    pauses, text = [], ""
    async with asyncio.timeout(WAIT_S), aclosing(client_for("anthropic", fake.url)) as client:
        async for event in client.stream(context(user("Hi"))):
            if isinstance(event, Pause):
                pauses.append((event.reason, event.seconds, event.n_failed))
                event.skip()
            elif isinstance(event, TextDelta):
                text += event.text
    told = [("Too many requests to Anthropic.", 55, 1), ("Anthropic is overloaded.", 50, 2)]
    assert (pauses, text, len(fake.requests)) == (told, "Here", 3)


async def test_a_short_pause_is_not_told(fake: FakeProvider) -> None:
    fake.script += [Fault(status=503), Reply(text="Here")]
    answer = await ask("chat", fake.url)
    assert answer.text == "Here"
    assert not any(isinstance(event, Pause) for event in answer.events)


async def test_a_pause_that_nobody_would_sit_through_fails_at_once(fake: FakeProvider) -> None:
    fake.script.append(Fault(status=429, headers={"retry-after": "3600"}))
    async with asyncio.timeout(WAIT_S):
        error = error_of(await ask("chat", fake.url))
    assert (error.detail.retry_after_ms, error.is_retryable, len(fake.requests)) == (3_600_000, True, 1)
    assert "3600 s" in str(error)


@pytest.mark.parametrize(("said", "n_requests"), [("false", 1), ("true", 2)])
async def test_a_service_may_say_whether_to_ask_again(fake: FakeProvider, said: str, n_requests: int) -> None:
    status = 503 if said == "false" else 400
    fake.script.append(Fault(status=status, headers={"x-should-retry": said}))
    await ask("anthropic", fake.url)
    assert len(fake.requests) == n_requests


@pytest.mark.parametrize(
    ("headers", "ms"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2_000),
        ({"retry-after": "0.5", "retry-after-ms": "7"}, 7),
        ({"llm_provider-retry-after": "7"}, 7_000),
        ({"retry-after": "2", "llm_provider-retry-after": "7"}, 2_000),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1.2.3"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after-ms": "1e300"}, 30 * 24 * 3600 * 1000),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], ms: int | None) -> None:
    assert faults.from_answer("p", "m", 429, None, headers).detail.retry_after_ms == ms


def test_retry_after_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    ms = faults.from_answer("p", "m", 429, None, {"retry-after": date}).detail.retry_after_ms
    assert ms is not None
    assert 80_000 <= ms <= 90_000


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def opened() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.mark.parametrize("wire", BOTH)
async def test_neither_key_nor_message_is_shown_by_anything(
    fake: FakeProvider, wire: Format, opened: AsyncExitStack
) -> None:
    text = "my secret plan"
    echo = {"error": {"message": f"{KEY} {text}", "type": KEY, "code": text, "details": {"error_code": KEY}}}
    fake.script += [
        Fault(status=400, body=echo, headers={"request-id": f"{KEY} {text}"}),
        Fault(status=401, body=f"<html>{KEY} {text}</html>"),
        Raw(sse(echo)),
        Raw(f"data: {KEY} {text}\n\n".encode()),
        Raw(sse({"type": "content_block_start", "content_block": text, "choices": [text]})),
        Fault(then="drop"),
    ]
    client = await opened.enter_async_context(aclosing(client_for(wire, fake.url, ONCE)))
    shown = [repr(client), str(client)]
    for _ in range(len(fake.script)):
        answer = await collect(client.stream(context(user(text))))
        error = error_of(answer)
        shown += [repr(error), repr(error.detail), *traceback.format_exception(error)]
    parts = list(vars(client).values())
    shown += [repr(parts), *(repr(vars(part)) for part in parts if isinstance(part, ModelService))]
    assert len(fake.requests) == 6
    assert [line for line in shown if KEY in line or text in line] == []


@pytest.mark.parametrize("key", ["", "  ", "sk-\u2026", "sk a", "sk-a\nX-Evil: 1", "sk-\x00"])
def test_what_cannot_be_a_key_is_refused_without_showing_it(key: str) -> None:
    for make in (AnthropicClient, lambda key: ChatCompletionsClient(key, "http://x")):
        with pytest.raises(ProviderError) as caught:
            make(key)
        assert caught.value.kind is ErrorKind.AUTH
        assert not key.strip() or key not in str(caught.value)


async def test_blanks_around_a_pasted_key_are_dropped(fake: FakeProvider) -> None:
    assert (await ask("chat", fake.url, key=f" {KEY}\n")).error is None


async def test_a_service_that_wants_a_key_where_none_is_known_is_not_said_to_refuse_one(fake: FakeProvider) -> None:
    async with aclosing(ChatCompletionsClient(None, fake.url + SUFFIX["chat"], "box", retry=QUICK)) as client:
        error = error_of(await collect(client.stream(context(user("Hi")))))
    assert error.kind is ErrorKind.AUTH
    assert "none is known" in str(error)
    assert "`palimpsest login box`" in str(error)
    assert "did not accept the key" in str(error_of(await ask("chat", fake.url, key="another")))


# --- cost -------------------------------------------------------------------------------------------------------------


def test_importing_the_package_loads_no_http_stack() -> None:
    roots = [str(Path(path).parent) for path in palimpsest_clients.__path__]
    code = "import sys; before = set(sys.modules); import palimpsest_clients; print(*(set(sys.modules) - before))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(roots)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout.split() == ["palimpsest_clients"]
