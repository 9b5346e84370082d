"""Who writes the summaries of a conversation: by the settings, and by what can be reached."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.limits import Model
from palimpsest.domain.settings import ContextSettings
from palimpsest.domain.summaries import Prompts
from palimpsest.services.models import Models
from palimpsest.services.summarizers import (
    ExtractiveSummarizer,
    HybridSummarizer,
    LlmSummarizer,
    PatientSummarizer,
    Summarizer,
)
from palimpsest.services.tokenizers import Tokenizers

log = logging.getLogger(__name__)

TURN_WAITS_S: Final = 10.0
"""How long a turn waits for a summary before the deterministic one steps in (DESIGN §6)."""
MODEL_MAY_TAKE_S: Final = 60.0
"""How long a model may take in the background; its text is taken up at the next re-cut (DESIGN §6)."""


@dataclass(frozen=True, slots=True)
class SummarizerChoice:
    """Chooses for one folder."""

    models: Models
    tokenizers: Tokenizers
    settings: ContextSettings
    prompts: Prompts
    moved: Collection[str] = ()
    """Providers that are reached at an address of the user's: they may not have their namesake's models."""

    async def choose(self, model: Model) -> Summarizer:
        """The summarizer for conversations with `model`: the small model of its provider unless the settings name
        another. Quotes where none can be asked; a turn never fails for want of a summarizer."""
        if self.settings.summary_kind == "extractive" or (
            model.provider == "offline" and self.settings.summary_model is None
        ):
            return ExtractiveSummarizer()
        try:
            writer = self._writer(model)
            provider = self.models.provider(writer)
            budget = self.models.budget(writer)
        except PalimpsestError as error:
            log.warning("no model writes summaries: %s", error.kind)
            return ExtractiveSummarizer()
        tokenizer = await self.tokenizers.get(writer.tokenizer)
        llm = LlmSummarizer(provider, writer, budget, self.prompts, tokenizer.count)
        first: Summarizer = llm if self.settings.summary_kind == "llm" else HybridSummarizer(llm)
        return PatientSummarizer(first, TURN_WAITS_S, MODEL_MAY_TAKE_S)

    def _writer(self, model: Model) -> Model:
        if self.settings.summary_model is not None:
            return self.models.get(self.settings.summary_model)
        small = self.models.table.small_model(model.provider)
        if small is None or model.provider in self.moved:
            return model
        return self.models.get(small[0])
