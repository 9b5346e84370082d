"""Every setting, declared once: its key, type, default, range, and whether a project's file may set it.

The program reads `Settings` and its parts. `SETTINGS` is the table for the loader, the documentation and the editors'
schema. A part is named after its reader, so each field declares the key that people write. The string below a field is
its documentation. An invalid value cannot be constructed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.settings.schema import NAME, Setting, check, declare, settings_of
from palimpsest.domain.strategy_names import StrategyName

Layout = Literal["log", "librarian"]
"""How a request is laid out."""
ProviderKind = Literal["openai-compatible", "openai", "anthropic", "gemini", "ollama"]
"""The way in which a service of models is asked: `openai-compatible` is Chat Completions, `openai` the Responses
API."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,100}")
_RESERVED_HEADERS: Final = {
    *("authorization", "proxy-authorization", "cookie", "api-key", "x-api-key", "x-goog-api-key"),
    *("host", "content-length", "content-type", "transfer-encoding", "connection", "accept"),
}
"""Headers that hold keys, or that belong to the way of asking."""
PROVIDER_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
"""The form of a provider's name."""
_TAKEN_NAMES: Final = {"offline", "editor", "unknown"}
"""Names before the slash that are not services."""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """The settings of the context engine: cuts, budgets, summaries, previews."""

    infinity: bool = declare("context.infinity", True)
    """Summarize older messages. When false, the oldest exchanges are left out of requests instead; they stay stored."""
    threshold: float = declare("context.threshold", 0.97, above=0, at_most=1, may_project_set=True)
    """The share of the budget at which older messages are summarized."""
    target: float = declare("context.target", 0.50, above=0, at_most=1, may_project_set=True)
    """The share of the budget that is used after older messages are summarized. Below `context.threshold`."""
    switch_target: float = declare("context.switch_target", 0.60, above=0, at_most=1)
    """The share of the new budget that is used after a switch of the model."""
    preserve_recent: int = declare("context.preserve_recent", 4, at_least=1, may_project_set=True)
    """The number of newest messages that are always sent verbatim, widened to whole exchanges."""
    tool_age: int = declare("context.tool_age", 10, at_least=1, may_project_set=True)
    """The number of exchanges after which tool calls and their results may be summarized on their own."""
    max_tokens: int = declare("context.max_tokens", 0, at_least=0)
    """The most tokens of a request, whatever the model allows; 0 means no such limit."""
    output_limit: int | None = declare("context.output_limit", at_least=1)
    """The tokens kept free for an answer. Unset: the most that the model can answer with."""
    strategies: tuple[StrategyName, ...] = declare("context.strategies", ("threshold", "goal_batch"), at_least=1)
    """The strategies that choose messages to summarize, in order."""
    layout: Layout = declare("context.layout", "log")  # noqa: RUF009  # it does not see through the name
    """The layout of a request. `log`: the conversation, which only grows, so that providers can cache it. `librarian`:
    pins, text that was found for the question, and recent messages. That is short, but cannot be cached."""
    target_ratio: float = declare("summarization.target_ratio", 0.30, above=0, at_most=1)
    """The wanted length of a summary, as a share of the tokens that it summarizes."""
    summary_model: str | None = declare("summarization.model")
    """The model that writes summaries. Unset: the small model of the conversation's provider."""
    summary_kind: Literal["llm", "hybrid", "extractive"] = declare("summarization.kind", "hybrid")
    """The writer of summaries: `llm` is a model, `hybrid` rules with a short text by a model behind, and
    `extractive` no model."""
    response_max_bytes: int = declare("tools.response_max_bytes", 32_768, at_least=1)
    """A longer tool result, in bytes, is sent to the model as a preview; the whole result is stored."""

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.target >= self.threshold:
            problems.append(f"context.target ({self.target}) must be below context.threshold ({self.threshold}).")
        check(self, *problems)


@dataclass(frozen=True, slots=True)
class LibrarianSettings:
    """The settings of the librarian."""

    enabled: bool = declare("librarian.enabled", True)
    """Extract facts after each turn, and look facts up before each turn."""
    model: str | None = declare("librarian.model")
    """The model that extracts facts. Unset: the small model of the conversation's provider."""
    daily_tokens: int = declare("librarian.daily_tokens", 200_000, at_least=0)
    """The tokens that a folder's librarian may spend on a model each day. After that, rules extract the facts; 0 means
    always."""
    rerank: bool = declare("librarian.rerank", False)
    """Let the librarian's model rank the facts and messages that were found for a question, with one short call per
    turn."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True)
class HubSettings:
    """The settings of the hub through which conversations are shared."""

    url: str | None = declare("hub.url")
    """The address of the hub, as PostgreSQL takes it, such as `postgresql://ann@hub.example.org/hub`; or `local`, for
    the hub of `palimpsest hub local`. Passwords come from `PGPASSFILE`, a token from the variable
    `PALIMPSEST_HUB_TOKEN`. Unset: nothing is shared."""
    listen_url: str | None = declare("hub.listen_url")
    """The address for notifications, when `hub.url` is that of a pooler."""
    team: str | None = declare("hub.team")
    """The name of the team with which conversations are shared. Unset: the only team that you are in."""
    share_tool_results: bool = declare("hub.share_tool_results", True)
    """Share the results of tools. When false, their texts stay on this machine."""
    facts: bool = declare("hub.facts", False)
    """Share the facts of the folders for which you said so (`/share facts`), and take in those of your team."""
    poll_s: int = declare("hub.poll_s", 3, at_least=1)
    """How often the hub is asked for news, in seconds."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The settings for pages of the web that messages mention. They count from your own file and the environment
    alone."""

    hosts: tuple[str, ...] = declare("web.hosts", (), may_editor_set=False)
    """Hosts from which a page that you mention is fetched without a question, such as `docs.python.org`. A name without
    a port allows every port."""
    allow_private: tuple[str, ...] = declare("web.allow_private", (), may_editor_set=False)
    """Hosts of this machine and its network from which a page that you mention may be fetched, such as
    `localhost:8000`. A name without a port allows every port. No other page leads there."""
    proxy: bool = declare("web.proxy", False, may_editor_set=False)
    """Fetch pages through the proxy that the environment names (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). It looks
    names up itself, so what is private is told by this machine's own look-up alone."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Your own limits of a model, by its name. Unset: the provider's entry, then the built-in value."""

    window: int | None = declare("models.NAME.window", at_least=1)
    """The context window in tokens: input and answer together."""
    max_input: int | None = declare("models.NAME.max_input", at_least=1)
    """The most tokens of input, when that is less than the window."""
    max_output: int | None = declare("models.NAME.max_output", at_least=1)
    """The most tokens of an answer."""
    buffer: int | None = declare("models.NAME.buffer", at_least=0)
    """A reserve of free tokens, for safety."""
    tokenizer: Literal["cl100k_base", "o200k_base"] | None = declare("models.NAME.tokenizer")
    """The vocabulary that counts its tokens."""
    images: bool | None = declare("models.NAME.images")
    """Whether it sees pictures. Unset: what its service says, else what is known of it."""
    input_price: float | None = declare("models.NAME.input_price", at_least=0)
    """What a million tokens of input cost, in US dollars. Counts with `output_price`. Unset: the built-in price, when
    one is known."""
    output_price: float | None = declare("models.NAME.output_price", at_least=0)
    """What a million tokens of answers cost, in US dollars."""
    cache_read_price: float | None = declare("models.NAME.cache_read_price", at_least=0)
    """What a million tokens from the service's cache cost. Unset: as much as input."""
    cache_write_price: float | None = declare("models.NAME.cache_write_price", at_least=0)
    """What a million tokens written to the cache cost. Unset: as much as input."""

    def __post_init__(self) -> None:
        check(self, *_over_window("models", self.window, max_input=self.max_input, max_output=self.max_output))


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """A service of models, by its name: a known one, or one under a name of your own. Its models are `NAME/MODEL`."""

    kind: ProviderKind | None = declare("providers.NAME.kind")  # noqa: RUF009  # it does not see through the name
    """The way in which the service is asked. Unset: as usual for a known one, else `openai-compatible`."""
    base_url: str | None = declare("providers.NAME.base_url")
    """The address of the service. It begins with http:// or https:// and has no user, password or query."""
    auth: Literal["bearer", "api-key", "x-api-key", "none"] | None = declare("providers.NAME.auth")
    """How the key is sent: in `Authorization` as a bearer token, or alone in the header of that name; `none` sends
    none. Unset: as usual for its kind, when there is a key."""
    key_variable: str | None = declare("providers.NAME.key_variable")
    """The environment variable with its key. Unset: the known one, or `NAME_API_KEY`. The key itself is never in a
    file of settings; `palimpsest login NAME` stores it."""
    headers: tuple[str, ...] = declare("providers.NAME.headers", ())
    """Further headers of each request, each as `Name: text`."""
    models: tuple[str, ...] = declare("providers.NAME.models", ())
    """The models to choose from first, as the service writes them; the first one is used when no other is named."""
    window: int | None = declare("providers.NAME.window", at_least=1)
    """The context window in tokens of its models without an entry of their own."""
    max_output: int | None = declare("providers.NAME.max_output", at_least=1)
    """The most tokens of an answer of its models."""
    buffer: int | None = declare("providers.NAME.buffer", at_least=0)
    """A reserve of free tokens, for safety."""

    def __post_init__(self) -> None:
        problems = list(_over_window("providers", self.window, max_output=self.max_output))
        if self.base_url is not None and not _is_plain_address(self.base_url):
            problems.append(
                "providers.NAME.base_url must begin with http:// or https:// and a host, and have no user, password or "
                "query."
            )
        if self.key_variable is not None and not _VARIABLE.fullmatch(self.key_variable):
            # Not quoted: it may be a key in the wrong place.
            problems.append("providers.NAME.key_variable must be the name of a variable, such as MY_API_KEY.")
        for header in self.headers:
            name, colon, text = header.partition(":")
            if not colon or not _HEADER.fullmatch(name.strip()) or not (text.isascii() and text.strip()):
                problems.append('providers.NAME.headers must hold texts such as "X-Title: Palimpsest".')
            elif name.strip().lower() in _RESERVED_HEADERS:
                problems.append(
                    f"providers.NAME.headers must not set {name.strip()}: keys are not read from settings. Choose "
                    "providers.NAME.auth, and run `palimpsest login NAME`."
                )
        check(self, *problems)


@dataclass(frozen=True, slots=True)
class Settings:
    model: str | None = declare("model", may_project_set=True)
    """The model of new conversations. Unset: the first available one."""
    targets: tuple[str, ...] = declare("targets", (), may_project_set=True)
    """Models that answer, in this order, when the model of a conversation cannot."""
    context: ContextSettings = ContextSettings()
    librarian: LibrarianSettings = LibrarianSettings()
    hub: HubSettings = HubSettings()
    web: WebSettings = WebSettings()
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    """The entries by name. Read only."""
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
    """The entries by name. Read only."""
    mcp: Mapping[str, ServerConfig] = field(default_factory=dict)
    """The servers of the Model Context Protocol, by name: `[mcp.NAME]` in the user's file, and nowhere else. Read
    only."""
    monthly_budget: float = declare("budget.monthly", 0.0, at_least=0)
    """What models may cost in a calendar month (UTC), in US dollars, in all your folders together. From four fifths on
    you are told; when it is spent, you are asked before the next answer. 0 means no limit."""
    run_command: bool = declare("tools.run_command", False)
    """Let models run programs in trusted folders. You approve each run first."""
    redaction: bool = declare("redaction.enabled", True)
    """Remove keys, tokens and passwords of known forms from requests to model services. You still see them, and they
    stay stored."""
    storage_path: str | None = declare("storage.path")
    """The folder of the stores, an absolute path; `~` is your home. Unset: your data directory."""
    synchronous: Literal["NORMAL", "FULL"] = declare("storage.synchronous", "NORMAL")
    """`FULL` also survives a power cut, but writes are slower."""

    def __post_init__(self) -> None:
        check(self)


def is_provider_name(name: str) -> bool:
    """Whether a service can have this name."""
    return PROVIDER_NAME.fullmatch(name) is not None and name not in _TAKEN_NAMES


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
    for owner in (
        Settings,
        ContextSettings,
        LibrarianSettings,
        HubSettings,
        WebSettings,
        ModelSettings,
        ProviderSettings,
    )
    for setting in settings_of(owner)
)
"""Every setting, in the order of the documentation."""


def find_setting(path: tuple[str, ...]) -> Setting | None:
    """The setting of a concrete path, which has the name of a model or provider instead of `NAME`."""
    for setting in SETTINGS:
        if len(setting.path) == len(path) and all(
            ours in (NAME, part) for ours, part in zip(setting.path, path, strict=True)
        ):
            return setting
    return None


def to_entries(
    named: Mapping[str, ModelSettings] | Mapping[str, ProviderSettings],
) -> dict[str, dict[str, int | float | str]]:
    """The set values of each model or provider, by the name of the field; without lists."""
    return {
        name: {
            setting.attribute: value
            for setting in settings_of(type(entry))
            if isinstance(value := getattr(entry, setting.attribute), int | float | str)
        }
        for name, entry in named.items()
    }
