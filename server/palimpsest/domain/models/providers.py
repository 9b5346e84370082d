"""The providers that models are asked at: an entry for each, from which every list of them is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A provider that Palimpsest has a client for. Its models and their limits stand in `data/models.json`."""

    name: str
    """Before the slash of its models' names, and in upper case before `_BASE_URL`."""
    client: str
    """`module:class` of its client."""
    key_variables: tuple[str, ...] = ()
    """The variables its key may stand in; the first that is set counts. Empty: it takes no key, and is asked where the
    variable `NAME_HOST` or its address says."""
    compatible_client: str = ""
    """`module:class` for services at other addresses that speak another dialect of it. Empty: they speak the same."""

    @property
    def address_variable(self) -> str:
        return f"{self.name.upper()}_BASE_URL"

    @property
    def host_variable(self) -> str:
        return f"{self.name.upper()}_HOST"

    @property
    def hint(self) -> str:
        """What to do when it is not configured."""
        if not self.key_variables:
            return f"set {self.host_variable} (such as localhost:11434) in the environment and start again"
        other = f" (and {self.address_variable} for another service)" if self.compatible_client else ""
        variable = self.key_variables[0]
        return f"run `palimpsest login {self.name}`, or start again with {variable}{other} in the environment"


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
"""In the order in which the first that is configured gives the default model."""

BY_NAME: Final[Mapping[str, ProviderEntry]] = {each.name: each for each in PROVIDERS}
WITH_KEY: Final = tuple(each for each in PROVIDERS if each.key_variables)


def one_of_those_with_key(word: str = "or") -> str:
    """`a, b or c`."""
    *first, last = (each.name for each in WITH_KEY)
    return f"{', '.join(first)} {word} {last}"
