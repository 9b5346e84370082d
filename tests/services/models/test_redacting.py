"""No request of any kind takes a secret out of the process while redaction is on, and the history keeps it."""

from __future__ import annotations

from dataclasses import replace

from tests.clients.contexts import collect, context, user
from tests.services.scripted import ScriptedProvider, says

from palimpsest.data import load_model_table
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.catalog import Models

KEY = "AKIA" + "Q7" * 8


def models(settings: Settings, provider: ScriptedProvider) -> Models:
    return Models(load_model_table(), {provider.name: provider}, {}, settings)


async def sent(settings: Settings, name: str, model: str) -> str:
    """The text that the service of that model gets for a message with a key."""
    provider = ScriptedProvider([says("ok")], name)
    given = models(settings, provider)
    service = given.provider(given.get(model))
    assert service.name == name
    answer = await collect(service.stream(context(user(f"my key is {KEY}, and this is not one: {KEY.lower()}"))))
    assert answer.text == "ok"
    return provider.seen[0].messages[0].text


async def test_a_service_is_sent_a_placeholder_and_the_rest_as_it_was() -> None:
    said = await sent(Settings(), "openai", "gpt-4o")
    assert said == f"my key is [redacted: AWS access key], and this is not one: {KEY.lower()}"


async def test_who_switches_it_off_and_what_stays_in_the_process_sends_what_was_said() -> None:
    assert KEY in await sent(replace(Settings(), redaction=False), "openai", "gpt-4o")
    assert KEY in await sent(Settings(), "offline", "offline")
