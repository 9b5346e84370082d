"""Which models there are, which can be used, and what they may be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from palimpsest.domain.errors import NotFound
from palimpsest.domain.limits import Budget, Model, ModelTable, compute_budget
from palimpsest.domain.provider import Provider
from palimpsest.domain.settings import Settings


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model as it can be chosen."""

    model: Model
    budget: Budget
    is_available: bool
    is_default: bool
    hint: str | None
    """What to do to make it available."""


@dataclass(frozen=True, slots=True)
class Models:
    """The model table, and the providers that are configured."""

    table: ModelTable
    providers: Mapping[str, Provider]
    """By name. Holds at least one."""
    hints: Mapping[str, str]
    """By provider that is not configured: what to do."""
    settings: Settings
    overrides: Mapping[str, Model] = field(default_factory=dict)
    """The user's own entries, by model name."""

    def get(self, name: str) -> Model:
        """The model of that name, whether or not it can be used now. Raises NotFound for one nobody knows."""
        model = self.overrides.get(name) or self.table.find(name)
        if model is None:
            raise NotFound(
                f"There is no model {name!r}. Known ones begin with {', '.join(self.table.names)}; "
                "for another one write PROVIDER/NAME."
            )
        return model

    def assume(self, name: str) -> Model:
        """As `get`, but with cautious limits for a model nobody knows any more: its conversations stay readable."""
        return self.overrides.get(name) or self.table.find(name) or self.table.unknown(name)

    def provider(self, model: Model) -> Provider:
        """The service of a model. Raises NotFound, saying how to configure it, when it is not configured."""
        provider = self.providers.get(model.provider)
        if provider is None:
            hint = self.hints.get(model.provider, f"configure the provider {model.provider}")
            raise NotFound(f"The model {model.name} cannot be used yet: {hint}.")
        return provider

    def default(self) -> Model:
        """The model of new conversations: the one that is set, else the first of the table that can be used."""
        if self.settings.model is not None:
            model = self.get(self.settings.model)
            self.provider(model)
            return model
        usable = [self.get(name) for name in self.table.names]
        usable = [model for model in usable if model.provider in self.providers]
        # The offline one is for when there is no other.
        return min(usable, key=lambda model: model.provider == "offline")

    def budget(self, model: Model) -> Budget:
        """Raises InvalidRequest when the window leaves no room."""
        context = self.settings.context
        return compute_budget(model.limits, output_limit=context.output_limit, cap=context.max_tokens)

    def choices(self) -> list[ModelChoice]:
        """Available ones first, then by name. A prefix that stands for a family is left out."""
        default = self.default().name
        names = {*(name for name in self.table.names if not name.endswith("-")), *self.overrides, default}
        found = [
            ModelChoice(
                model,
                self.budget(model),
                model.provider in self.providers,
                name == default,
                None if model.provider in self.providers else self.hints.get(model.provider),
            )
            for name in names
            for model in [self.get(name)]
        ]
        return sorted(found, key=lambda choice: (not choice.is_available, choice.model.name))


def with_override(models: Models, model: Model) -> Models:
    """The same with the user's own entry for one model."""
    return replace(models, overrides={**models.overrides, model.name: model})
