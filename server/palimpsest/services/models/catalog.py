"""The catalog of models: which exist, which are available, and their limits.

A limit comes from the first source that has it: the user's entry for the model, the user's entry for its provider, the
provider's list of models, the built-in table, the provider's default, 8,192 / 4,096. A smaller limit that an error of
the provider named becomes the window; reserve and margin follow from it, as from any window.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.data import load_price_table
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.models.images import ASSUMED, ImageTokens
from palimpsest.domain.models.limits import (
    DEFAULT_BUFFER,
    Budget,
    LimitsSource,
    Model,
    ModelLimits,
    ModelTable,
    compute_budget,
    within,
)
from palimpsest.domain.models.prices import Price, price
from palimpsest.domain.models.provider import Provider, TokenUsage
from palimpsest.domain.models.providers import PRESETS
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.editor_models import EDITOR, HINT, EditorId, EditorModels
from palimpsest.services.models.redaction import RedactingProvider
from palimpsest.wording import nearest

OFFLINE: Final = "offline"
"""The provider without a model service."""
_PRESETS: Final = frozenset(each.name for each in PRESETS)
"""Services that are not named to whoever has none: the list would be long."""
_TOLD: Final = (LimitsSource.LIVE, LimitsSource.LEARNED)
"""The sources of limits that come from a service; the user may never have seen these numbers."""
Entry = Mapping[str, int | float | str]
"""The user's entry for a model or a provider: `window`, `max_input`, `max_output`, `buffer` in tokens, and, for a
model, `tokenizer` and `images`. Other keys are ignored."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model in the list of choices."""

    model: Model
    budget: Budget
    is_available: bool
    is_default: bool
    hint: str | None
    """How to make it available; None when it is."""


def by_hint(choices: Iterable[ModelChoice]) -> list[tuple[str, list[ModelChoice]]]:
    """The models that are unavailable, under what makes them available, in their order."""
    groups: dict[str, list[ModelChoice]] = {}
    for each in choices:
        if not each.is_available:
            groups.setdefault(each.hint or "configure their service", []).append(each)
    return list(groups.items())


@dataclass(frozen=True, slots=True)
class Models:
    """The table of models, and the configured providers."""

    table: ModelTable
    providers: Mapping[str, Provider]
    """The configured providers by name, at least one."""
    hints: Mapping[str, str]
    """How to configure each provider that is not configured."""
    settings: Settings
    overrides: Mapping[str, Model] = field(default_factory=dict)
    """Models with fixed limits, by name; only learned limits cap them."""
    model_entries: Mapping[str, Entry] = field(default_factory=dict)
    """The user's entries by model name, with or without the provider before it."""
    provider_entries: Mapping[str, Entry] = field(default_factory=dict)
    """The user's entries by provider. A provider that is not in the table is valid too."""
    live: dict[str, ModelLimits] = field(default_factory=dict)
    """Limits from the providers' lists of models, by `PROVIDER/MODEL`, with the provider's own name of the model. The
    dict changes when a provider answers."""
    learned: dict[str, int] = field(default_factory=dict)
    """Limits that errors of the providers named, by `PROVIDER/MODEL`, and that still count. `learn` adds one. The
    sessions of a folder share the dict, so the next session keeps them."""
    default_buffer: int = DEFAULT_BUFFER
    offered: EditorModels = field(default_factory=EditorModels)
    """The models of connected editors."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Where the configured providers are asked, without a user and a password."""

    def get(self, name: str) -> Model:
        """The model of that name, available or not. Raises NotFound for an unknown one."""
        model = self._find(name)
        if model is None:
            near = nearest(name, self._known_names())
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise NotFound(
                f"There is no model {name!r}.{meant} The list of models has the known ones. For another model of a "
                "service, write PROVIDER/NAME, of a known provider or of one that your config.toml names as "
                "[providers.PROVIDER]."
            )
        return model

    def doubt(self, name: str) -> str | None:
        """A sentence about a name that may misspell a known one, such as `claude-sonet`; None for any other name. It is
        only a note, because services have models that are unknown here. A name that differs only in its version is
        doubted when the service has sent its list of models."""
        model = self._find(name)
        if model is None or name in self.overrides or self._entry(model):
            return None
        written = model.service_name
        told = {known.partition("/")[2] for known in self.live if known.startswith(f"{model.provider}/")}
        named = [self.get(each) for each in self._known_names()]
        known = told | {each.service_name for each in named if each.provider == model.provider}
        if any(written == each or re.match(re.escape(each) + "[-.:@]", written) for each in known):
            return None
        near = nearest(written, known)
        if not near or (not told and _without_version(written) in map(_without_version, known)):
            return None
        prefix = name.removesuffix(written)
        meant = " or ".join(prefix + each.removeprefix(prefix) for each in near)
        return f"No model {written!r} of {model.provider} is known here; did you mean {meant}?"

    def assume(self, name: str) -> Model:
        """Like `get`, but with cautious limits for an unknown model, so that its conversations stay readable."""
        return self._find(name) or self._resolve(self.table.unknown(name))

    def provider(self, model: Model, asked_by: EditorId | None = None) -> Provider:
        """The provider of a model, which redacts secrets unless the user switched that off. `asked_by`: the editor that
        asked for the work. Raises NotFound, with the way to configure it, when it is not configured."""
        provider = self._service(model)
        if asked_by is not None and isinstance(provider, EditorModels):
            provider = provider.asked_by(asked_by)
        if provider is None:
            doubt = self.doubt(model.name)
            raise NotFound(
                f"The model {model.name} cannot be used yet: {self._hint(model.provider)}."
                + (f" {doubt}" if doubt else "")
            )
        # A request to the offline provider stays in this process.
        return RedactingProvider(provider) if self.settings.redaction and provider.name != OFFLINE else provider

    def default(self) -> Model:
        """The model of new conversations: the one in the settings, else the first available one of the table, then of
        the providers' lists. Raises NotFound, with the way to configure one, when there is none."""
        if self.settings.model is not None:
            model = self.get(self.settings.model)
            self.provider(model)
            return model
        usable = [
            name for name in (*self.table.names, *self._told_names()) if self._provider_of(name) in self.providers
        ]
        if not usable:
            first = [name for name in sorted(self.hints) if name not in _PRESETS]
            how = "; or ".join(map(self._hint, first)) or "configure a provider"
            raise NotFound(f"No model can be used yet: {how}.")
        # The offline provider comes last.
        return self.get(min(usable, key=lambda name: self._provider_of(name) == OFFLINE))

    def silent(self) -> list[str]:
        """A sentence about each service that is set up and of which no model is known: most often it does not run."""
        known = {self.get(name).provider for name in self._known_names()}
        return [
            f"{name} at {self.addresses.get(name, 'its usual address')} does not answer, or has no model yet: start it "
            "there, or correct the address."
            for name in self.providers
            if name != OFFLINE and name not in known
        ]

    def targets(self) -> Iterator[Model]:
        """The available models among the user's targets, in order: they answer when another model cannot."""
        for name in self.settings.targets:
            try:
                model = self.get(name)
                self.provider(model)
            except NotFound:
                continue
            yield model

    def price(self, model: Model) -> Price | None:
        """What its service charges: the user's entry, else the table of prices; None when that is not known. Nothing
        for Ollama, which runs on a machine of the user's."""
        entry = self._entry(model)
        if "input_price" in entry and "output_price" in entry:
            names = ("input_price", "output_price", "cache_read_price", "cache_write_price")
            amounts = [None if (amount := entry.get(name)) is None else float(amount) for name in names]
            return price(amounts[0] or 0.0, amounts[1] or 0.0, *amounts[2:])
        if model.provider == "ollama":
            return price(0.0, 0.0)
        return load_price_table().find(model.provider, model.service_name)

    def cost(self, model: Model, usage: TokenUsage) -> int | None:
        """What a call costs, in nanodollars; None when no price is known."""
        known = self.price(model)
        return None if known is None else known.of(usage)

    def learn(self, model: Model, limit_tokens: int) -> None:
        """Cap the model's window at `limit_tokens`, unless the user's settings say otherwise."""
        self.learned[_key(model)] = limit_tokens

    def default_name(self) -> str:
        """The model of new conversations, available or not."""
        return self.settings.model or self.default().name

    def budget(self, model: Model) -> Budget:
        """The budget of a model. Raises InvalidRequest when the window leaves no room."""
        context = self.settings.context
        output_limit = context.output_limit
        if output_limit is not None and model.source in _TOLD and output_limit * 2 > model.limits.window:
            output_limit = None  # it was set for a larger window
        return compute_budget(
            model.limits, output_limit=output_limit, buffer=self._buffer(model), cap=context.max_tokens
        )

    def budget_within(self, model: Model, limit_tokens: int) -> Budget | None:
        """The budget for a learned window of `limit_tokens`; None when that leaves no room."""
        try:
            limits = within(model.limits, limit_tokens)
            return self.budget(replace(model, limits=limits, source=LimitsSource.LEARNED))
        except InvalidRequest:
            return None

    def choice(self, model: Model) -> ModelChoice:
        """The budget of a model. Raises InvalidRequest when the window leaves no room."""
        is_available = self._service(model) is not None
        hint = None if is_available else self._hint(model.provider)
        return ModelChoice(model, self.budget(model), is_available, model.name == self.default_name(), hint)

    def learned_limit(self, model: Model) -> int | None:
        """The limit in tokens that an error of the provider named, whether or not it counts."""
        return self.learned.get(_key(model))

    def choices(self) -> list[ModelChoice]:
        """The models to choose from, available ones first, then by name. Prefixes of whole families are left out."""
        found = [self.choice(self.get(name)) for name in {*self._known_names(), self.default_name()}]
        return sorted(found, key=lambda choice: (not choice.is_available, choice.model.name))

    def _known_names(self) -> set[str]:
        """The names of all models of the table, the user, the services and the editors."""
        names = {name for name in self.table.names if not name.endswith("-")}
        names |= {*self.overrides, *self._told_names()}
        names |= {*self.offered.names()}
        return names | {name for name in self.model_entries if self._find(name) is not None}

    def _told_names(self) -> list[str]:
        """Models that the user names for a provider, then those that only the provider's list names, such as those that
        Ollama has pulled. At an address of the user's own is another service, and its list counts."""
        moved = {name for name, entry in self.provider_entries.items() if "base_url" in entry}
        in_table = {self._provider_of(name) for name in self.table.names} - moved if self.live else set()
        told = [name for name in self.live if name.partition("/")[0] in self.providers.keys() - in_table]
        named = [f"{provider}/{name}" for provider, words in self.settings.providers.items() for name in words.models]
        return [name for name in dict.fromkeys((*named, *told)) if self._provider_of(name) is not None]

    def _service(self, model: Model) -> Provider | None:
        """The provider of the model; None when it is not available."""
        if model.provider == EDITOR:
            return self.offered if self.offered.is_offered(model) else None
        return self.providers.get(model.provider)

    def _find(self, name: str) -> Model | None:
        if name in self.overrides:
            return self._capped(self.overrides[name], {})
        base = self._base(name)
        return None if base is None else self._resolve(base)

    def _provider_of(self, name: str) -> str | None:
        """The provider of the model that `get` gives, without its limits, which take much longer; None for an unknown
        one."""
        model = self.overrides.get(name) or self._base(name)
        return None if model is None else model.provider

    def _base(self, name: str) -> Model | None:
        """The model as the editors, the table or the configuration have it, before any limits of other sources."""
        return self.offered.find(name, self.table) or self.table.find(name) or self._configured(name)

    def _configured(self, name: str) -> Model | None:
        """A model `PROVIDER/NAME` of a provider that the table of models does not have; it may still have NAME."""
        provider, _, service_name = name.partition("/")
        if not service_name or provider not in (*self.provider_entries, *self.hints):
            return None
        base = self.table.find(service_name.rpartition("/")[2]) or self.table.unknown(name)
        return replace(base, name=name, provider=provider, service_name=service_name)

    def _resolve(self, base: Model) -> Model:
        """The model with the first value of each limit. An input limit does not apply to a window of a higher source,
        because it was meant for another window."""
        entry = self._entry(base)
        live = self.live.get(_key(base))
        levels = [
            (LimitsSource.OVERRIDE, _limits(entry, f"models.{base.name}")),
            (LimitsSource.PROVIDER, _limits(self._provider_entry(base), f"providers.{base.provider}")),
            *([] if live is None else [(LimitsSource.LIVE, _as_numbers(live))]),
            (base.source, _as_numbers(base.limits)),
        ]
        max_output = next(numbers["max_output"] for _, numbers in levels if "max_output" in numbers)
        with_window = next(i for i, (_, numbers) in enumerate(levels) if "window" in numbers)
        window = levels[with_window][1]["window"]
        max_input = next((n["max_input"] for _, n in levels[: with_window + 1] if "max_input" in n), None)
        source = next(source for source, numbers in levels if numbers.keys() & {"window", "max_input"})
        model = replace(
            base,
            limits=ModelLimits(window, min(max_output, window), max_input),
            source=source,
            tokenizer=str(entry.get("tokenizer", base.tokenizer)),
            images=_images(base, entry.get("images", None if live is None else live.images)),
        )
        return self._capped(model, entry)

    def _capped(self, model: Model, entry: Entry) -> Model:
        """The model with its learned limit, which an entry of the user overrides."""
        learned = self.learned.get(_key(model))
        limits = model.limits
        if learned is None or "max_input" in entry or learned >= (limits.max_input or limits.window):
            return model
        return replace(model, limits=within(limits, learned), source=LimitsSource.LEARNED)

    def _buffer(self, model: Model) -> int:
        for entry, where in (
            (self._entry(model), f"models.{model.name}"),
            (self._provider_entry(model), f"providers.{model.provider}"),
        ):
            if "buffer" in entry:
                return _tokens(entry, "buffer", where, least=0)
        return self.default_buffer

    def _entry(self, model: Model) -> Entry:
        names = (model.name, _key(model), model.service_name)
        return next((self.model_entries[name] for name in names if name in self.model_entries), {})

    def _provider_entry(self, model: Model) -> Entry:
        return self.provider_entries.get(model.provider, {})

    def _hint(self, provider: str) -> str:
        if provider == EDITOR:
            return HINT
        return self.hints.get(provider, f"configure the provider {provider}")


def _key(model: Model) -> str:
    return f"{model.provider}/{model.service_name}"


def _without_version(name: str) -> str:
    return re.sub(r"[\d.]+", "0", name)


def _limits(entry: Entry, where: str) -> dict[str, int]:
    return {name: _tokens(entry, name, where) for name in ("window", "max_output", "max_input") if name in entry}


def _tokens(entry: Entry, name: str, where: str, least: int = 1) -> int:
    value = entry[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidRequest(f"{where}.{name} must be a number of tokens, at least {least}.")
    return value


def _images(base: Model, sees: object) -> ImageTokens | None:
    """What pictures take of a model; None for one that sees none. `sees`: what the user or the service says; None:
    neither does."""
    return base.images if sees is None else (base.images or ASSUMED) if sees else None


def _as_numbers(limits: ModelLimits) -> dict[str, int]:
    numbers = {"window": limits.window, "max_output": limits.max_output}
    return numbers if limits.max_input is None else {**numbers, "max_input": limits.max_input}


def with_override(models: Models, model: Model) -> Models:
    """The same catalog with the user's own entry for one model."""
    return replace(models, overrides={**models.overrides, model.name: model})
