"""The model clients of a process: made for each key or address, shared by folders, closed at the end."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from palimpsest.domain.errors import ErrorKind, InvalidRequest, ProviderError
from palimpsest.domain.models.provider import LiveProvider, Provider
from palimpsest.domain.models.providers import FORMATS, ProviderEntry, at_address, configured
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.keys import Keys, find_entry
from palimpsest.services.models.model_services import ServiceAnswer, ServiceState, Verdict


class ModelClient(LiveProvider, Protocol):
    """A model client of `palimpsest_clients`."""

    async def aclose(self) -> None:
        """Closes its connections."""
        ...


def build_client(entry: ProviderEntry, key: str | None) -> ModelClient:
    """A client for a service. Raises ProviderError (auth) for an invalid key. Opens no connection."""
    return client_class(entry.format)(key, entry.address, entry.name, auth=entry.key_header, headers=entry.headers)


def client_class(wire: str) -> Callable[..., ModelClient]:
    """The class of a client, imported when first needed, because clients import HTTP."""
    module, _, name = FORMATS[wire].partition(":")
    found: Callable[..., ModelClient] = getattr(importlib.import_module(module), name)
    return found


async def ask_service(client: ModelClient) -> ServiceAnswer:
    """Ask for the list of models, and close the client. An answer that needed no key says nothing about one."""
    try:
        return ServiceAnswer(Verdict.ACCEPTED, tuple(each.service_name for each in await client.models()))
    except ProviderError as error:
        match error.kind:
            case ErrorKind.RATE_LIMITED | ErrorKind.QUOTA:  # the service knows the key
                return ServiceAnswer(Verdict.ACCEPTED)
            case ErrorKind.AUTH:
                verdict = Verdict.REFUSED
            case ErrorKind.NETWORK:
                verdict = Verdict.UNREACHABLE
            case _:
                verdict = Verdict.UNCLEAR
        return ServiceAnswer(verdict, sentence=str(error))
    finally:
        await client.aclose()


def check_key(entry: ProviderEntry, key: str) -> None:
    """Raises ProviderError (auth) for a text without the form of a key. Makes no request."""
    build_client(entry, key)


@dataclass(slots=True)
class ClientPool:
    """The model clients of a process. Folders share a client with the same key and address. After a change of its key,
    a client serves only the turns that have it, until the process ends."""

    environ: Mapping[str, str] = field(repr=False)
    """The environment, for addresses; the keys come from `keys`."""
    keys: Keys
    _built: dict[tuple[ProviderEntry, str | None], ModelClient] = field(default_factory=dict, repr=False)
    """The clients by provider and key."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def entries(self, settings: Settings) -> dict[str, ProviderEntry]:
        """See `ModelServices`."""
        return configured(settings.providers, self.environ)

    def get(self, settings: Settings) -> dict[str, Provider]:
        """The clients of the configured providers, by provider. Slow for a new client; may be called in any thread."""
        found: dict[str, Provider] = {}
        with self._lock:
            for entry in self.entries(settings).values():
                if not self._is_ready(entry):
                    continue
                known = replace(entry, models=()), self.keys.get(entry)
                if known not in self._built:
                    self._built[known] = build_client(*known)
                found[entry.name] = self._built[known]
        return found

    def hints(self, settings: Settings) -> dict[str, str]:
        """The advice for each provider: how to make it ready."""
        return {name: self.keys.lost(entry) or entry.hint for name, entry in self.entries(settings).items()}

    def addresses(self, settings: Settings) -> dict[str, str]:
        """Where the configured providers are asked, as a user may see it."""
        return {each.entry.name: each.address for each in self.states(settings) if each.is_ready}

    def states(self, settings: Settings) -> list[ServiceState]:
        """See `ModelServices`."""
        return [
            ServiceState(entry, _without_user(entry.address), not entry.is_moved, self._is_ready(entry))
            for entry in self.entries(settings).values()
        ]

    async def try_service(
        self, settings: Settings, provider: str, key: str | None, address: str | None
    ) -> ServiceAnswer:
        """See `ModelServices`."""
        entries = self.entries(settings)
        entry = entries[provider] if provider in entries else find_entry(entries, provider)
        asked = at_address(entry, address) if address else entry
        if address and key is None and (entry.needs_key or self.keys.get(entry) is not None):
            raise InvalidRequest(f"Give the key with the address: the key of {entry.title} is sent to no other one.")
        used = key or (None if address else self.keys.get(entry))
        if used is None and entry.needs_key:
            raise InvalidRequest(f"There is no key for {entry.title} yet.")
        if not asked.address:
            raise InvalidRequest(f"Give the address of {entry.title}, which differs from user to user.")
        return await ask_service(await asyncio.to_thread(build_client, asked, used))

    def _is_ready(self, entry: ProviderEntry) -> bool:
        """Whether there is an address, and the key that it needs. A service that needs none is asked where the user has
        said so."""
        has_key = self.keys.get(entry) is not None
        return bool(entry.address) and (has_key or (not entry.needs_key and entry.is_moved))

    async def aclose(self) -> None:
        await asyncio.gather(*(client.aclose() for client in self._built.values()))


def _without_user(address: str) -> str:
    """The address as a user may see it: a proxy's may have a name and a password before the host."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")) if parts.netloc else address
