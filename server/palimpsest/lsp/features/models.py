"""`model/list`, `model/status`, `model/switch`."""

from __future__ import annotations

from palimpsest.domain.context.model_switch import Expanding, NoChange, Shrinking
from palimpsest.domain.messages import ConversationId
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.lsp.to_wire import to_usage
from palimpsest.services.context.model_status import model_status
from palimpsest.services.context.reports import usage_status
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.models.catalog import ModelChoice
from palimpsest.wire.areas.models import (
    ListModelsParams,
    ListModelsResult,
    ModelCalibration,
    ModelInfo,
    ModelStatusParams,
    ModelStatusResult,
    SwitchModelParams,
    SwitchModelResult,
    SwitchOutcome,
)
from palimpsest.wire.areas.usage import LimitsSource


async def list_models(ls: PalimpsestServer, params: ListModelsParams) -> ListModelsResult:
    await (await ls.folders()).look_for_keys()
    session = await ls.session(None)
    models = session.contexts.models
    return ListModelsResult([_to_info(choice) for choice in models.choices()], models.silent() or None)


async def status(ls: PalimpsestServer, params: ModelStatusParams) -> ModelStatusResult:
    await (await ls.folders()).look_for_keys()
    if params.conversation_id is None:
        found = await model_status((await ls.session(None)).contexts, None)
    else:
        session = await ls.session_of(params.conversation_id)
        found = await model_status(session.contexts, ConversationId(params.conversation_id))
    line = found.calibration
    return ModelStatusResult(
        _to_info(found.choice),
        ModelCalibration(found.tokenizer, line.factor, line.sigma, line.overhead, line.weight),
        max_input_tokens=found.choice.model.limits.max_input,
        learned_limit_tokens=found.learned_limit,
        last_error=None if found.newest_error is None else found.newest_error.value,
    )


async def switch(ls: PalimpsestServer, params: SwitchModelParams) -> SwitchModelResult:
    await (await ls.folders()).look_for_keys()
    conversation_id = ConversationId(params.conversation_id)
    session = await ls.session_of(conversation_id)
    done = await session.conversations.switch_model(conversation_id, params.model)
    doubt_model(ls, session, params.model)
    usage = to_usage(await usage_status(session.contexts, conversation_id))
    model = done.model.name
    match done.adaptation:
        case NoChange(budget):
            return SwitchModelResult(SwitchOutcome.NO_CHANGE, model, budget, budget, usage)
        case Shrinking(old, new, needs):
            return SwitchModelResult(SwitchOutcome.SHRINKING, model, old, new, usage, needs_summarization=needs)
        case Expanding(old, new, n_restored):
            return SwitchModelResult(SwitchOutcome.EXPANDING, model, old, new, usage, can_restore=n_restored)


def doubt_model(ls: PalimpsestServer, session: FolderSession, name: str) -> None:
    """Warns the user that a model's name looks misspelled. The name is used all the same."""
    if (doubt := session.contexts.models.doubt(name)) is not None:
        ls.warn(doubt)


def _to_info(choice: ModelChoice) -> ModelInfo:
    return ModelInfo(
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
