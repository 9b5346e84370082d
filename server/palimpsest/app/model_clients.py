"""The model clients of a process: made for each key or address, shared by folders, closed at the end."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from palimpsest.domain.models.provider import Provider
from palimpsest.domain.models.providers import BY_NAME, CHAT, FORMATS, PROVIDERS
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.keys import Keys

HINTS: Final = {each.name: each.hint for each in PROVIDERS}
"""The advice for each provider that is not configured."""


class ModelClient(Provider, Protocol):
    """A model client of `palimpsest_clients`."""

    async def aclose(self) -> None:
        """Closes its connections."""
        ...


def address_of(environ: Mapping[str, str], settings: Settings, provider: str) -> str | None:
    """The user's address of a provider; None for its usual one."""
    entry = settings.providers.get(provider)
    return environ.get(BY_NAME[provider].address_variable) or (None if entry is None else entry.base_url)


def build_client(provider: str, key: str, address: str | None) -> ModelClient:
    """A client for a service with a key. Raises ProviderError (auth) for an invalid key. Opens no connection."""
    entry = BY_NAME[provider]
    wire = entry.compatible_format or entry.format if address else entry.format
    if wire == CHAT:
        return client_class(wire)(key, address or entry.address, entry.name, key_header=entry.key_header)
    return client_class(wire)(key, address or entry.address)


def client_class(wire: str) -> Callable[..., ModelClient]:
    """The class of a client, imported when first needed, because clients import HTTP."""
    module, _, name = FORMATS[wire].partition(":")
    found: Callable[..., ModelClient] = getattr(importlib.import_module(module), name)
    return found


def check_key(provider: str, key: str) -> None:
    """Raises ProviderError (auth) for a text without the form of a key. Makes no request."""
    build_client(provider, key, None)


@dataclass(slots=True)
class ClientPool:
    """The model clients of a process. Folders share a client with the same key and address. After a change of its key,
    a client serves only the turns that have it, until the process ends."""

    environ: Mapping[str, str] = field(repr=False)
    """The environment, for addresses; the keys come from `keys`."""
    keys: Keys
    _built: dict[tuple[str, str | None, str | None], ModelClient] = field(default_factory=dict, repr=False)
    """The clients by provider, key and address."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def get(self, settings: Settings) -> dict[str, Provider]:
        """The clients of the configured providers, by provider. Slow for a new client; may be called in any thread."""
        found: dict[str, Provider] = {}
        with self._lock:
            for entry in PROVIDERS:
                address = address_of(self.environ, settings, entry.name)
                if entry.key_variables:
                    key = self.keys.get(entry.name)
                    is_configured = key is not None
                else:
                    key, address = None, self.environ.get(entry.host_variable) or address
                    is_configured = bool(address)
                if not is_configured:
                    continue
                known = (entry.name, key, address)
                if known not in self._built:
                    self._built[known] = (
                        client_class(entry.format)(address) if key is None else build_client(entry.name, key, address)
                    )
                found[entry.name] = self._built[known]
        return found

    async def aclose(self) -> None:
        await asyncio.gather(*(client.aclose() for client in self._built.values()))
