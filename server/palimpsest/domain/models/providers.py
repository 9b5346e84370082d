"""The providers that models are asked at: one entry for each, from which every list of providers is made.

Derived from the tables below: the clients that a process builds, `palimpsest login`, the hints of models that cannot be
used, docs/providers.md, a page of the VS Code extension, what `palimpsest fake-provider` announces, and the cases of
the tests. The models of a provider and their limits are in `data/models.json`. `configured` adds the services that the
user names, and the user's addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from palimpsest.domain.settings.settings import ProviderSettings

CHAT: Final = "chat"
"""The format that many services imitate, each under a name and a key of its own."""
FORMATS: Final[Mapping[str, str]] = {
    "anthropic": "palimpsest_clients.anthropic:AnthropicClient",
    "openai": "palimpsest_clients.openai.responses:ResponsesClient",
    CHAT: "palimpsest_clients.openai.chat_completions:ChatCompletionsClient",
    "gemini": "palimpsest_clients.gemini:GeminiClient",
    "ollama": "palimpsest_clients.ollama:OllamaClient",
}
"""`module:class` of the client for each format. The fake service has a dialect under each of these names."""
KINDS: Final[Mapping[str, str]] = {
    "openai-compatible": CHAT,
    **{each: each for each in ("openai", "anthropic", "gemini", "ollama")},
}
"""The format for each kind of service in the settings."""
NO_KEY: Final = "none"
KEY_HEADERS: Final[Mapping[str, tuple[str, str]]] = {
    "bearer": ("authorization", "Bearer "),
    "api-key": ("api-key", ""),
    "x-api-key": ("x-api-key", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
}
"""The header that holds the key, and what stands before it, for each way to send one."""
_USUAL_AUTH: Final[Mapping[str, str]] = {"anthropic": "x-api-key", "gemini": "x-goog-api-key", "ollama": NO_KEY}
"""The way that a format sends the key, when it is not `bearer`."""


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """One provider."""

    name: str
    """The name before the slash in its models' names; in upper case, before `_BASE_URL`."""
    title: str
    """Its name for people."""
    format: str
    """The format that it is asked in: a key of `FORMATS`."""
    address: str
    """Where it is asked; empty for a service that has an address of its own for each user, who has not set it."""
    key_variables: tuple[str, ...] = ()
    """The environment variables for its key; the first that is set counts. Empty for a provider without keys, whose
    address is in `NAME_HOST` or in the settings."""
    auth: str = ""
    """How its key is sent: a key of `KEY_HEADERS`, or `NO_KEY`; empty: as usual for its format."""
    needs_key: bool = True
    """Whether it is not asked without a key."""
    compatible_format: str = ""
    """The format of services at other addresses that imitate it; empty: the same."""
    start_command: str = ""
    """The command that starts it on the user's machine; empty: not known."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers of each request."""
    models: tuple[str, ...] = ()
    """The models that the user names, as the service writes them."""
    is_moved: bool = False
    """Whether the address is the user's own."""

    @property
    def takes_key(self) -> bool:
        return bool(self.key_variables)

    @property
    def key_header(self) -> tuple[str, str] | None:
        """The header that holds its key, and what stands before the key; None when no key is sent."""
        return KEY_HEADERS.get(self.auth or _USUAL_AUTH.get(self.format, "bearer"))

    @property
    def address_variable(self) -> str:
        """The variable that holds its address."""
        return f"{_in_variables(self.name)}_BASE_URL"

    @property
    def host_variable(self) -> str:
        """The variable that holds the address of a provider without a key."""
        return f"{_in_variables(self.name)}_HOST"

    @property
    def origin(self) -> str:
        """The origin of the address: a key that was given for one origin goes to no other."""
        return origin_of(self.address)

    @property
    def hint(self) -> str:
        """The advice for a user who has not configured it."""
        if not self.takes_key:
            return f"set {self.host_variable} in the environment (such as localhost:11434)"
        if not self.needs_key:
            return f"set {self.address_variable} (such as {self.address or 'http://localhost:8000/v1'})"
        if not self.address:
            return (
                f"set {self.address_variable} to your address of the service, then run `palimpsest login {self.name}`"
            )
        other = f" (and {self.address_variable} for another service)" if self.compatible_format else ""
        return f"run `palimpsest login {self.name}` or set {self.key_variables[0]}{other}"


PROVIDERS: Final = (
    ProviderEntry("anthropic", "Anthropic", "anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    ProviderEntry(
        "openai", "OpenAI", "openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), compatible_format=CHAT
    ),
    ProviderEntry(
        *("gemini", "Gemini", "gemini", "https://generativelanguage.googleapis.com"),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    ProviderEntry(
        "ollama", "Ollama", "ollama", "http://localhost:11434", needs_key=False, start_command="ollama serve"
    ),
)
"""The providers that have a format, or limits, of their own. The first one that is configured gives the default
model."""


def _preset(name: str, title: str, address: str, variable: str = "", auth: str = "") -> ProviderEntry:
    return ProviderEntry(name, title, CHAT, address, (variable or f"{name.upper()}_API_KEY",), auth)


def _local(name: str, title: str, address: str, start_command: str = "") -> ProviderEntry:
    variables = (f"{name.upper()}_API_KEY",)
    return ProviderEntry(name, title, CHAT, address, variables, needs_key=False, start_command=start_command)


PRESETS: Final = (
    _preset("openrouter", "OpenRouter", "https://openrouter.ai/api/v1"),
    _preset("groq", "Groq", "https://api.groq.com/openai/v1"),
    _preset("mistral", "Mistral", "https://api.mistral.ai/v1"),
    _preset("deepseek", "DeepSeek", "https://api.deepseek.com/v1"),
    _preset("xai", "xAI", "https://api.x.ai/v1"),
    _preset("together", "Together AI", "https://api.together.xyz/v1"),
    _preset("fireworks", "Fireworks AI", "https://api.fireworks.ai/inference/v1"),
    _preset("cerebras", "Cerebras", "https://api.cerebras.ai/v1"),
    _preset("azure", "Azure OpenAI", "", "AZURE_OPENAI_API_KEY", "api-key"),
    # Not GITHUB_TOKEN, which is there for other programs and would make the service one that is used.
    _preset("github", "GitHub Models", "https://models.github.ai/inference", "GITHUB_MODELS_TOKEN"),
    _local("lmstudio", "LM Studio", "http://localhost:1234/v1", "lms server start"),
    _local("llamacpp", "llama.cpp", "http://localhost:8080/v1", "llama-server"),
    _local("vllm", "vLLM", "http://localhost:8000/v1", "vllm serve"),
    _local("litellm", "LiteLLM", "http://localhost:4000/v1", "litellm"),
)
"""Services that imitate Chat Completions, with their addresses of 2026-11, from their own documentation. Those on the
user's machine are asked once the user has set their address."""

BY_NAME: Final[Mapping[str, ProviderEntry]] = {each.name: each for each in (*PROVIDERS, *PRESETS)}
WITH_KEY: Final = tuple(each for each in PROVIDERS if each.key_variables)
WITHOUT_KEY: Final = tuple(each for each in PROVIDERS if not each.key_variables)


def configured(named: Mapping[str, ProviderSettings], environ: Mapping[str, str]) -> dict[str, ProviderEntry]:
    """Every provider by name: those of the tables, then the user's own, each with the user's address and words.

    `environ`: the environment, where an address may stand too; it counts before the settings."""
    entries: dict[str, ProviderEntry] = {}
    for name in dict.fromkeys((*BY_NAME, *named)):
        entries[name] = _with_address(_by_user(name, named.get(name)), named.get(name), environ)
    return entries


def _by_user(name: str, entry: ProviderSettings | None) -> ProviderEntry:
    known = BY_NAME.get(name)
    if entry is None:
        return BY_NAME[name]
    wire = KINDS[entry.kind] if entry.kind is not None else CHAT if known is None else known.format
    if known is None:
        auth = entry.auth or ""
        is_keyless = (auth or _USUAL_AUTH.get(wire)) == NO_KEY
        variables = () if is_keyless else (f"{_in_variables(name)}_API_KEY",)
        known = ProviderEntry(name, name, wire, "", variables, auth, needs_key=auth not in ("", NO_KEY))
    elif entry.auth is not None:
        known = replace(known, auth=entry.auth, needs_key=entry.auth != NO_KEY)
    if known.auth == NO_KEY:
        known = replace(known, key_variables=())
    elif entry.key_variable is not None:
        known = replace(known, key_variables=(entry.key_variable,))
    # A kind is what the service is, so it is no imitation at another address.
    compatible = "" if entry.kind is not None else known.compatible_format
    headers = tuple((key.strip(), value.strip()) for key, _, value in (each.partition(":") for each in entry.headers))
    return replace(known, format=wire, compatible_format=compatible, headers=headers, models=entry.models)


def _with_address(entry: ProviderEntry, words: ProviderSettings | None, environ: Mapping[str, str]) -> ProviderEntry:
    host = "" if entry.takes_key else environ.get(entry.host_variable)
    address = host or environ.get(entry.address_variable) or (words.base_url if words is not None else None)
    return at_address(entry, address) if address else entry


def origin_of(address: str) -> str:
    """Scheme, host and port of an address."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()


def at_address(entry: ProviderEntry, address: str) -> ProviderEntry:
    """The provider at an address of the user's own."""
    return replace(entry, address=address, format=entry.compatible_format or entry.format, is_moved=True)


def _in_variables(name: str) -> str:
    return name.upper().replace("-", "_")
