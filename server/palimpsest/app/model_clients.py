"""Which model clients a process has: built where there is a key or an address, shared by folders, closed at the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from palimpsest.domain.models.provider import Provider
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.keys import KEY_VARIABLES, Keys

HINTS: Final = {
    "anthropic": "run `palimpsest login anthropic`, or start again with ANTHROPIC_API_KEY in the environment",
    "openai": "run `palimpsest login openai`, or start again with OPENAI_API_KEY (and OPENAI_BASE_URL for another "
    "service) in the environment",
    "gemini": "run `palimpsest login gemini`, or start again with GEMINI_API_KEY in the environment",
    "ollama": "set OLLAMA_HOST (such as localhost:11434) in the environment and start again",
}
"""By provider: what to do when it is not configured."""


class ModelClient(Provider, Protocol):
    """A model client of `palimpsest_clients`."""

    async def aclose(self) -> None:
        """Closes its connections."""
        ...


def address_of(environ: Mapping[str, str], settings: Settings, provider: str) -> str | None:
    """Where the user says a provider is; None for where it always is."""
    entry = settings.providers.get(provider)
    return environ.get(f"{provider.upper()}_BASE_URL") or (None if entry is None else entry.base_url)


def build_client(provider: str, key: str, address: str | None) -> ModelClient:
    """The client of a service that wants a key. Raises ProviderError (auth) for what cannot be one. Opens nothing."""
    match provider:
        case "anthropic":
            from palimpsest_clients.anthropic import AnthropicClient

            return AnthropicClient(key, address) if address else AnthropicClient(key)
        case "openai" if address:
            from palimpsest_clients.openai_compatible import OpenAICompatibleClient

            return OpenAICompatibleClient(key, address)
        case "openai":
            from palimpsest_clients.openai import OpenAIClient

            return OpenAIClient(key)
        case "gemini":
            from palimpsest_clients.gemini import GeminiClient

            return GeminiClient(key, address) if address else GeminiClient(key)
        case _:
            raise ValueError("no service that wants a key")


def check_key(provider: str, key: str) -> None:
    """Raises ProviderError (auth) when it has not the form of a key. Asks nobody."""
    build_client(provider, key, None)


@dataclass(slots=True)
class ClientPool:
    """The model clients of a process. Folders share those with the same key and address. One whose key has changed is
    not given out any more, but it serves the turns that have it, up to the end of the process."""

    environ: Mapping[str, str] = field(repr=False)
    """For addresses; keys come from `keys`."""
    keys: Keys
    _built: dict[tuple[str, str | None, str | None], ModelClient] = field(default_factory=dict, repr=False)
    """By provider, key and address."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def get(self, settings: Settings) -> dict[str, Provider]:
        """By provider: those that are configured now. Slow where one is new; may be called in any thread."""
        found: dict[str, Provider] = {}
        with self._lock:
            for provider in KEY_VARIABLES:
                if (key := self.keys.get(provider)) is not None:
                    address = address_of(self.environ, settings, provider)
                    if (provider, key, address) not in self._built:
                        self._built[provider, key, address] = build_client(provider, key, address)
                    found[provider] = self._built[provider, key, address]
            if host := self.environ.get("OLLAMA_HOST") or address_of(self.environ, settings, "ollama"):
                if ("ollama", None, host) not in self._built:
                    self._built["ollama", None, host] = _ollama(host)
                found["ollama"] = self._built["ollama", None, host]
        return found

    async def aclose(self) -> None:
        await asyncio.gather(*(client.aclose() for client in self._built.values()))


def _ollama(host: str) -> ModelClient:
    from palimpsest_clients.ollama import OllamaClient
    from palimpsest_clients.ollama import address_of as ollama_address

    return OllamaClient(ollama_address(host))
