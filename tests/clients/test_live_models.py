"""What services tell of their models and of a request's size is read in each one's words, and nothing is made up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from tests.clients.contexts import collect, context, user
from tests.clients.fake_provider import KEY, Fault, Raw
from tests.clients.fake_responses import FakeResponses

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.domain.models.limits import ModelLimits
from palimpsest.domain.models.provider import LiveModel, LiveProvider, StreamEvent
from palimpsest_clients.anthropic import AnthropicClient
from palimpsest_clients.openai.chat_completions import ChatCompletionsClient
from palimpsest_clients.openai.responses import ResponsesClient


@pytest.fixture
async def fake() -> AsyncIterator[FakeResponses]:
    async with FakeResponses() as provider:
        yield provider


async def claude(fake: FakeResponses) -> list[LiveModel]:
    async with aclosing(AnthropicClient(KEY, fake.url)) as client:
        return list(await client.models())


async def compatible(fake: FakeResponses, *entries: dict[str, Any]) -> list[LiveModel]:
    fake.answers["/v1/models"] = {"object": "list", "data": list(entries)}
    async with aclosing(ChatCompletionsClient(KEY, f"{fake.url}/v1")) as client:
        return list(await client.models())


def limits_of(models: list[LiveModel]) -> dict[str, ModelLimits | None]:
    return {model.service_name: model.limits for model in models}


async def test_claudes_list_is_read_to_its_last_page(fake: FakeResponses) -> None:
    told = {"max_input_tokens": 1_000_000, "max_tokens": 128_000}
    untold = {"max_input_tokens": 200_000, "max_tokens": None}
    fake.answers = {
        "/v1/models?limit=1000": {"data": [{"id": "claude-a", **told}], "has_more": True, "last_id": "claude a&b"},
        "/v1/models?limit=1000&after_id=claude%20a%26b": {
            "data": [{"id": "claude-b", **untold}, {"id": "claude-c"}],
            "has_more": False,
            "last_id": "claude-c",
        },
    }
    found = limits_of(await claude(fake))
    assert found == {"claude-a": ModelLimits(1_000_000, 128_000), "claude-b": None, "claude-c": None}
    assert {request.headers["anthropic-version"] for request in fake.requests} == {"2026-10-21"}
    assert {request.headers["accept"] for request in fake.requests} == {"application/json"}


async def test_a_list_that_never_ends_is_given_up(fake: FakeResponses) -> None:
    page = {"data": [{"id": "claude-a"}], "has_more": True, "last_id": "x"}
    fake.answers = {"/v1/models?limit=1000": page, "/v1/models?limit=1000&after_id=x": page}
    assert 1 < len(await claude(fake)) <= 10


async def test_openai_names_its_models_and_no_limits(fake: FakeResponses) -> None:
    fake.answers["/v1/models"] = {"data": [{"id": "gpt-6.2-sol", "object": "model", "owned_by": "system"}]}
    async with aclosing(ResponsesClient(KEY, f"{fake.url}/v1")) as client:
        assert await client.models() == [LiveModel("gpt-6.2-sol", None)]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"context_length": 200_000, "top_provider": {"max_completion_tokens": 64_000}}, ModelLimits(200_000, 64_000)),
        (
            {"context_length": 200_000, "top_provider": {"context_length": 100_000, "max_completion_tokens": None}},
            ModelLimits(100_000, 16_384),
        ),
        ({"max_model_len": 32_768, "owned_by": "vllm"}, ModelLimits(32_768, 8_192)),
        ({"context_window": 131_072, "max_completion_tokens": 32_768}, ModelLimits(131_072, 32_768)),
        ({"max_context_length": 3}, ModelLimits(3, 1)),
        ({"context_length": 8_192, "max_completion_tokens": 100_000}, ModelLimits(8_192, 8_192)),
        ({"owned_by": "someone"}, None),
        ({"context_length": None, "top_provider": None, "meta": None}, None),
        ({"context_length": 0}, None),
        ({"context_length": True}, None),
        ({"context_length": "200k", "top_provider": 5}, None),
    ],
    ids=str,
)
async def test_other_services_say_it_in_their_own_words(
    fake: FakeResponses, entry: dict[str, Any], expected: ModelLimits | None
) -> None:
    assert await compatible(fake, {"id": "org/model", **entry}) == [LiveModel("org/model", expected)]


async def test_llama_cpp_is_asked_for_the_window_it_was_started_with(fake: FakeResponses) -> None:
    entry = {"id": "model.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072}}
    fake.answers["/props"] = {"default_generation_settings": {"n_ctx": 8_192}, "total_slots": 4}
    assert limits_of(await compatible(fake, entry)) == {"model.gguf": ModelLimits(8_192, 2_048)}
    del fake.answers["/props"]
    assert limits_of(await compatible(fake, entry)) == {"model.gguf": ModelLimits(131_072, 16_384)}


async def test_lm_studio_tells_the_window_of_what_is_loaded(fake: FakeResponses) -> None:
    listed = [{"id": name, "owned_by": "organization_owner"} for name in ("loaded", "waiting")]
    fake.answers["/api/v0/models"] = {
        "data": [
            {"id": "loaded", "state": "loaded", "max_context_length": 131_072, "loaded_context_length": 4_096},
            {"id": "waiting", "state": "not-loaded", "max_context_length": 131_072},
        ]
    }
    assert limits_of(await compatible(fake, *listed)) == {"loaded": ModelLimits(4_096, 1_024), "waiting": None}
    del fake.answers["/api/v0/models"]
    assert limits_of(await compatible(fake, *listed)) == {"loaded": None, "waiting": None}


@pytest.mark.parametrize("answer", [[{"id": "a"}], {"data": [{"id": "a"}, {"id": 5}, "b", {}]}])
async def test_a_bare_list_and_broken_entries_do_no_harm(fake: FakeResponses, answer: Any) -> None:
    fake.answers["/v1/models"] = answer
    async with aclosing(ChatCompletionsClient(KEY, f"{fake.url}/v1")) as client:
        assert await client.models() == [LiveModel("a", None)]


@pytest.mark.parametrize("answer", [{}, {"data": None}, {"data": {"id": "a"}}, [], 5, None])
async def test_an_answer_that_is_no_list_names_no_models(fake: FakeResponses, answer: Any) -> None:
    fake.answers = {"/v1/models": answer, "/v1/models?limit=1000": answer}
    async with aclosing(ResponsesClient(KEY, f"{fake.url}/v1")) as client:
        assert await client.models() == []
    assert await claude(fake) == []


async def test_a_request_is_counted_as_it_would_be_sent(fake: FakeResponses) -> None:
    asked = context(user("x" * 4000), model="model-x")
    async with (
        aclosing(AnthropicClient(KEY, fake.url)) as claude,
        aclosing(ResponsesClient(KEY, f"{fake.url}/v1")) as gpt,
    ):
        counts = [await claude.count_tokens(asked), await gpt.count_tokens(asked)]
        sent = list(fake.bodies)
        assert (await collect(gpt.stream(asked))).error is None
    assert all(count is not None and count > 1000 for count in counts)
    assert [request.target for request in fake.requests[:2]] == [
        "/v1/messages/count_tokens",
        "/v1/responses/input_tokens",
    ]
    assert set(sent[0]) == {"model", "messages", "system", "tools"}
    assert set(sent[1]) == {"model", "input", "instructions", "tools"}
    assert sent[1].items() <= fake.bodies[2].items()


async def test_services_without_a_count_say_so_and_are_not_asked(fake: FakeResponses) -> None:
    async with aclosing(ChatCompletionsClient(KEY, f"{fake.url}/v1")) as client:
        provider: LiveProvider = client
        assert await provider.count_tokens(context()) is None
    assert fake.requests == []


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Fault(status=503), ErrorKind.OVERLOADED),
        (Fault(status=401), ErrorKind.AUTH),
        (Raw(b"<html>Sign in</html>", "text/html"), ErrorKind.BAD_RESPONSE),
        (Raw(b'{"data": [', "application/json"), ErrorKind.BAD_RESPONSE),
        (Raw(b"", "application/json"), ErrorKind.BAD_RESPONSE),
    ],
)
async def test_a_failure_is_one_of_ours_and_is_not_tried_again(
    fake: FakeResponses, step: Fault | Raw, kind: ErrorKind
) -> None:
    async with aclosing(ResponsesClient(KEY, f"{fake.url}/v1")) as client:
        for ask in (client.models, lambda: client.count_tokens(context())):
            fake.script.append(step)
            with pytest.raises(ProviderError) as caught:
                await ask()
            assert caught.value.kind is kind
            assert KEY not in str(caught.value)
    assert len(fake.requests) == 2


async def test_an_address_where_nobody_answers_is_a_network_error() -> None:
    async with aclosing(ChatCompletionsClient(KEY, "http://127.0.0.1:1/v1")) as client:
        with pytest.raises(ProviderError) as caught:
            await client.models()
    assert caught.value.kind is ErrorKind.NETWORK


def test_a_provider_that_cannot_be_asked_is_told_apart() -> None:
    class Mute:
        name = "mute"

        async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
            raise NotImplementedError
            yield

    assert isinstance(ResponsesClient(KEY), LiveProvider)
    assert not isinstance(Mute(), LiveProvider)
