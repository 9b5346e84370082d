"""What is assumed of a model that an editor offers: its limits, the user's before them, and never an exact count."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from palimpsest.data import load_model_table
from palimpsest.domain.limits import LimitsSource
from palimpsest.domain.prepared import PreparedContext
from palimpsest.domain.provider import StreamEvent
from palimpsest.domain.settings import Settings
from palimpsest.services.editor_models import EditorModel, EditorModels
from palimpsest.services.models import Models

GPT = EditorModel("copilot/one", 64_000, 4_000, "gpt-4o", takes_tools=True)
NAME = "editor/copilot/one"


class Host:
    """An editor that is never asked."""

    def complete(self, model: EditorModel, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        raise AssertionError("asked")


def models(*offered: EditorModel, **entries: Any) -> tuple[Models, EditorModels, Host]:
    offers, host = EditorModels(load_model_table()), Host()
    offers.offer(host, offered)
    return Models(load_model_table(), {}, {}, Settings(model="offline"), offered=offers, **entries), offers, host


def test_its_tokens_are_counted_as_its_familys_and_never_exactly() -> None:
    known, offers, host = models(GPT)
    model = known.get(NAME)
    assert load_model_table().find("gpt-4o").is_exact  # type: ignore[union-attr]
    assert (model.tokenizer, model.is_exact) == ("o200k_base", False)
    offers.offer(host, [EditorModel("copilot/one", 64_000, None, "", takes_tools=True)])
    assert known.get(NAME).tokenizer == "cl100k_base"


def test_what_the_user_says_of_it_counts_before_what_its_editor_says() -> None:
    told = models(GPT)[0].get(NAME)
    assert (told.limits.window, told.source) == (64_000, LimitsSource.LIVE)
    known, _, _ = models(
        GPT, model_entries={NAME: {"window": 32_000}}, provider_entries={"editor": {"max_output": 999}}
    )
    model = known.get(NAME)
    assert (model.limits.window, model.limits.max_output, model.source) == (32_000, 999, LimitsSource.OVERRIDE)


def test_limits_outlive_the_offer_and_availability_does_not() -> None:
    known, offers, host = models(GPT)
    assert [choice.is_available for choice in known.choices() if choice.model.name == NAME] == [True]
    offers.withdraw(host)
    assert known.get(NAME).limits.window == 64_000
    assert not known.choice(known.get(NAME)).is_available
    assert NAME not in [choice.model.name for choice in known.choices()]


@pytest.mark.parametrize("model_id", ["", " ", " a", "a\nb", "a" * 201])
def test_a_name_that_nobody_could_type_is_not_taken(model_id: str) -> None:
    _, offers, host = models(GPT)
    offers.offer(host, [EditorModel(model_id, 64_000, None, "", takes_tools=True)])
    assert offers.names() == []
