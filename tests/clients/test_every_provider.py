"""Each provider of the table is asked as its entry says, at a service that refuses everything else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.clients.contexts import collect, context, user

from palimpsest.app.model_clients import ClientPool, check_key
from palimpsest.app.stored_keys import StoredKeys
from palimpsest.domain.models.provider import Counted, LiveProvider
from palimpsest.domain.models.providers import BY_NAME, PRESETS, ProviderEntry
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.keys import Keys
from palimpsest_clients.fake.command import announcement
from palimpsest_clients.fake.server import FakeModels

every_provider = pytest.mark.parametrize("entry", BY_NAME.values(), ids=lambda each: each.name)


def announced(entry: ProviderEntry, fake: FakeModels) -> dict[str, str]:
    """The variables of this provider among those that the fake announces."""
    lines = announcement(fake.url, [entry.compatible_format or entry.format]).splitlines()
    pairs = (line.removeprefix("export ").partition("=") for line in lines if "export" in line)
    known = (*entry.key_variables, entry.address_variable, entry.host_variable)
    return {name: value for name, _, value in pairs if name in known}


@asynccontextmanager
async def configured(entry: ProviderEntry, fake: FakeModels, directory: Path) -> AsyncIterator[LiveProvider]:
    """The client of a process whose environment is what the fake announces for this provider."""
    if entry in PRESETS:
        environ = {entry.key_variables[0]: "fake", entry.address_variable: f"{fake.url}/v1"}
    else:
        environ = announced(entry, fake)
    keys = Keys(environ, StoredKeys(directory, lambda: None), check_key)
    pool = ClientPool(environ, keys)
    client = pool.get(Settings())[entry.name]
    assert isinstance(client, LiveProvider)
    try:
        yield client
    finally:
        await pool.aclose()


@every_provider
async def test_a_configured_provider_answers_and_tells_its_models(entry: ProviderEntry, tmp_path: Path) -> None:
    async with FakeModels() as fake, configured(entry, fake, tmp_path) as client:
        answer = await collect(client.stream(context(user("Good day"))))
        assert answer.error is None
        assert answer.text == "You said: Good day"
        assert await client.models()
    assert client.name == entry.name


@every_provider
async def test_a_request_that_the_service_began_with_is_known_before_anything_is_said(
    entry: ProviderEntry, tmp_path: Path
) -> None:
    """A call that is stopped then is in the account of costs."""
    async with FakeModels() as fake, configured(entry, fake, tmp_path) as client:
        answer = await collect(client.stream(context(user("Good day"))))
    assert isinstance(answer.events[0], Counted)


@every_provider
async def test_a_key_stands_in_the_header_of_its_provider_and_nowhere_else(
    entry: ProviderEntry, tmp_path: Path
) -> None:
    async with FakeModels() as fake, configured(entry, fake, tmp_path) as client:
        await collect(client.stream(context(user("Hi"))))
    [asked] = fake.asked
    holding = [name for name, value in asked.headers.items() if value.removeprefix("Bearer ") == "fake"]
    assert len(holding) == bool(entry.key_variables)
    assert not holding or (entry.key_header is not None and holding == [entry.key_header[0]])
    assert "fake" not in asked.target.removeprefix("/v1")
