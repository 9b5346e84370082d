"""Which models there are, which can be used, and what they may be sent.

A limit is taken from the first that names it: the user's entry for the model, the user's entry for its provider, what
the provider's models endpoint said, the built-in table, the provider's default, 8,192 / 4,096. What a provider's error
taught is the window from then on, where it is less than that: reserve and margin follow from it, as from any window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.errors import InvalidRequest, NotFound
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
from palimpsest.domain.models.provider import Provider
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.editor_models import EDITOR, HINT, EditorId, EditorModels
from palimpsest.services.models.redaction import RedactingProvider
from palimpsest.wording import nearest

OFFLINE: Final = "offline"
"""The provider that asks nobody."""
_TOLD: Final = (LimitsSource.LIVE, LimitsSource.LEARNED)
"""Where a service said what it takes, in numbers the user may never have seen."""
Entry = Mapping[str, int | str]
"""What the user set for a model or a provider: `window`, `max_input`, `max_output`, `buffer` in tokens, `tokenizer`
(of a model). Other keys are not looked at."""


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
    """Models that stand as they are, by name; only what was learned caps them."""
    model_entries: Mapping[str, Entry] = field(default_factory=dict)
    """The user's, by a model's name, with or without its provider before it."""
    provider_entries: Mapping[str, Entry] = field(default_factory=dict)
    """The user's, by provider. One that the table does not know is a provider all the same."""
    live: dict[str, ModelLimits] = field(default_factory=dict)
    """What the providers' models endpoints said, by `PROVIDER/MODEL`, MODEL as the provider calls it. Changes when a
    provider answers."""
    learned: dict[str, int] = field(default_factory=dict)
    """Limits that errors of the providers named, by `PROVIDER/MODEL`; those that still count. `learn` adds. A folder's
    sessions share it, so that what one learns counts for the one that takes its place."""
    default_buffer: int = DEFAULT_BUFFER
    offered: EditorModels | None = None
    """What connected editors offer; None where none can connect."""

    def get(self, name: str) -> Model:
        """The model of that name, whether or not it can be used now. Raises NotFound for one nobody knows."""
        model = self._find(name)
        if model is None:
            near = nearest(name, self._known_names())
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise NotFound(
                f"There is no model {name!r}.{meant} The list of models names those that are known; for another of a "
                "service write PROVIDER/NAME."
            )
        return model

    def doubt(self, name: str) -> str | None:
        """A sentence about a name that looks like a slip of one that is known, such as `claude-sonet`; None for any
        other, and for one that nobody knows. It may be meant all the same, because services have models that nobody
        here knows: it stops nothing. What only has another version is doubted where the service told its models."""
        model = self._find(name)
        if model is None or name in self.overrides or self._entry(model):
            return None
        written = model.service_name
        told = {known.partition("/")[2] for known in self.live if known.startswith(f"{model.provider}/")}
        known = told | {each for each in self._known_names() if self.get(each).provider == model.provider}
        if any(written == each or re.match(re.escape(each) + "[-.:@]", written) for each in known):
            return None
        near = nearest(written, known)
        if not near or (not told and _without_version(written) in map(_without_version, known)):
            return None
        prefix = name.removesuffix(written)
        meant = " or ".join(prefix + each.removeprefix(prefix) for each in near)
        return f"No model {written!r} of {model.provider} is known here; did you mean {meant}?"

    def assume(self, name: str) -> Model:
        """As `get`, but with cautious limits for a model nobody knows any more: its conversations stay readable."""
        return self._find(name) or self._resolve(self.table.unknown(name))

    def provider(self, model: Model, asked_by: EditorId | None = None) -> Provider:
        """The service of a model, which is sent no secrets unless the user wants it. `asked_by`: whose work it is,
        where an editor asked for it. Raises NotFound, saying how to configure it, when it is not configured."""
        provider = self._service(model)
        if asked_by is not None and isinstance(provider, EditorModels):
            provider = provider.asked_by(asked_by)
        if provider is None:
            doubt = self.doubt(model.name)
            raise NotFound(
                f"The model {model.name} cannot be used yet: {self._hint(model.provider)}."
                + (f" {doubt}" if doubt else "")
            )
        # What the offline one is sent stays in this process.
        return RedactingProvider(provider) if self.settings.redaction and provider.name != OFFLINE else provider

    def default(self) -> Model:
        """The model of new conversations: the one that is set, else the first that can be used of the table, then of
        what the providers told. Raises NotFound, saying how to configure one, when there is none."""
        if self.settings.model is not None:
            model = self.get(self.settings.model)
            self.provider(model)
            return model
        named = [self.get(name) for name in (*self.table.names, *self._told_names())]
        usable = [model for model in named if model.provider in self.providers]
        if not usable:
            how = "; or ".join(self._hint(provider) for provider in sorted(self.hints)) or "configure a provider"
            raise NotFound(f"No model can be used yet: {how}.")
        # The offline one is for when there is no other.
        return min(usable, key=lambda model: model.provider == OFFLINE)

    def targets(self) -> Iterator[Model]:
        """The models that the user wants to go on with when one cannot take a request, in their order; those that can
        be used now."""
        for name in self.settings.targets:
            try:
                model = self.get(name)
                self.provider(model)
            except NotFound:
                continue
            yield model

    def learn(self, model: Model, limit_tokens: int) -> None:
        """From now on the model's window is at most `limit_tokens`, unless the user says otherwise."""
        self.learned[_key(model)] = limit_tokens

    def default_name(self) -> str:
        """The model of new conversations, whether or not it can be used."""
        return self.settings.model or self.default().name

    def budget(self, model: Model) -> Budget:
        """Raises InvalidRequest when the window leaves no room."""
        context = self.settings.context
        output_limit = context.output_limit
        if output_limit is not None and model.source in _TOLD and output_limit * 2 > model.limits.window:
            output_limit = None  # it was set with a larger window in mind
        return compute_budget(
            model.limits, output_limit=output_limit, buffer=self._buffer(model), cap=context.max_tokens
        )

    def budget_within(self, model: Model, limit_tokens: int) -> Budget | None:
        """What could be sent if `limit_tokens` were learned to be the model's window; None when that leaves no room."""
        try:
            limits = within(model.limits, limit_tokens)
            return self.budget(replace(model, limits=limits, source=LimitsSource.LEARNED))
        except InvalidRequest:
            return None

    def choice(self, model: Model) -> ModelChoice:
        """Raises InvalidRequest when the window leaves no room."""
        is_available = self._service(model) is not None
        hint = None if is_available else self._hint(model.provider)
        return ModelChoice(model, self.budget(model), is_available, model.name == self.default_name(), hint)

    def learned_limit(self, model: Model) -> int | None:
        """The limit in tokens that an error of the provider named, whether or not it is what counts."""
        return self.learned.get(_key(model))

    def choices(self) -> list[ModelChoice]:
        """Available ones first, then by name. A prefix that stands for a family is left out."""
        found = [self.choice(self.get(name)) for name in {*self._known_names(), self.default_name()}]
        return sorted(found, key=lambda choice: (not choice.is_available, choice.model.name))

    def _known_names(self) -> set[str]:
        """Of every model that somebody has named: the table, the user, a service, an editor."""
        names = {name for name in self.table.names if not name.endswith("-")}
        names |= {*self.overrides, *self._told_names()}
        names |= set(() if self.offered is None else self.offered.names())
        return names | {name for name in self.model_entries if self._find(name) is not None}

    def _told_names(self) -> list[str]:
        """Models of providers whose own word is all that is known of them, such as what Ollama has pulled."""
        in_table = {self.get(name).provider for name in self.table.names}
        told = [name for name in self.live if name.partition("/")[0] in self.providers.keys() - in_table]
        return [name for name in told if self._find(name) is not None]

    def _service(self, model: Model) -> Provider | None:
        """What asks the model; None when it cannot be asked now."""
        if model.provider == EDITOR and self.offered is not None:
            return self.offered if self.offered.is_offered(model) else None
        return self.providers.get(model.provider)

    def _find(self, name: str) -> Model | None:
        if name in self.overrides:
            return self._capped(self.overrides[name], {})
        offered = None if self.offered is None else self.offered.find(name)
        base = offered or self.table.find(name) or self._configured(name)
        return None if base is None else self._resolve(base)

    def _configured(self, name: str) -> Model | None:
        """`PROVIDER/NAME` of a provider that only the user's configuration knows; the table may still know NAME."""
        provider, _, service_name = name.partition("/")
        if not service_name or provider not in self.provider_entries:
            return None
        base = self.table.find(service_name.rpartition("/")[2]) or self.table.unknown(name)
        return replace(base, name=name, provider=provider, service_name=service_name)

    def _resolve(self, base: Model) -> Model:
        """The model with the first of each limit. A window from one source is not bound by the input limit of a
        lower one, which was about another window."""
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
        )
        return self._capped(model, entry)

    def _capped(self, model: Model, entry: Entry) -> Model:
        """What was learned stands until the user says what the model's input is: then the user is right."""
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


def _as_numbers(limits: ModelLimits) -> dict[str, int]:
    numbers = {"window": limits.window, "max_output": limits.max_output}
    return numbers if limits.max_input is None else {**numbers, "max_input": limits.max_input}


def with_override(models: Models, model: Model) -> Models:
    """The same with the user's own entry for one model."""
    return replace(models, overrides={**models.overrides, model.name: model})
