"""Who writes the summaries of a conversation: by the settings, and by what can be reached."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.summaries.by_model import Prompts
from palimpsest.domain.context.summaries.hybrid import BESIDE_PAGE
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.models.limits import Model
from palimpsest.domain.settings.settings import ContextSettings
from palimpsest.services.context.summaries.summarizers import (
    ExtractiveSummarizer,
    HybridSummarizer,
    LlmSummarizer,
    PatientSummarizer,
    Summarizer,
)
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.models.helper import Helpers

log = logging.getLogger(__name__)

TURN_WAITS_S: Final = 10.0
"""How long a turn waits for a summary before the deterministic one steps in."""
MODEL_MAY_TAKE_S: Final = 60.0
"""How long a model may take in the background; its text is taken up at the next compaction."""


@dataclass(frozen=True, slots=True)
class SummarizerChoice:
    """Chooses for one folder."""

    helpers: Helpers
    settings: ContextSettings
    prompts: Prompts

    async def choose(self, model: Model, asked_by: EditorId | None) -> Summarizer:
        """The summarizer for conversations with `model`: the small model of its provider unless the settings name
        another, asked for `asked_by`. Quotes where none can be asked; a turn never fails for want of a summarizer."""
        if self.settings.summary_kind == "extractive" or (
            model.provider == "offline" and self.settings.summary_model is None
        ):
            return ExtractiveSummarizer()
        small = self.helpers.models.table.small_model(model.provider)
        try:
            helper = await self.helpers.helper(model, self.settings.summary_model, small and small[0], asked_by)
        except PalimpsestError as error:
            log.warning("no model writes summaries: %s", error.kind)
            return ExtractiveSummarizer()
        first: Summarizer = LlmSummarizer(helper, self.prompts)
        if self.settings.summary_kind == "hybrid":
            first = HybridSummarizer(LlmSummarizer(helper, self.prompts, BESIDE_PAGE))
        return PatientSummarizer(first, TURN_WAITS_S, MODEL_MAY_TAKE_S)
