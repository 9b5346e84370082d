"""The instructions that models get when they summarize: one file each, read once."""

from __future__ import annotations

import importlib.resources

from palimpsest.domain.context.summaries.by_model import Prompts


def load_prompts() -> Prompts:
    return Prompts(episode=_read("episode.md"), tool_calls=_read("tool_calls.md"), merge=_read("merge.md"))


def _read(name: str) -> str:
    return (importlib.resources.files(__name__) / name).read_text(encoding="utf-8")
