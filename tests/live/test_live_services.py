"""Real services answer our clients: a short streamed answer with a tool call each. `make test-live`, with your keys.

Off unless TEST_PALIMPSEST_LIVE=1, and then only for services that the environment names; it costs a little money. The
models can be chosen with TEST_PALIMPSEST_PROVIDER_MODEL, PROVIDER in upper case.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.clients.contexts import READ_FILE, collect, context, user

from palimpsest.app.model_clients import ClientPool, check_key
from palimpsest.app.stored_keys import StoredKeys
from palimpsest.data import load_model_table
from palimpsest.domain.models.provider import StopReason
from palimpsest.domain.models.providers import PROVIDERS, ProviderEntry
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.keys import Keys

LOCAL = "llama3.2"
"""The model of a provider without a key."""
pytestmark = pytest.mark.skipif(os.environ.get("TEST_PALIMPSEST_LIVE") != "1", reason="only for `make test-live`")


@pytest.fixture
def _no_proxies() -> None:
    """Overrides the one of all tests: real services may be behind a proxy."""


@pytest.mark.parametrize("entry", PROVIDERS, ids=lambda each: each.name)
async def test_a_short_answer_with_a_tool_call_arrives(entry: ProviderEntry, tmp_path: Path) -> None:
    keys = Keys(os.environ, StoredKeys(tmp_path, lambda: None), check_key)
    pool = ClientPool(os.environ, keys)
    client = pool.get(Settings()).get(entry.name)
    if client is None:
        pytest.skip(f"the environment has no key or address for {entry.name}")
    small = load_model_table().small_model(entry.name)
    model = os.environ.get(f"TEST_PALIMPSEST_{entry.name.upper()}_MODEL", LOCAL if small is None else small[0])
    asked = context(user("Call read_file for the path notes.txt, at once."), model=model, tools=(READ_FILE,))
    try:
        answer = await collect(client.stream(asked))
    finally:
        await pool.aclose()
    assert answer.error is None, str(answer.error)
    assert [name for name, _ in answer.calls.values()] == ["read_file"]
    assert "notes.txt" in next(iter(answer.calls.values()))[1]
    assert answer.finished.stop_reason is StopReason.TOOL_CALLS
    assert answer.finished.usage.prompt_tokens > 0
