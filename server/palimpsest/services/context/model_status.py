"""What is known of one model: whether it can be used, what it may be sent, how it counts, and how it failed last."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.domain.context.calibration import Calibration
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import ConversationId
from palimpsest.services.context.counting import key_of
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.models.catalog import ModelChoice
from palimpsest.storage import models as stored


@dataclass(frozen=True, slots=True)
class ModelStatus:
    choice: ModelChoice
    tokenizer: str
    """The one that counts, which is `bytes` where no vocabulary could be loaded."""
    calibration: Calibration
    """The family's start where nothing was learned in this folder."""
    learned_limit: int | None
    """Input tokens."""
    newest_error: ErrorKind | None
    """None when its newest turn in this folder did not fail."""


async def model_status(contexts: ContextEngine, conversation_id: ConversationId | None) -> ModelStatus:
    """Of the conversation's model; of the one for new conversations without a conversation. Raises NotFound."""
    models = contexts.models
    if conversation_id is None:
        model = models.get(models.default_name())
    else:
        model = models.assume((await contexts.state(conversation_id)).record.model)
    tokenizer = await contexts.tokenizers.get(model.tokenizer)
    key = key_of(model, tokenizer.name)

    def read() -> tuple[Calibration, ErrorKind | None]:
        return stored.read_calibration(key, model.estimator), stored.newest_error(model.name)

    calibration, newest_error = await contexts.store.read(read)
    return ModelStatus(models.choice(model), tokenizer.name, calibration, models.learned_limit(model), newest_error)
