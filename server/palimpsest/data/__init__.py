"""Files that come with the program: the table of models, the system prompt."""

from __future__ import annotations

import functools
import importlib.resources
import json

from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.models.limits import ModelTable
from palimpsest.domain.models.prices import PriceTable


def load_model_table() -> ModelTable:
    return ModelTable(json.loads(_read("models.json")))


@functools.cache
def load_price_table() -> PriceTable:
    """Read once in a process: it is large."""
    return PriceTable(json.loads(_read("prices.json")))


def load_frame() -> Frame:
    """The system prompt, without tools."""
    return Frame(_read("system_prompt.md"), ())


def _read(name: str) -> str:
    return (importlib.resources.files(__name__) / name).read_text(encoding="utf-8")
