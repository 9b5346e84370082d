"""The model clients of a process: made for each key or address, shared by folders, closed at the end."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import urlsplit, urlunsplit

from palimpsest.domain.errors import ErrorKind, InvalidRequest, ProviderError
from palimpsest.domain.models.provider import LiveProvider, Provider
from palimpsest.domain.models.providers import BY_NAME, CHAT, FORMATS, PROVIDERS, ProviderEntry
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.models.keys import Keys, check_takes_key
from palimpsest.services.models.model_services import ServiceAnswer, ServiceState, Verdict

HINTS: Final = {each.name: each.hint for each in PROVIDERS}
"""The advice for each provider that is not configured."""


class ModelClient(LiveProvider, Protocol):
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
                address = self._own_address(settings, entry)
                key = self.keys.get(entry.name) if entry.key_variables else None
                is_configured = key is not None if entry.key_variables else bool(address)
                if not is_configured:
                    continue
                known = (entry.name, key, address)
                if known not in self._built:
                    self._built[known] = (
                        client_class(entry.format)(address) if key is None else build_client(entry.name, key, address)
                    )
                found[entry.name] = self._built[known]
        return found

    def states(self, settings: Settings) -> list[ServiceState]:
        """See `ModelServices`."""
        found = []
        for entry in PROVIDERS:
            own = self._own_address(settings, entry)
            is_ready = self.keys.get(entry.name) is not None if entry.key_variables else own is not None
            found.append(ServiceState(entry, _without_user(own or entry.address), own is None, is_ready))
        return found

    async def try_service(
        self, settings: Settings, provider: str, key: str | None, address: str | None
    ) -> ServiceAnswer:
        """See `ModelServices`."""
        if provider not in BY_NAME:
            check_takes_key(provider)  # raises, with the list of those that there are
        entry = BY_NAME[provider]
        at = address or self._own_address(settings, entry)
        if not entry.key_variables:
            return await ask_service(await asyncio.to_thread(client_class(entry.format), at or entry.address))
        if address and key is None:
            raise InvalidRequest(f"Give the key with the address: the key of {entry.title} is sent to no other one.")
        used = key or self.keys.get(provider)
        if used is None:
            raise InvalidRequest(f"There is no key for {entry.title} yet.")
        return await ask_service(await asyncio.to_thread(build_client, provider, used, at))

    def _own_address(self, settings: Settings, entry: ProviderEntry) -> str | None:
        """The user's address of a service; None for its usual one."""
        host = "" if entry.key_variables else self.environ.get(entry.host_variable)
        return host or address_of(self.environ, settings, entry.name)

    async def aclose(self) -> None:
        await asyncio.gather(*(client.aclose() for client in self._built.values()))


def _without_user(address: str) -> str:
    """The address as a user may see it: a proxy's may have a name and a password before the host."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")) if parts.netloc else address
