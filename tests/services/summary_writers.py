"""A bench whose summaries are written by a model, as a user's settings would have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from tests.services.scripted import Action, Bench, ScriptedProvider

from palimpsest.data.prompts import load_prompts
from palimpsest.services.context.summaries.choice import SummarizerChoice
from palimpsest.services.models.helper import Helpers


def let_write(bench: Bench, replies: Sequence[list[Action]], kind: Literal["llm", "hybrid"]) -> ScriptedProvider:
    """From here on the small model of another provider writes the bench's summaries, and plays `replies`."""
    writer = ScriptedProvider(list(replies), name="anthropic")
    engine = bench.session.contexts
    engine.models = replace(engine.models, providers={**engine.models.providers, "anthropic": writer})
    settings = replace(engine.settings, summary_model="claude-haiku-4-5", summary_kind=kind)
    helpers = Helpers(engine.models, engine.tokenizers)
    engine.choose_summarizer = SummarizerChoice(helpers, settings, load_prompts()).choose
    return writer
