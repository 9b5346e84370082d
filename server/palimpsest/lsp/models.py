"""`model/list`, `model/switch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.errors import answers
from palimpsest.wire.models import (
    ListModelsParams,
    ListModelsResult,
    ModelInfo,
    SwitchModelParams,
    SwitchModelResult,
    SwitchOutcome,
)
from palimpsest.wire.usage import LimitsSource

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.contexts import Switch


def register(server: PalimpsestServer) -> None:
    server.feature("palimpsest/model/list")(list_models)
    server.feature("palimpsest/model/switch")(switch)


@answers
async def list_models(ls: PalimpsestServer, params: ListModelsParams) -> ListModelsResult:
    session = await ls.session(None)
    return ListModelsResult(
        [
            ModelInfo(
                name=choice.model.name,
                provider=choice.model.provider,
                window_tokens=choice.model.limits.window,
                max_output_tokens=choice.model.limits.max_output,
                budget_tokens=choice.budget.budget,
                limits_source=LimitsSource(choice.model.source.value),
                is_available=choice.is_available,
                is_default=choice.is_default,
                hint=choice.hint,
            )
            for choice in session.contexts.models.choices()
        ]
    )


@answers
async def switch(ls: PalimpsestServer, params: SwitchModelParams) -> SwitchModelResult:
    from palimpsest.lsp.translate import to_usage

    conversation_id = ConversationId(params.conversation_id)
    session = await ls.session_of(conversation_id)
    done = await session.conversations.switch_model(conversation_id, params.model)
    outcome = _outcome(done)
    return SwitchModelResult(
        outcome=outcome,
        model=done.model.name,
        old_budget=done.old_budget,
        new_budget=done.new_budget,
        usage=to_usage(await session.contexts.usage(conversation_id)),
        needs_summarization=done.needs_summarization if outcome is SwitchOutcome.SHRINKING else None,
        can_restore=done.can_restore if outcome is SwitchOutcome.EXPANDING else None,
    )


def _outcome(done: Switch) -> SwitchOutcome:
    if done.new_budget == done.old_budget:
        return SwitchOutcome.NO_CHANGE
    return SwitchOutcome.SHRINKING if done.new_budget < done.old_budget else SwitchOutcome.EXPANDING
