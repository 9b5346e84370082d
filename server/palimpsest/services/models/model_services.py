"""The services of models as a user sets them up: which can be used, and what one says to a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from palimpsest.domain.models.providers import ProviderEntry
from palimpsest.domain.settings.settings import Settings


class Verdict(StrEnum):
    """The outcome of asking a service for its list of models, which is free and needs the key. The values are in the
    protocol."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    """The service does not take the key."""
    UNREACHABLE = "unreachable"
    """Nothing answers at the address."""
    UNCLEAR = "unclear"
    """The service answered something that says nothing about the key."""


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """The answer of a service that was asked for its list of models."""

    verdict: Verdict
    models: tuple[str, ...] = ()
    """The names of the listed models, as the service writes them."""
    sentence: str = ""
    """The reason for the user; empty when the key is accepted."""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A service by the settings of one moment."""

    entry: ProviderEntry
    address: str
    """Where it is asked, without a user and a password."""
    is_usual_address: bool
    """Whether the user has set no address."""
    is_ready: bool
    """Whether a key, or for a service without keys an address, is set."""


class ModelServices(Protocol):
    """The services that this process can ask."""

    def entries(self, settings: Settings) -> Mapping[str, ProviderEntry]:
        """All services by name: those that are known, then the user's own."""
        ...

    def states(self, settings: Settings) -> Sequence[ServiceState]:
        """All services, in the order of `entries`."""
        ...

    async def try_service(
        self, settings: Settings, provider: str, key: str | None, address: str | None
    ) -> ServiceAnswer:
        """Ask a service for its models with `key` at `address`, keeping neither. None: those that are used now; a key
        that is kept goes to no address but its own. Raises InvalidRequest when there is no such service, no key to ask
        it with, or an address without the key for it, and ProviderError (auth) for a text that cannot be a key."""
        ...
