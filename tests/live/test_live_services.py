"""Real services answer our clients: a short streamed answer with a tool call each. `make test-live`, with your keys.

Off unless TEST_PALIMPSEST_LIVE=1, and then only for services that the environment names; it costs a little money. The
models can be chosen with TEST_PALIMPSEST_ANTHROPIC_MODEL, _OPENAI_MODEL, _GEMINI_MODEL and _OLLAMA_MODEL.
"""

from __future__ import annotations

import os

import pytest
from tests.clients.contexts import READ_FILE, collect, context, user

from palimpsest.app.model_clients import ModelClient, address_of, build_client
from palimpsest.app.stored_keys import environment_keys
from palimpsest.domain.models.provider import StopReason
from palimpsest.domain.settings.settings import Settings
from palimpsest_clients import ollama

MODELS = {
    "anthropic": "claude-haiku-4-5",
    "openai": "gpt-5-nano",
    "gemini": "gemini-3.6-flash",
    "ollama": "llama3.2",
}
pytestmark = pytest.mark.skipif(os.environ.get("TEST_PALIMPSEST_LIVE") != "1", reason="only for `make test-live`")


@pytest.fixture
def _no_proxies() -> None:
    """Overrides the one of all tests: real services may be behind a proxy."""


def client_of(provider: str) -> ModelClient | None:
    if provider == "ollama":
        host = os.environ.get("OLLAMA_HOST")
        return ollama.OllamaClient(ollama.address_of(host)) if host else None
    key = environment_keys(os.environ).get(provider)
    return None if key is None else build_client(provider, key, address_of(os.environ, Settings(), provider))


@pytest.mark.parametrize("provider", MODELS)
async def test_a_short_answer_with_a_tool_call_arrives(provider: str) -> None:
    client = client_of(provider)
    if client is None:
        pytest.skip(f"the environment has no key or address for {provider}")
    model = os.environ.get(f"TEST_PALIMPSEST_{provider.upper()}_MODEL", MODELS[provider])
    asked = context(user("Call read_file for the path notes.txt, at once."), model=model, tools=(READ_FILE,))
    try:
        answer = await collect(client.stream(asked))
    finally:
        await client.aclose()
    assert answer.error is None, str(answer.error)
    assert [name for name, _ in answer.calls.values()] == ["read_file"]
    assert "notes.txt" in next(iter(answer.calls.values()))[1]
    assert answer.finished.stop_reason is StopReason.TOOL_CALLS
    assert answer.finished.usage.prompt_tokens > 0
