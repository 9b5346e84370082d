"""That Palimpsest only searches is told once a conversation, by its first turn without a model, with the next step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.messages import TurnId
from palimpsest.services.models.offline_notice import ELSEWHERE, IN_TERMINAL, IN_VS_CODE, next_step, notice_of, offer_of
from palimpsest.storage.sql import execute


async def turns_of(b: Bench) -> list[TurnId]:
    query = "SELECT id FROM turn ORDER BY user_message_id"
    return await b.store.read(lambda: [TurnId(each) for (each,) in execute(query)])


async def test_it_is_the_first_turn_that_tells(bench: Opener) -> None:
    b = await bench([says("One."), says("Two.")])
    await b.ask("first question", "1")
    await b.ask("second question", "2")
    first, second = await turns_of(b)
    for _ in range(2):
        told = await notice_of(b.store, first, b.session.contexts.models, IN_TERMINAL)
        assert told is not None
        assert "\n" not in told
        assert told.endswith(IN_TERMINAL)
    assert await notice_of(b.store, second, b.session.contexts.models, IN_TERMINAL) is None


async def test_a_service_that_is_set_up_and_silent_is_named_with_its_address(bench: Opener) -> None:
    b = await bench([says("One.")])
    await b.ask("first question", "1")
    (first,) = await turns_of(b)
    models = b.session.contexts.models
    down = replace(models, providers={**models.providers, "ollama": b.provider}, addresses={"ollama": "http://box:1"})
    told = await notice_of(b.store, first, down, IN_TERMINAL)
    assert told is not None
    assert "ollama at http://box:1 does not answer, or has no model yet: start it there" in told
    assert "palimpsest login" not in told
    up = replace(down, live={"ollama/qwen3": models.default().limits})
    assert up.silent() == []


async def test_nothing_is_told_where_a_model_answers(bench: Opener) -> None:
    b = await bench([says("One.")])
    await b.ask("first question", "1")
    await b.store.run(lambda: list(execute("UPDATE turn SET model = 'anthropic/claude'")))
    (first,) = await turns_of(b)
    assert await notice_of(b.store, first, b.session.contexts.models, IN_TERMINAL) is None


async def test_a_model_that_was_set_up_since_is_offered(bench: Opener) -> None:
    b = await bench([says("One.")])
    await b.ask("first question", "1")
    (first,) = await turns_of(b)
    models = b.session.contexts.models
    assert await offer_of(b.store, first, models) is None
    now = replace(models, providers={**models.providers, "anthropic": b.provider})
    offered = await offer_of(b.store, first, now)
    assert offered is not None
    assert f"`/model {now.default().name}`" in offered
    unusable = replace(now, settings=replace(now.settings, model="gpt-4o"))
    assert await offer_of(b.store, first, unusable) is None
    await b.store.run(lambda: list(execute("UPDATE turn SET model = 'claude-sonnet-4-5'")))
    assert await offer_of(b.store, first, now) is None


@pytest.mark.parametrize(
    ("editor", "step"),
    [
        ("Visual Studio Code", IN_VS_CODE),
        ("Visual Studio Code - Insiders", IN_VS_CODE),
        ("VSCodium", IN_VS_CODE),
        ("palimpsest chat", IN_TERMINAL),
        ("Neovim", ELSEWHERE),
        ("", ELSEWHERE),
    ],
)
def test_the_next_step_is_one_of_the_editor_in_use(editor: str, step: str) -> None:
    assert next_step(editor) == step
