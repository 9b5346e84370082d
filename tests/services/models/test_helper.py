"""A helping model's call is in the account when its service did something, and only then."""

from __future__ import annotations

import pytest
from tests.services.scripted import Action, ScriptedProvider

from palimpsest.data import load_model_table
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.errors import ErrorKind, ProviderError
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.models.limits import compute_budget, with_window
from palimpsest.domain.models.provider import Counted, Pause, TextDelta, TokenUsage
from palimpsest.services.models.helper import HelpingModel
from palimpsest.storage.model_calls import ModelCall

BUSY = ProviderError(ErrorKind.OVERLOADED, "The service is busy.")


@pytest.mark.parametrize(
    ("came", "n_kept"),
    [
        ([], 0),
        ([Pause("It is busy.", 1.0, 1, lambda: None)], 0),
        ([TextDelta("It")], 1),
        ([Counted(TokenUsage())], 0),
        ([Counted(TokenUsage(5))], 1),
    ],
)
async def test_only_an_answer_that_began_is_paid_for(came: list[Action], n_kept: int) -> None:
    kept: list[ModelCall] = []

    async def keep(call: ModelCall, _about: ConversationId | None) -> None:
        kept.append(call)

    model = load_model_table().find("offline")
    assert model is not None
    model = with_window(model, 20_000)
    provider = ScriptedProvider([[*came, BUSY]])
    helping = HelpingModel(provider, model, compute_budget(model.limits), count_bytes, keep=keep)
    with pytest.raises(ProviderError):
        await helping.ask("Do it.", "What is it?", "facts")
    assert len(kept) == n_kept
