"""The keys of a server process: the one that counts for each service, and the changes by editors and users.

A key in the environment counts before one that an editor sent, and that one before a stored key. Keys go to the
clients of their services and nowhere else: nothing here prints or logs a key, and no sentence quotes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.models.providers import WITH_KEY, WITHOUT_KEY

KEY_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {each.name: each.key_variables for each in WITH_KEY}
"""The services with a key, each with its environment variables; the first one that is set counts."""
_NEED_NONE: Final = " ".join(f"{each.title} needs none: set {each.host_variable}." for each in WITHOUT_KEY)


class KeySource(StrEnum):
    """The source of the key that counts. The values are in the protocol."""

    ENVIRONMENT = "environment"
    EDITOR = "editor"
    STORED = "stored"


class KeyStore(Protocol):
    """The store of keys. Its methods wait for the disk and for a keyring."""

    def read(self) -> Mapping[str, str]:
        """The keys by provider. An unreadable one is left out and logged."""
        ...

    def stamp(self) -> Hashable:
        """A value that changes when a key is written or removed. Does not use the keyring."""
        ...

    def write(self, provider: str, key: str) -> str:
        """Store a key. Returns its place for the user, `in …`. Raises InvalidRequest when it cannot be stored."""
        ...

    def remove(self, provider: str) -> bool:
        """Remove a key. Returns whether there was one. Raises InvalidRequest when it cannot be removed."""
        ...


@dataclass(frozen=True, slots=True)
class KeyReport:
    """The state of a provider's key after a change."""

    source: KeySource | None
    """None when there is no key."""
    sentence: str
    """A sentence for the user."""


@dataclass(slots=True)
class Keys:
    """The keys that count. May be used in any thread."""

    environment: Mapping[str, str] = field(repr=False)
    """By provider."""
    store: KeyStore
    check: Callable[[str, str], None]
    """Raises a PalimpsestError for a text that cannot be a key of the provider."""
    _sent: dict[str, str] = field(default_factory=dict, repr=False)
    _stored: dict[str, str] = field(default_factory=dict, repr=False)
    _stamp: Hashable = None
    """The version of the store when it was read."""

    def load(self) -> None:
        """Load the stored keys. Slow when a keyring has them."""
        self._stamp = self.store.stamp()
        self._stored = dict(self.store.read())

    def reload(self) -> bool:
        """Load keys that another process has stored or removed meanwhile. Returns whether a stored key has changed.
        Slow only after a change."""
        if self.store.stamp() == self._stamp:
            return False
        before = self._stored
        self.load()
        return self._stored != before

    def get(self, provider: str) -> str | None:
        """The key that counts."""
        return self.environment.get(provider) or self._sent.get(provider) or self._stored.get(provider)

    def source(self, provider: str) -> KeySource | None:
        held = (self.environment, self._sent, self._stored)
        return next((source for source, keys in zip(KeySource, held, strict=True) if keys.get(provider)), None)

    async def set(self, provider: str, key: str | None, *, stores: bool) -> KeyReport:
        """Set a key from an editor, or remove it with None. `stores`: also write it to the store, or remove it there.

        Raises InvalidRequest, or what `check` raises; nothing is changed then.
        """
        check_takes_key(provider)
        if key is None:
            was_stored = stores and await asyncio.to_thread(self.store.remove, provider)
            if stores:
                self._stored.pop(provider, None)
            was_sent = self._sent.pop(provider, None) is not None
            said = f"The key for {provider} is removed." if was_sent or was_stored else f"{provider} had no such key."
        else:
            key = key.strip()
            self.check(provider, key)
            if stores:
                place = await asyncio.to_thread(self.store.write, provider, key)
                self._stored[provider] = key
                self._sent.pop(provider, None)
                said = f"The key for {provider} is stored {place}."
            else:
                self._sent[provider] = key
                said = f"The key for {provider} is used until the server ends."
        return self._report(provider, said, key)

    def _report(self, provider: str, said: str, key: str | None) -> KeyReport:
        """The state after a change to `key`."""
        source = self.source(provider)
        if source is None or self.get(provider) == key:
            return KeyReport(source, said)
        match source:
            case KeySource.ENVIRONMENT:
                variables = " or ".join(KEY_VARIABLES[provider])
                more = f"The key in the server's environment ({variables}) is used first."
            case KeySource.EDITOR:
                more = "The key that an editor sent is used."
            case KeySource.STORED:
                more = "The stored key is used."
        return KeyReport(source, f"{said} {more}")


def check_takes_key(provider: str) -> None:
    """Raises InvalidRequest for a provider without keys. The word is not quoted: it may be a key in the wrong place."""
    if provider not in KEY_VARIABLES:
        raise InvalidRequest(
            f"This is not a provider that takes a key. Choose one of: {', '.join(KEY_VARIABLES)}. ({_NEED_NONE})"
        )
