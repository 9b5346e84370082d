"""The providers that models are asked at: one entry for each, from which every list of providers is made.

Derived from the tables below: the clients that a process builds, `palimpsest login`, the hints of models that cannot be
used, docs/providers.md, the list of the VS Code extension, what `palimpsest fake-provider` announces, and the cases of
the tests. The models of a provider and their limits are in `data/models.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
    """Where it is, unless the user says otherwise."""
    key_variables: tuple[str, ...] = ()
    """The environment variables for its key; the first that is set counts. Empty for a provider without keys, whose
    address is in `NAME_HOST` or in the settings."""
    key_header: str = ""
    """The header that holds its key and nothing else; empty: that of its format. Only for `CHAT`."""
    compatible_format: str = ""
    """The format of services at other addresses that imitate it; empty: the same."""
    start_command: str = ""
    """The command that starts it on the user's machine; empty: not known."""

    @property
    def address_variable(self) -> str:
        """The variable that holds its address."""
        return f"{self.name.upper()}_BASE_URL"

    @property
    def host_variable(self) -> str:
        """The variable that holds the address of a provider without a key."""
        return f"{self.name.upper()}_HOST"

    @property
    def hint(self) -> str:
        """The advice for a user who has not configured it."""
        if not self.key_variables:
            return f"set {self.host_variable} in the environment (such as localhost:11434)"
        other = f" (and {self.address_variable} for another service)" if self.compatible_format else ""
        variable = self.key_variables[0]
        return f"run `palimpsest login {self.name}` or set {variable}{other}"


PROVIDERS: Final = (
    ProviderEntry("anthropic", "Anthropic", "anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    ProviderEntry(
        "openai", "OpenAI", "openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), compatible_format=CHAT
    ),
    ProviderEntry(
        *("gemini", "Gemini", "gemini", "https://generativelanguage.googleapis.com"),
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    ProviderEntry("ollama", "Ollama", "ollama", "http://localhost:11434", start_command="ollama serve"),
)
"""All providers. The first one that is configured gives the default model."""

BY_NAME: Final[Mapping[str, ProviderEntry]] = {each.name: each for each in PROVIDERS}
WITH_KEY: Final = tuple(each for each in PROVIDERS if each.key_variables)
WITHOUT_KEY: Final = tuple(each for each in PROVIDERS if not each.key_variables)


def one_of_those_with_key() -> str:
    """The names of the providers with keys, as `a, b or c`."""
    *first, last = (each.name for each in WITH_KEY)
    return f"{', '.join(first)} or {last}"
