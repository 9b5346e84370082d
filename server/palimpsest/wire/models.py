"""Models, and which one a conversation uses."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Notification, Request, Wire
from palimpsest.wire.usage import ContextUsage, LimitsSource


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


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/model/list", ListModelsParams, ListModelsResult, "List the models."),
    Request("palimpsest/model/switch", SwitchModelParams, SwitchModelResult, "Go on with another model."),
)
