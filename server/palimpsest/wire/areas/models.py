"""Models, and the model of a conversation."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.usage import ContextUsage, LimitsSource
from palimpsest.wire.declare import Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class ModelInfo(Wire):
    """A model that can be chosen."""

    name: str
    """Its name, for `model/switch`."""
    provider: str
    """Its provider."""
    window_tokens: int
    """Its context window."""
    max_output_tokens: int
    """The longest answer in tokens."""
    budget_tokens: int
    """Tokens that the first request of a turn may take."""
    limits_source: LimitsSource
    """Where the limits come from."""
    is_available: bool
    """Whether the user can use it now."""
    is_default: bool
    """Whether new conversations use it."""
    hint: str | None = None
    """How to make it available."""


@attrs.frozen(eq=False, repr=False)
class ListModelsParams(Wire):
    """List the models."""


@attrs.frozen(eq=False, repr=False)
class ListModelsResult(Wire):
    """Models."""

    models: list[ModelInfo]
    """The available ones first, each group in the order of names."""
    silent: list[str] | None = None
    """A sentence for the user about each service that is set up and has named no model: most often it does not run.
    Absent: there is none."""


@attrs.frozen(eq=False, repr=False)
class SwitchModelParams(Wire):
    """Another model for a conversation."""

    conversation_id: str
    """The conversation."""
    model: str
    """The model's name."""


class SwitchOutcome(enum.StrEnum):
    """The effect of a switch on the budget."""

    NO_CHANGE = "no_change"
    """The budget stays the same."""
    SHRINKING = "shrinking"
    """The budget is smaller. Older messages may be summarized."""
    EXPANDING = "expanding"
    """The budget is larger. Original messages replace summaries as far as they fit."""


@attrs.frozen(eq=False, repr=False)
class SwitchModelResult(Wire):
    """The effect of a switch."""

    outcome: SwitchOutcome
    """The effect on the budget."""
    model: str
    """The new model."""
    old_budget: int
    """The budget before, in tokens."""
    new_budget: int
    """The budget now, in tokens."""
    usage: ContextUsage
    """How full the context is now."""
    needs_summarization: bool | None = None
    """With `shrinking`: whether older messages must be summarized before the next request."""
    can_restore: int | None = None
    """With `expanding`: how many summarized messages are in the context as originals again."""


@attrs.frozen(eq=False, repr=False)
class ModelStatusParams(Wire):
    """The model to look at."""

    conversation_id: str | None = None
    """The conversation whose model it is. Absent: the model of new conversations."""


@attrs.frozen(eq=False, repr=False)
class ModelCalibration(Wire):
    """How a service counts tokens, fitted to its reports: tokens = overhead + factor x tokens of the tokenizer."""

    tokenizer: str
    """The tokenizer that counts in the server. `bytes`: UTF-8 bytes divided by 4, because no tokenizer could be
    loaded."""
    factor: float
    """Tokens of the service for each token of the tokenizer."""
    sigma: float
    """The measured spread of the factor. Limits leave room for it."""
    overhead_tokens: float
    """Tokens that the service adds to each request."""
    weight_tokens: float
    """The tokens that the fit rests on, the newest with the most weight. The start values of the model's family count
    as 20,000."""


@attrs.frozen(eq=False, repr=False)
class ModelStatusResult(Wire):
    """The state of a model in this folder."""

    model: ModelInfo
    """The model and its limits."""
    calibration: ModelCalibration
    """How its service counts tokens."""
    max_input_tokens: int | None = None
    """The largest request in tokens, when it is less than the window."""
    learned_limit_tokens: int | None = None
    """The largest request in tokens according to an error of its service. It is kept for 30 days."""
    last_error: str | None = None
    """The kind of the error that ended its newest turn in this folder. Absent when that turn did not fail."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/model/list", ListModelsParams, ListModelsResult, "List the models."),
    Request(
        "palimpsest/model/status",
        ModelStatusParams,
        ModelStatusResult,
        "Tell the limits, the counting and the last error of a model.",
    ),
    Request("palimpsest/model/switch", SwitchModelParams, SwitchModelResult, "Switch a conversation to another model."),
)
