"""The lists of models of the services, each in words of its own. No I/O.

The names of the fields are from the services' documentation, 2026-11: `context_length` (OpenRouter, Together),
`max_model_len` (vLLM), `context_window` (Groq), `max_context_length` (Mistral), `meta.n_ctx` and `meta.n_ctx_train`
(llama.cpp).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from palimpsest.domain.models.limits import ModelLimits
from palimpsest.domain.models.provider import LiveModel
from palimpsest.domain.turns.answers import token_count

Entry = Mapping[str, Any]

_WINDOWS: Final = ("context_length", "max_model_len", "context_window", "max_context_length")
_LIKELY_OUTPUT: Final = 16_384


def entries(answer: Any) -> list[Entry]:
    """The models of a list in OpenAI's form, or of a bare list; empty when it is neither."""
    data = answer.get("data") if isinstance(answer, Mapping) else answer
    if not isinstance(data, list):
        return []
    return [entry for entry in data if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)]


def live_model(entry: Entry) -> LiveModel:
    """The model of one entry, with the limits that the entry tells."""
    best, meta = (_object(entry.get(name)) for name in ("top_provider", "meta"))
    windows = [tokens(entry.get(name)) for name in _WINDOWS]
    window = next(filter(None, windows), None) or tokens(meta.get("n_ctx")) or tokens(meta.get("n_ctx_train"))
    served = tokens(best.get("context_length"))
    if window and served:
        window = min(window, served)
    max_output = tokens(best.get("max_completion_tokens")) or tokens(entry.get("max_completion_tokens"))
    return LiveModel(entry["id"], limits(window, max_output, sees(entry)))


def sees(entry: Entry) -> bool | None:
    """Whether the model sees pictures, where the entry says so: `architecture.input_modalities` (OpenRouter),
    `capabilities.vision` (Mistral), `input_modalities` (others)."""
    inputs = _object(entry.get("architecture")).get("input_modalities", entry.get("input_modalities"))
    if isinstance(inputs, list):
        return "image" in inputs
    vision = _object(entry.get("capabilities")).get("vision")
    return vision if isinstance(vision, bool) else None


def limits(window: int | None, max_output: int | None, images: bool | None = None) -> ModelLimits | None:
    """The limits; None without a window. Without an output it is a part of the window, and not more than most models
    give."""
    if window is None:
        return None
    if max_output is None:
        return ModelLimits(window, max(1, min(window // 4, _LIKELY_OUTPUT)), images=images)
    return ModelLimits(window, min(max_output, window), images=images)


def is_llama_cpp(listed: Sequence[Entry]) -> bool:
    """Whether the list is of llama.cpp's server with one model, which tells elsewhere the window that it was started
    with."""
    return len(listed) == 1 and "n_ctx_train" in _object(listed[0].get("meta"))


def llama_cpp_window(props: Any) -> int | None:
    """The window of one slot: the slots share the window of the server."""
    return tokens(_object(_object(props).get("default_generation_settings")).get("n_ctx"))


def is_lm_studio(listed: Sequence[Entry]) -> bool:
    return any(entry.get("owned_by") == "organization_owner" for entry in listed)


def lm_studio_windows(answer: Any) -> dict[str, int]:
    """The windows of the models that are loaded, by name. The largest window that a model could take says nothing
    about how it will be loaded."""
    loaded = {entry["id"]: tokens(entry.get("loaded_context_length")) for entry in entries(answer)}
    return {name: window for name, window in loaded.items() if window is not None}


def tokens(value: object) -> int | None:
    """A plausible number of tokens; None for anything else."""
    return token_count(value) or None


def _object(value: Any) -> Entry:
    return value if isinstance(value, Mapping) else {}
