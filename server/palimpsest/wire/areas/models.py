"""Models, and which one a conversation uses."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.usage import ContextUsage, LimitsSource
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class ModelInfo(Wire):
    """A model that can be chosen."""

    name: str
    """What to pass to `model/switch`."""
    provider: str
    """Its service."""
    window_tokens: int
    """Its context window."""
    max_output_tokens: int
    """The longest answer it gives."""
    budget_tokens: int
    """Tokens a turn's first request may take."""
    limits_source: LimitsSource
    """Where the limits come from."""
    is_available: bool
    """Whether it can be used now."""
    is_default: bool
    """Whether new conversations begin with it."""
    hint: str | None = None
    """What to do to make it available."""


@attrs.frozen(eq=False, repr=False)
class ListModelsParams(Wire):
    """List models."""


@attrs.frozen(eq=False, repr=False)
class ListModelsResult(Wire):
    """Models."""

    models: list[ModelInfo]
    """Available ones first, then by name."""


@attrs.frozen(eq=False, repr=False)
class SwitchModelParams(Wire):
    """Go on with another model."""

    conversation_id: str
    """The conversation."""
    model: str
    """The model's name."""


class SwitchOutcome(enum.StrEnum):
    """What a switch does to the budget."""

    NO_CHANGE = "no_change"
    """It stays."""
    SHRINKING = "shrinking"
    """It is smaller; older messages may be summarised."""
    EXPANDING = "expanding"
    """It is larger; originals come back where they fit."""


@attrs.frozen(eq=False, repr=False)
class SwitchModelResult(Wire):
    """The switch is done."""

    outcome: SwitchOutcome
    """What it does to the budget."""
    model: str
    """The model now."""
    old_budget: int
    """The budget before."""
    new_budget: int
    """The budget now."""
    usage: ContextUsage
    """How full the context is now."""
    needs_summarization: bool | None = None
    """`shrinking`: whether older messages must be summarised before the next request."""
    can_restore: int | None = None
    """`expanding`: how many summarised messages now stand as originals again."""


@attrs.frozen(eq=False, repr=False)
class ModelStatusParams(Wire):
    """Ask how a model stands."""

    conversation_id: str | None = None
    """Whose model. Absent: the one that new conversations begin with."""


@attrs.frozen(eq=False, repr=False)
class ModelCalibration(Wire):
    """How a service counts, fitted to what it reported: tokens = overhead + factor x what the tokenizer counts."""

    tokenizer: str
    """What counts here; `bytes`: UTF-8 bytes / 4, because no tokenizer could be loaded."""
    factor: float
    """The service's tokens for each one counted here."""
    sigma: float
    """The spread around that, as measured; limits are tested with room for it."""
    overhead_tokens: float
    """What the service adds to each request."""
    weight_tokens: float
    """How much was seen, the newest counting most. What is assumed of the model's family is in it: 20,000."""


@attrs.frozen(eq=False, repr=False)
class ModelStatusResult(Wire):
    """How a model stands in this folder."""

    model: ModelInfo
    """The model and its limits."""
    calibration: ModelCalibration
    """How it counts."""
    max_input_tokens: int | None = None
    """The most it takes, where that is less than its window."""
    learned_limit_tokens: int | None = None
    """The most it takes as an error of its service said, kept for 30 days."""
    last_error: str | None = None
    """The kind of the error with which its newest turn in this folder ended. Absent when that did not fail."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/model/list", ListModelsParams, ListModelsResult, "List the models."),
    Request("palimpsest/model/status", ModelStatusParams, ModelStatusResult, "Tell how a model stands."),
    Request("palimpsest/model/switch", SwitchModelParams, SwitchModelResult, "Go on with another model."),
)
