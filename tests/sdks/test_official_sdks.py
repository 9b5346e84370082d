"""The official SDKs take the fake for the real thing: `make test-sdks`, in an environment of their own.

They judge the wire formats of `palimpsest_clients.fake`. The environment has none of our dependencies, so of the server
the fake imports only the table of providers, which needs the standard library alone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

anthropic: Any = pytest.importorskip("anthropic", reason="`make test-sdks` sets up what this needs")
openai: Any = pytest.importorskip("openai")
ollama: Any = pytest.importorskip("ollama")
genai: Any = pytest.importorskip("google.genai")

from palimpsest_clients.fake.replies import Call, Reply  # noqa: E402
from palimpsest_clients.fake.server import Failure, FakeModels  # noqa: E402

KEY = "sk-fake-0123456789"
ARGUMENTS = {"path": "a.py", "lines": [1, 2]}
CALL = Call("call_1", "read_file", json.dumps(ARGUMENTS))
ODD = Reply().text
"""With U+2028 and U+0085 in it."""
PLAIN = "Plain words, é and 🎉."
ASKED = [{"role": "user", "content": "Hi"}]
UNANSWERED = [
    {"role": "user", "content": "Hi"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}],
    },
    {"role": "user", "content": "And?"},
]


@pytest.fixture
async def fake() -> AsyncIterator[FakeModels]:
    async with FakeModels(limit_tokens=2000) as service:
        yield service


# --- Anthropic --------------------------------------------------------------------------------------------------------


@pytest.fixture
async def claude(fake: FakeModels) -> AsyncIterator[Any]:
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=fake.url, max_retries=2) as client:
        yield client


async def test_anthropic_reads_thinking_text_and_calls(fake: FakeModels, claude: Any) -> None:
    fake.replies.append(Reply(ODD, thinking="Let me see.", calls=(CALL,)))
    async with claude.messages.stream(model="m", max_tokens=100, messages=ASKED) as stream:
        message = await stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    thinking, text, call = message.content
    assert (thinking.thinking, thinking.signature) == ("Let me see.", "c2ln==")
    assert text.text == ODD
    assert (call.id, call.name, call.input) == ("call_1", "read_file", ARGUMENTS)
    assert message.stop_reason == "tool_use"
    assert message.usage.input_tokens == fake.counts[-1]


async def test_anthropic_reads_counts_and_models(fake: FakeModels, claude: Any) -> None:
    assert (await claude.messages.count_tokens(model="m", messages=ASKED)).input_tokens > 0
    models = await claude.models.list()
    assert [model.max_input_tokens for model in models.data] == [2000]


async def test_anthropic_tries_again_where_that_helps(fake: FakeModels, claude: Any) -> None:
    fake.replies += [Failure(529), Failure(429, {"retry-after": "0"}), Reply(PLAIN)]
    async with claude.messages.stream(model="m", max_tokens=100, messages=ASKED) as stream:
        assert await stream.get_final_text() == PLAIN
    assert len(fake.asked) == 3


async def test_anthropic_reads_refusals(fake: FakeModels, claude: Any) -> None:
    def stream(messages: list[dict[str, Any]]) -> Any:
        return claude.messages.stream(model="m", max_tokens=5, messages=messages)

    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        async with stream([{"role": "user", "content": "hi " * 9000}]):
            pass
    use = {"type": "tool_use", "id": "t1", "name": "x", "input": {}}
    with pytest.raises(anthropic.BadRequestError, match="tool_use"):
        async with stream([*ASKED, {"role": "assistant", "content": [use]}, *ASKED]):
            pass
    fake.replies.append(Failure(401))
    with pytest.raises(anthropic.AuthenticationError):
        async with stream(ASKED):
            pass


async def test_anthropic_reads_an_error_in_the_stream(fake: FakeModels, claude: Any) -> None:
    fake.replies.append(Failure(then="error", after=4))
    with pytest.raises(anthropic.APIStatusError) as caught:
        async with claude.messages.stream(model="m", max_tokens=5, messages=ASKED) as stream:
            await stream.get_final_message()
    assert caught.value.type == "overloaded_error"


# --- OpenAI -----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def gpt(fake: FakeModels) -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{fake.url}/v1", max_retries=0) as client:
        yield client


async def test_responses_reads_reasoning_text_and_calls(fake: FakeModels, gpt: Any) -> None:
    fake.replies.append(Reply(ODD, thinking="Let me see.", calls=(CALL,)))
    async with gpt.responses.stream(model="m", input="Hi", store=False) as stream:
        response = await stream.get_final_response()
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
    assert response.output_text == ODD
    assert response.output[0].summary[0].text == "Let me see."
    assert json.loads(response.output[2].arguments) == ARGUMENTS
    assert response.usage.input_tokens == fake.counts[-1]


async def test_responses_reads_counts_refusals_and_errors(fake: FakeModels, gpt: Any) -> None:
    assert (await gpt.responses.input_tokens.count(model="m", input="Hi")).input_tokens > 0
    with pytest.raises(openai.BadRequestError) as caught:
        await gpt.responses.create(model="m", input="hi " * 9000, stream=True, store=False)
    assert caught.value.code == "context_length_exceeded"
    fake.replies.append(Failure(then="error", after=4))
    with pytest.raises(openai.APIError):
        async for _ in await gpt.responses.create(model="m", input="Hi", stream=True, store=False):
            pass


async def test_chat_reads_text_calls_and_usage(fake: FakeModels, gpt: Any) -> None:
    fake.replies.append(Reply(ODD, calls=(CALL,)))
    stream = await gpt.chat.completions.create(
        model="m", messages=ASKED, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == ODD
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    assert (calls[0].id, calls[0].function.name) == ("call_1", "read_file")
    assert json.loads("".join(call.function.arguments or "" for call in calls)) == ARGUMENTS
    assert chunks[-1].usage.prompt_tokens == fake.counts[-1]


async def test_chat_reads_models_refusals_and_errors(fake: FakeModels, gpt: Any) -> None:
    assert [model.id async for model in gpt.models.list()] == ["fake"]
    with pytest.raises(openai.BadRequestError, match="must be followed by tool messages"):
        await gpt.chat.completions.create(model="m", messages=UNANSWERED, stream=True)
    fake.replies.append(Failure(429))
    with pytest.raises(openai.RateLimitError):
        await gpt.chat.completions.create(model="m", messages=ASKED, stream=True)
    fake.replies.append(Failure(then="error", after=2))
    with pytest.raises(openai.APIError):
        async for _ in await gpt.chat.completions.create(model="m", messages=ASKED, stream=True):
            pass


# --- Gemini -----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def gemini(fake: FakeModels) -> AsyncIterator[Any]:
    options = genai.types.HttpOptions(base_url=fake.url, api_version="v1beta")
    client = genai.Client(api_key=KEY, http_options=options)
    yield client
    await client.aio.aclose()
    client.close()


async def test_gemini_reads_thoughts_text_and_calls(fake: FakeModels, gemini: Any) -> None:
    # Plain: whether this SDK keeps U+2028 whole is up to it, not to the fake.
    fake.replies.append(Reply(PLAIN, thinking="Let me see.", calls=(CALL,)))
    stream = await gemini.aio.models.generate_content_stream(model="gemini-x", contents="Hi")
    chunks = [chunk async for chunk in stream]
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
    assert "".join(part.text for part in parts if part.text and part.thought) == "Let me see."
    assert "".join(part.text for part in parts if part.text and not part.thought) == PLAIN
    assert parts[-1].function_call.args == ARGUMENTS
    assert parts[-1].thought_signature
    assert chunks[-1].candidates[0].finish_reason == "STOP"
    assert chunks[-1].usage_metadata.prompt_token_count == fake.counts[-1]


async def test_gemini_reads_counts_and_refusals(fake: FakeModels, gemini: Any) -> None:
    assert (await gemini.aio.models.count_tokens(model="gemini-x", contents="Hi")).total_tokens > 0

    async def ask(text: str) -> None:
        async for _ in await gemini.aio.models.generate_content_stream(model="gemini-x", contents=text):
            pass

    with pytest.raises(genai.errors.ClientError, match="exceeds the maximum number of tokens"):
        await ask("hi " * 9000)
    fake.replies.append(Failure(429))
    with pytest.raises(genai.errors.ClientError) as caught:
        await ask("Hi")
    assert caught.value.status == "RESOURCE_EXHAUSTED"


# --- Ollama -----------------------------------------------------------------------------------------------------------


async def test_ollama_reads_thinking_text_calls_and_models(fake: FakeModels) -> None:
    client = ollama.AsyncClient(host=fake.url)
    fake.replies.append(Reply(PLAIN, thinking="Let me see.", calls=(CALL,)))
    chunks = [chunk async for chunk in await client.chat(model="m", messages=ASKED, stream=True)]
    assert "".join(chunk.message.thinking or "" for chunk in chunks) == "Let me see."
    assert "".join(chunk.message.content or "" for chunk in chunks) == PLAIN
    calls = [call for chunk in chunks for call in chunk.message.tool_calls or ()]
    assert [(call.function.name, call.function.arguments) for call in calls] == [("read_file", ARGUMENTS)]
    assert (chunks[-1].done_reason, chunks[-1].prompt_eval_count) == ("stop", fake.counts[-1])
    assert (await client.show("m")).modelinfo == {"fake.context_length": 2000}
    assert [model.model for model in (await client.list()).models] == ["fake:latest"]


async def test_ollama_reads_refusals(fake: FakeModels) -> None:
    client = ollama.AsyncClient(host=fake.url)
    fake.replies.append(Failure(404, message="model 'm' not found"))
    with pytest.raises(ollama.ResponseError, match="not found"):
        async for _ in await client.chat(model="m", messages=ASKED, stream=True):
            pass


# --- Pictures ---------------------------------------------------------------------------------------------------------


PICTURE = b"\x89PNG\r\n\x1a\nlogin"
DATA = base64.b64encode(PICTURE).decode()
CLAUDES = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
RESPONSES = {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}", "detail": "high"}
CHATS = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}
GEMINIS = {"inlineData": {"mimeType": "image/png", "data": DATA}}
"""As our clients write it (`tests/clients/test_pictures.py` shows that they do)."""


def test_the_types_of_the_sdks_take_our_pictures_in_messages_and_results() -> None:
    from anthropic.types import ImageBlockParam, ToolResultBlockParam  # type: ignore[import-not-found,unused-ignore]
    from google.genai import types  # type: ignore[import-not-found,unused-ignore]
    from openai.types.chat import ChatCompletionContentPartImageParam  # type: ignore[import-not-found,unused-ignore]
    from openai.types.responses import ResponseInputParam  # type: ignore[import-not-found,unused-ignore]
    from pydantic import TypeAdapter

    TypeAdapter(ImageBlockParam).validate_python(CLAUDES)
    result = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}, CLAUDES]}
    TypeAdapter(ToolResultBlockParam).validate_python(result)
    output = {"type": "function_call_output", "call_id": "a", "output": [RESPONSES]}
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}, RESPONSES]}
    TypeAdapter(ResponseInputParam).validate_python([message, output])
    TypeAdapter(ChatCompletionContentPartImageParam).validate_python(CHATS)
    part = types.Part.model_validate(GEMINIS)
    assert (part.inline_data.mime_type, part.inline_data.data) == ("image/png", PICTURE)


async def test_gemini_and_ollama_write_pictures_as_we_do(fake: FakeModels, gemini: Any) -> None:
    part = genai.types.Part.from_bytes(data=PICTURE, mime_type="image/png")
    async for _ in await gemini.aio.models.generate_content_stream(model="gemini-x", contents=[part, "Hi"]):
        pass
    sent = fake.bodies[-1]["contents"][0]["parts"][0]["inlineData"]
    assert (sent["data"], sent.get("mimeType") or sent["mime_type"]) == (DATA, "image/png")  # the service takes both
    client = ollama.AsyncClient(host=fake.url)
    asked = [{"role": "user", "content": "Hi", "images": [PICTURE]}]
    async for _ in await client.chat(model="m", messages=asked, stream=True):
        pass
    assert fake.bodies[-1]["messages"][0]["images"] == [DATA]
