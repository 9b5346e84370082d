"""The providers of models. Every list of providers is made from these entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A provider that Palimpsest has a client for. Its models and their limits are in `data/models.json`."""

    name: str
    """The name before the slash in its models' names; in upper case, before `_BASE_URL`."""
    client: str
    """The `module:class` of its client."""
    key_variables: tuple[str, ...] = ()
    """The environment variables for its key; the first that is set counts. Empty for a provider without keys, whose
    address is in `NAME_HOST` or in the settings."""
    compatible_client: str = ""
    """The `module:class` of the client for compatible services at other addresses; empty when `client` serves them
    too."""

    @property
    def address_variable(self) -> str:
        return f"{self.name.upper()}_BASE_URL"

    @property
    def host_variable(self) -> str:
        return f"{self.name.upper()}_HOST"

    @property
    def hint(self) -> str:
        """The advice for a user who has not configured it."""
        if not self.key_variables:
            return f"set {self.host_variable} in the environment (such as localhost:11434)"
        other = f" (and {self.address_variable} for another service)" if self.compatible_client else ""
        variable = self.key_variables[0]
        return f"run `palimpsest login {self.name}` or set {variable}{other}"


PROVIDERS: Final = (
    ProviderEntry("anthropic", "palimpsest_clients.anthropic:AnthropicClient", ("ANTHROPIC_API_KEY",)),
    ProviderEntry(
        "openai",
        "palimpsest_clients.openai.responses:ResponsesClient",
        ("OPENAI_API_KEY",),
        "palimpsest_clients.openai.chat_completions:ChatCompletionsClient",
    ),
    ProviderEntry("gemini", "palimpsest_clients.gemini:GeminiClient", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    ProviderEntry("ollama", "palimpsest_clients.ollama:OllamaClient"),
)
"""All providers. The first one that is configured gives the default model."""

BY_NAME: Final[Mapping[str, ProviderEntry]] = {each.name: each for each in PROVIDERS}
WITH_KEY: Final = tuple(each for each in PROVIDERS if each.key_variables)


def one_of_those_with_key(word: str = "or") -> str:
    """The names of the providers with keys, as `a, b or c`."""
    *first, last = (each.name for each in WITH_KEY)
    return f"{', '.join(first)} {word} {last}"
