"""A server that nobody here wrote understands our clients, and they understand it: the LiteLLM proxy on loopback, with
mocked answers on its OpenAI front, and refusals on its Anthropic front as well.

Run by `make test-foreign`, which makes an environment of its own for the proxy; left out otherwise.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Final

import httpx
import pytest
from tests.clients.contexts import collect, context, user

from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.provider import StopReason, TextDelta
from palimpsest_clients.anthropic import AnthropicClient
from palimpsest_clients.openai_compatible import OpenAICompatibleClient
from palimpsest_clients.retry import RetryPolicy

PROXY: Final = os.environ.get("PALIMPSEST_TEST_FOREIGN", "")
pytestmark = [pytest.mark.skipif(not PROXY, reason="make test-foreign starts the proxy"), pytest.mark.timeout(900)]
KEY: Final = "sk-foreign-0123456789"
"""As in litellm.yaml."""
START_S: Final = 600
ONCE: Final = RetryPolicy(attempts=1)
Client = OpenAICompatibleClient | AnthropicClient
FRONTS: Final = ("openai", "anthropic")


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    """Its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = Path(__file__).with_name("litellm.yaml")
    environ = {
        "PATH": os.environ["PATH"],
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "NO_PROXY": "*",
        "PYTHONUNBUFFERED": "1",
    }
    with tempfile.TemporaryDirectory(prefix="palimpsest-foreign-") as home, tempfile.TemporaryFile() as log:
        command = [PROXY, "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        running = subprocess.Popen(command, env={**environ, "HOME": home}, cwd=home, stdout=log, stderr=log)
        try:
            url, end = f"http://127.0.0.1:{port}", time.monotonic() + START_S
            while not _answers(url):
                if running.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    pytest.fail(f"the proxy did not start:\n{log.read()[-4_000:].decode(errors='replace')}")
                time.sleep(0.5)
            yield url
        finally:
            running.terminate()
            running.wait(60)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/liveliness", timeout=5, trust_env=False).is_success
    except httpx.TransportError:
        return False


def build(front: str, url: str, key: str = KEY) -> Client:
    return OpenAICompatibleClient(key, f"{url}/v1", retry=ONCE) if front == "openai" else AnthropicClient(
        key, url, retry=ONCE
    )  # fmt: skip


@pytest.fixture(params=FRONTS)
async def client(request: pytest.FixtureRequest, proxy: str) -> AsyncIterator[Client]:
    async with aclosing(build(request.param, proxy)) as built:
        yield built


# The proxy's Anthropic front answers a mocked stream with plain JSON, so only its refusals can be asked for there.
@pytest.mark.parametrize("client", ["openai"], indirect=True)
async def test_an_answer_streams_whole_with_its_usage(client: Client) -> None:
    answer = await collect(client.stream(context(user("Hi"), model="mocked", tools=())))
    assert answer.error is None
    assert answer.text == "A mocked answer, in some words."
    assert answer.finished.stop_reason is StopReason.END
    assert answer.finished.usage.prompt_tokens > 0


@pytest.mark.parametrize("front", FRONTS)
async def test_a_key_that_is_refused_is_not_quoted(front: str, proxy: str) -> None:
    async with aclosing(build(front, proxy, "sk-wrong-9876543210")) as client:
        error = (await collect(client.stream(context(user("Hi"), model="mocked")))).error
    assert error is not None
    # Without a database the proxy cannot look keys up and says so with a 400, not a 401.
    assert error.kind in (ErrorKind.AUTH, ErrorKind.BAD_RESPONSE)
    assert "9876543210" not in str(error)


async def test_a_rate_limit_is_told_as_one(client: Client) -> None:
    error = (await collect(client.stream(context(user("Hi"), model="limited")))).error
    assert error is not None
    assert error.kind is ErrorKind.RATE_LIMITED


@pytest.mark.parametrize("client", ["openai"], indirect=True)
async def test_a_call_that_is_cancelled_leaves_the_client_usable(client: Client) -> None:
    events = client.stream(context(user("Hi"), model="mocked", tools=()))
    async with asyncio.timeout(60), aclosing(events):
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert (await collect(client.stream(context(user("Hi"), model="mocked", tools=())))).error is None
