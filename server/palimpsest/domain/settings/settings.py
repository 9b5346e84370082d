"""Every setting, declared once: its key, type, default, range, and whether a project's file may set it.

`Settings` and its parts are the values the rest reads; `SETTINGS` is the table that loading, the documents and the
editors' schema are made from. A part is named after who reads it, so the key a person writes stands beside each field.
What a setting means is the literal below its field. Values that are not allowed cannot be constructed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

from palimpsest.domain.settings.schema import NAME, Setting, check, declare, settings_of
from palimpsest.domain.strategy_names import StrategyName

Layout = Literal["log", "librarian"]
"""How a request is laid out."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """What the engine of requests reads: cuts, budgets, summaries, previews."""

    infinity: bool = declare("context.infinity", True)
    """Whether older talk is summarised. When false the oldest exchanges are left out of requests instead; they stay
    stored."""
    threshold: float = declare("context.threshold", 0.97, above=0, at_most=1, may_project_set=True)
    """Share of the budget at which a new cut is chosen."""
    target: float = declare("context.target", 0.50, above=0, at_most=1, may_project_set=True)
    """Share of the budget a cut by threshold aims at. Below `context.threshold`."""
    switch_target: float = declare("context.switch_target", 0.60, above=0, at_most=1)
    """Share of the budget a cut after a model switch aims at."""
    preserve_recent: int = declare("context.preserve_recent", 4, at_least=1, may_project_set=True)
    """Newest messages that are always sent verbatim, widened to whole exchanges."""
    tool_age: int = declare("context.tool_age", 10, at_least=1, may_project_set=True)
    """Exchanges after which tool calls and their results may be summarised on their own."""
    max_tokens: int = declare("context.max_tokens", 0, at_least=0)
    """A cap on what a request may take, in tokens; 0 means none."""
    output_limit: int | None = declare("context.output_limit", at_least=1)
    """Tokens kept for an answer. Unset: what the model can give."""
    strategies: tuple[StrategyName, ...] = declare("context.strategies", ("threshold", "goal_batch"), at_least=1)
    """Which strategies propose what to summarise, in the order they are asked."""
    layout: Layout = declare("context.layout", "log")  # noqa: RUF009  # it does not see through the name
    """How a request is laid out. `log`: the history, appended to, so that providers can cache it. `librarian`: only
    pins, what was found for the question, and recent messages; cheap, but nothing of it can be cached."""
    target_ratio: float = declare("summarization.target_ratio", 0.30, above=0, at_most=1)
    """A summary aims at this share of the originals' tokens."""
    summary_model: str | None = declare("summarization.model")
    """The model that writes summaries. Unset: the small model of the conversation's provider."""
    summary_kind: Literal["llm", "hybrid", "extractive"] = declare("summarization.kind", "hybrid")
    """Who writes summaries: a model, a model under headings that are made without one, or no model at all."""
    response_max_bytes: int = declare("tools.response_max_bytes", 32_768, at_least=1)
    """A tool result above this many bytes is shown as a preview; the whole is kept."""

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.target >= self.threshold:
            problems.append(f"context.target ({self.target}) must be below context.threshold ({self.threshold}).")
        check(self, *problems)


@dataclass(frozen=True, slots=True)
class LibrarianSettings:
    """What the keeper of facts reads."""

    enabled: bool = declare("librarian.enabled", True)
    """Whether facts are extracted after a turn and looked up before one."""
    model: str | None = declare("librarian.model")
    """The model that extracts facts. Unset: the small model of the conversation's provider."""
    daily_tokens: int = declare("librarian.daily_tokens", 200_000, at_least=0)
    """Tokens a folder's librarian may spend on a model each day, after which rules extract; 0: always rules."""
    rerank: bool = declare("librarian.rerank", False)
    """Whether the librarian's model puts what was found for a question in order, before the turn begins: one short
    call for each turn that is told something."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What you know better about a model, by its name. Unset: its provider's entry, then what is built in."""

    window: int | None = declare("models.NAME.window", at_least=1)
    """Tokens that input and answer share."""
    max_input: int | None = declare("models.NAME.max_input", at_least=1)
    """Tokens of input, where that is less than the window."""
    max_output: int | None = declare("models.NAME.max_output", at_least=1)
    """Tokens the model can answer with."""
    buffer: int | None = declare("models.NAME.buffer", at_least=0)
    """Tokens kept free for safety."""
    tokenizer: Literal["cl100k_base", "o200k_base"] | None = declare("models.NAME.tokenizer")
    """The vocabulary that its tokens are counted with."""

    def __post_init__(self) -> None:
        check(self, *_over_window("models", self.window, max_input=self.max_input, max_output=self.max_output))


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Where a provider is, by its name, and limits for those of its models that have no entry of their own."""

    base_url: str | None = declare("providers.NAME.base_url")
    """Where the service is reached. Begins with http:// or https:// and holds no user, password or query."""
    window: int | None = declare("providers.NAME.window", at_least=1)
    """Tokens that input and answer share, for models without an entry of their own."""
    max_output: int | None = declare("providers.NAME.max_output", at_least=1)
    """Tokens its models can answer with."""
    buffer: int | None = declare("providers.NAME.buffer", at_least=0)
    """Tokens kept free for safety."""

    def __post_init__(self) -> None:
        problems = list(_over_window("providers", self.window, max_output=self.max_output))
        if self.base_url is not None and not _is_plain_address(self.base_url):
            problems.append(
                "providers.NAME.base_url must begin with http:// or https:// and a host, and hold no user, password or "
                "query."
            )
        check(self, *problems)


@dataclass(frozen=True, slots=True)
class Settings:
    model: str | None = declare("model", may_project_set=True)
    """The model of new conversations. Unset: the first that can be used."""
    targets: tuple[str, ...] = declare("targets", (), may_project_set=True)
    """Models to go on with when the one in use cannot take a request, in this order."""
    context: ContextSettings = ContextSettings()
    librarian: LibrarianSettings = LibrarianSettings()
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    """By name. Nobody writes to it."""
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
    """By name. Nobody writes to it."""
    run_command: bool = declare("tools.run_command", False)
    """Whether models may ask to run programs in trusted folders. Each run is shown to you first."""
    redaction: bool = declare("redaction.enabled", True)
    """Whether keys, tokens and passwords of known forms are taken out of what a model's service is sent. You still see
    them, and they stay stored."""
    storage_path: str | None = declare("storage.path")
    """The folder the stores are kept in, an absolute path; `~` is your home. Unset: your data directory."""
    synchronous: Literal["NORMAL", "FULL"] = declare("storage.synchronous", "NORMAL")
    """FULL also survives a power cut, at the price of slower writes."""

    def __post_init__(self) -> None:
        check(self)


def _over_window(group: str, window: int | None, **limits: int | None) -> Iterator[str]:
    for name, limit in limits.items():
        if window is not None and limit is not None and limit > window:
            yield f"{group}.NAME.{name} ({limit}) must be at most {group}.NAME.window ({window})."


def _is_plain_address(text: str) -> bool:
    try:
        url = urlsplit(text)
        has_host = bool(url.hostname) and url.port != 0
    except ValueError:
        return False
    return url.scheme in ("http", "https") and has_host and "@" not in url.netloc and not (url.query or url.fragment)


SETTINGS: Final = tuple(
    setting
    for owner in (Settings, ContextSettings, LibrarianSettings, ModelSettings, ProviderSettings)
    for setting in settings_of(owner)
)
"""Every setting, in the order people read about them."""


def find_setting(path: tuple[str, ...]) -> Setting | None:
    """The setting of a concrete path, in which names of models and providers stand for `NAME`."""
    for setting in SETTINGS:
        if len(setting.path) == len(path) and all(
            ours in (NAME, part) for ours, part in zip(setting.path, path, strict=True)
        ):
            return setting
    return None


def to_entries(named: Mapping[str, ModelSettings] | Mapping[str, ProviderSettings]) -> dict[str, dict[str, int | str]]:
    """Of each model or provider what is set, by the name of its field."""
    return {
        name: {
            setting.attribute: value
            for setting in settings_of(type(entry))
            if (value := getattr(entry, setting.attribute)) is not None
        }
        for name, entry in named.items()
    }
