"""The limits of a model, their sources, and the budget and wall that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.models.images import ASSUMED, ImageTokens, read_rule

DEFAULT_BUFFER: Final = 256
"""The tokens of the buffer when neither model nor provider nor user sets one."""
MARGIN_SHARE: Final = 20
"""The margin is at least this fraction (one twentieth) of the window without the reserve."""


class LimitsSource(StrEnum):
    """The sources of limits, in order of precedence. `learned` caps the limits of any source."""

    OVERRIDE = "override"
    PROVIDER = "provider"
    LIVE = "live"
    PREFIX = "prefix"
    LEARNED = "learned"
    DEFAULT_FALLBACK = "default_fallback"


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """The tokens that a model takes and gives."""

    window: int
    max_output: int
    max_input: int | None = None
    """A limit on the input below the window; None where the provider has none."""
    images: bool | None = None
    """Whether the model sees pictures; None where nobody said."""

    def __post_init__(self) -> None:
        if self.window < 1 or self.max_output < 1 or (self.max_input is not None and self.max_input < 1):
            raise InvalidRequest(
                f"A model's window ({self.window}) and output ({self.max_output}) must be at least 1 token."
            )


@dataclass(frozen=True, slots=True)
class Model:
    """A model in the table, or the assumptions about an unknown one."""

    name: str
    provider: str
    limits: ModelLimits
    source: LimitsSource
    tokenizer: str
    """The public vocabulary for raw counts."""
    estimator: Estimator
    service_name: str
    """The provider's name for the model, without a `PROVIDER/` prefix."""
    images: ImageTokens | None = ASSUMED
    """What pictures take; None for a model that is known to see none."""

    @property
    def is_exact(self) -> bool:
        """Whether raw counts equal the model's own counts."""
        return self.estimator == Estimator()


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of one conversation's requests to one model, in the model's tokens."""

    window: int
    reserve: int
    """The tokens kept for the answer."""
    margin: int
    budget: int
    """The limit of a turn's first request."""
    wall: int
    """The limit of a turn's later requests."""


def compute_budget(
    limits: ModelLimits, *, output_limit: int | None = None, buffer: int = DEFAULT_BUFFER, cap: int = 0
) -> Budget:
    """The budget and wall. `output_limit` is the user's reserve for answers; a `cap` of 0 means none.

    Raises InvalidRequest when nothing is left for input.
    """
    reserve = _likely_output(limits) if output_limit is None else min(output_limit, limits.max_output)
    if reserve >= limits.window:
        raise InvalidRequest(
            f"The window of {limits.window} tokens is not larger than the {reserve} tokens reserved for the answer. "
            "Choose a larger window or a smaller reserve."
        )
    available = limits.window - reserve
    margin = max(available // MARGIN_SHARE, buffer)
    room = available if limits.max_input is None else min(available, limits.max_input)
    budget, wall = room - margin, room - buffer
    if cap:
        budget, wall = min(budget, cap), min(wall, cap)
    if budget < 1:
        raise InvalidRequest(
            f"A window of {limits.window} tokens with {reserve} reserved for the answer leaves no room for a request "
            f"after a safety margin of {margin}. Choose a larger window or a smaller reserve."
        )
    return Budget(limits.window, reserve, margin, budget, wall)


def _likely_output(limits: ModelLimits) -> int:
    """The reserve for an answer when the user sets none. A model whose output limit is over half its window gets a
    quarter."""
    return limits.window // 4 if limits.max_output * 2 > limits.window else limits.max_output


def within(limits: ModelLimits, window: int) -> ModelLimits:
    """The limits of a model whose service reports `window` as the most for question and answer together. The output
    limit shrinks with it."""
    smaller = ModelLimits(window, limits.max_output)
    return replace(smaller, max_output=max(_likely_output(smaller), 1))


class ModelTable:
    """The built-in models by name prefix, and the defaults of providers.

    Built from the data file `models.json`: `families` (name -> tokenizer, factor, sigma), `models` (prefix -> provider,
    family, window, max_output, max_input?, images?: a rule, or null for none, is_shut_down?), `providers` (name ->
    window, max_output, family, images?, small?, librarian?: model and its max_input), `image_rules`.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._families: Mapping[str, Mapping[str, Any]] = data["families"]
        self._models: Mapping[str, Mapping[str, Any]] = data["models"]
        self._providers: Mapping[str, Mapping[str, Any]] = data["providers"]
        self._image_rules = {name: read_rule(entry) for name, entry in data.get("image_rules", {}).items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The prefixes in the table, in its order, without models that were shut down. Each is also a model's name,
        unless it ends in `-`."""
        return tuple(name for name, entry in self._models.items() if not entry.get("is_shut_down"))

    def find(self, name: str) -> Model | None:
        """The model with the longest prefix of `name`, or None.

        `PROVIDER/NAME` chooses the provider; NAME may contain slashes, as some services' names do.
        """
        first, _, rest = name.partition("/")
        provider, service_name = (first, rest) if rest and first in self._providers else (None, name)
        bare = service_name.rpartition("/")[2]
        matches = [prefix for prefix in self._models if bare.startswith(prefix)]
        if matches and (provider or service_name == bare):
            entry = self._models[max(matches, key=len)]
            return self._model(name, provider or entry["provider"], entry, LimitsSource.PREFIX, service_name)
        if provider is not None:
            entry = self._providers[provider]
            return self._model(name, provider, entry, LimitsSource.DEFAULT_FALLBACK, service_name)
        return None

    def unknown(self, name: str) -> Model:
        """The assumptions about a model that is not in the table: a window of 8,192 tokens."""
        return self._model(name, "unknown", self._providers["unknown"], LimitsSource.DEFAULT_FALLBACK, name)

    def small_model(self, provider: str) -> tuple[str, int] | None:
        """The provider's model for summaries, and the most input for it; None when it has none."""
        return self._helper(provider, "small")

    def librarian_model(self, provider: str) -> tuple[str, int] | None:
        """The provider's model for extracting facts, and the most input for it; None when it has none."""
        return self._helper(provider, "librarian")

    def _helper(self, provider: str, job: str) -> tuple[str, int] | None:
        entry = self._providers.get(provider, {}).get(job)
        return None if entry is None else (entry["model"], entry["max_input"])

    def _model(
        self, name: str, provider: str, entry: Mapping[str, Any], source: LimitsSource, service_name: str
    ) -> Model:
        family = self._families[entry["family"]]
        limits = ModelLimits(entry["window"], entry["max_output"], entry.get("max_input"))
        estimator = Estimator(family["factor"], family["sigma"])
        images = self._image_rules.get(entry["images"]) if "images" in entry else ASSUMED
        return Model(name, provider, limits, source, family["tokenizer"], estimator, service_name, images)


def with_window(model: Model, window: int) -> Model:
    """The same model with another window, as if the user had set it."""
    limits = replace(model.limits, window=window, max_output=min(model.limits.max_output, window), max_input=None)
    return replace(model, limits=limits, source=LimitsSource.OVERRIDE)
