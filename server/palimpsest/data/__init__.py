"""Files that come with the program: the tables of models and prices, the prompts, the completion of shells."""

from __future__ import annotations

import functools
import importlib.resources
import json
from typing import Final

from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.models.limits import ModelTable
from palimpsest.domain.models.prices import PriceTable

COMPLETIONS: Final = {"bash": "palimpsest.bash", "zsh": "_palimpsest", "fish": "palimpsest.fish"}
"""The name of the script that completes our commands, by shell."""


@functools.cache
def load_model_table() -> ModelTable:
    """Read once in a process: nothing changes it."""
    return ModelTable(json.loads(_read("models.json")))


@functools.cache
def load_price_table() -> PriceTable:
    """Read once in a process: it is large."""
    return PriceTable(json.loads(_read("prices.json")))


def load_frame() -> Frame:
    """The system prompt, without tools."""
    return Frame(_read("system_prompt.md"), ())


def load_completion(shell: str) -> str:
    """The script for one of `COMPLETIONS`."""
    return _read(f"completion/{COMPLETIONS[shell]}")


def _read(name: str) -> str:
    return (importlib.resources.files(__name__) / name).read_text(encoding="utf-8")
