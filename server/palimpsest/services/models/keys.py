"""The keys of a server process: the one that counts for each service, and the changes by editors and users.

A key in the environment counts before one that an editor sent, and that one before a stored key. Keys go to the
clients of their services and nowhere else: nothing here prints or logs a key, and no sentence quotes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.models.providers import WITHOUT_KEY, ProviderEntry

_NEED_NONE: Final = " ".join(f"{each.title} needs none: set {each.host_variable}." for each in WITHOUT_KEY)


class KeySource(StrEnum):
    """The source of the key that counts. The values are in the protocol."""

    ENVIRONMENT = "environment"
    EDITOR = "editor"
    STORED = "stored"


@dataclass(frozen=True, slots=True)
class Key:
    """A key that somebody gave for a service."""

    text: str = field(repr=False)
    origin: str | None
    """The origin of the address that it was given for (`ProviderEntry.origin`): it goes to no other. None for a key
    that was stored before this was noted."""

    def is_for(self, entry: ProviderEntry) -> bool:
        return self.origin in (None, entry.origin)


class KeyStore(Protocol):
    """The store of keys. Its methods wait for the disk and for a keyring."""

    def read(self) -> Mapping[str, Key]:
        """The keys by provider. An unreadable one is left out and logged."""
        ...

    def stamp(self) -> Hashable:
        """A value that changes when a key is written or removed. Does not use the keyring."""
        ...

    def write(self, provider: str, key: Key) -> str:
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

    environ: Mapping[str, str] = field(repr=False)
    store: KeyStore
    check: Callable[[ProviderEntry, str], None]
    """Raises a PalimpsestError for a text that cannot be a key of the provider."""
    _sent: dict[str, Key] = field(default_factory=dict, repr=False)
    _stored: dict[str, Key] = field(default_factory=dict, repr=False)
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

    def get(self, entry: ProviderEntry) -> str | None:
        """The key that counts."""
        return next((text for _, text in self._held(entry)), None)

    def source(self, entry: ProviderEntry) -> KeySource | None:
        return next((source for source, _ in self._held(entry)), None)

    def lost(self, entry: ProviderEntry) -> str | None:
        """The advice about a key that was given for another address than that of the provider now; None when there is
        none, or another key counts."""
        if not entry.takes_key or self.get(entry) is not None:
            return None
        given = next((key for held in (self._sent, self._stored) if (key := held.get(entry.name)) is not None), None)
        if given is None:
            return None
        return f"its key was given for {given.origin}; run `palimpsest login {entry.name}` to use one at {entry.origin}"

    def _held(self, entry: ProviderEntry) -> Iterator[tuple[KeySource, str]]:
        """The keys of a provider that may go to its address, the one that counts first."""
        if not entry.takes_key:
            return
        for variable in entry.key_variables:
            if text := self.environ.get(variable):
                yield KeySource.ENVIRONMENT, text
        for source, held in ((KeySource.EDITOR, self._sent), (KeySource.STORED, self._stored)):
            if (key := held.get(entry.name)) is not None and key.is_for(entry):
                yield source, key.text

    async def set(self, entry: ProviderEntry, key: str | None, *, stores: bool, origin: str | None = None) -> KeyReport:
        """Set a key from an editor, or remove it with None. `stores`: also write it to the store, or remove it there.
        `origin`: that of the address that the key was given for; None: that of now.

        Raises InvalidRequest, or what `check` raises; nothing is changed then.
        """
        provider = entry.name
        check_takes_key(entry)
        if key is None:
            was_stored = stores and await asyncio.to_thread(self.store.remove, provider)
            if stores:
                self._stored.pop(provider, None)
            was_sent = self._sent.pop(provider, None) is not None
            said = f"The key for {provider} is removed." if was_sent or was_stored else f"{provider} had no such key."
        else:
            key = key.strip()
            self.check(entry, key)
            given = Key(key, origin or entry.origin)
            if stores:
                place = await asyncio.to_thread(self.store.write, provider, given)
                self._stored[provider] = given
                self._sent.pop(provider, None)
                said = f"The key for {provider} is stored {place}."
            else:
                self._sent[provider] = given
                said = f"The key for {provider} is used until the server ends."
        return self._report(entry, said, key)

    def _report(self, entry: ProviderEntry, said: str, key: str | None) -> KeyReport:
        """The state after a change to `key`."""
        source = self.source(entry)
        if source is None or self.get(entry) == key:
            return KeyReport(source, said)
        match source:
            case KeySource.ENVIRONMENT:
                more = f"The key in the server's environment ({' or '.join(entry.key_variables)}) is used first."
            case KeySource.EDITOR:
                more = "The key that an editor sent is used."
            case KeySource.STORED:
                more = "The stored key is used."
        return KeyReport(source, f"{said} {more}")


def find_entry(entries: Mapping[str, ProviderEntry], provider: str) -> ProviderEntry:
    """The provider of that name, which takes a key. Raises InvalidRequest; the word is not quoted: it may be a key in
    the wrong place."""
    entry = entries.get(provider)
    if entry is None:
        names = ", ".join(name for name, each in entries.items() if each.takes_key)
        raise InvalidRequest(f"This is not a provider that takes a key. Choose one of: {names}. ({_NEED_NONE})")
    check_takes_key(entry)
    return entry


def check_takes_key(entry: ProviderEntry) -> None:
    """Raises InvalidRequest for a provider without keys, and for one whose address is still to be set: a key belongs to
    an address."""
    if not entry.takes_key:
        raise InvalidRequest(f"{entry.title} is not a provider that takes a key: it needs none. ({_NEED_NONE})")
    if not entry.address:
        raise InvalidRequest(
            f"Set the address of {entry.title} first: {entry.address_variable} in the environment, or "
            f"providers.{entry.name}.base_url in your settings."
        )
