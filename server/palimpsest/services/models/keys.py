"""The keys of a server process: which one counts for each service, and what an editor or the user says about them.

A key in the environment counts before one that an editor sent, and that before one that was stored. Keys go to the
clients of their services and nowhere else: nothing here prints or logs one, and no sentence quotes what came as a key.
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
"""The services that want a key, each with the variables it may stand in, the first that is set counts."""
_NEED_NONE: Final = " ".join(f"{each.title} needs none: set {each.host_variable}." for each in WITHOUT_KEY)


class KeySource(StrEnum):
    """Where the key that counts comes from. The values go over the wire."""

    ENVIRONMENT = "environment"
    EDITOR = "editor"
    STORED = "stored"


class KeyStore(Protocol):
    """Where keys outlive the process. It waits for the disk and for a keyring."""

    def read(self) -> Mapping[str, str]:
        """By provider. What cannot be read is left out, and the log says so."""
        ...

    def stamp(self) -> Hashable:
        """Another one when somebody has written or removed a key since. Asks no keyring."""
        ...

    def write(self, provider: str, key: str) -> str:
        """Where the key is kept now, for the user: `in …`. Raises InvalidRequest when it is kept nowhere."""
        ...

    def remove(self, provider: str) -> bool:
        """Whether there was one. Raises InvalidRequest when there still is."""
        ...


@dataclass(frozen=True, slots=True)
class KeyReport:
    """How a provider's key stands after something was said about it."""

    source: KeySource | None
    """None: there is no key."""
    sentence: str
    """For the user."""


@dataclass(slots=True)
class Keys:
    """Whoever builds a client asks here, in any thread."""

    environment: Mapping[str, str] = field(repr=False)
    """By provider."""
    store: KeyStore
    check: Callable[[str, str], None]
    """Raises a PalimpsestError for what cannot be a key of the provider."""
    _sent: dict[str, str] = field(default_factory=dict, repr=False)
    _stored: dict[str, str] = field(default_factory=dict, repr=False)
    _stamp: Hashable = None
    """Of the store when it was read."""

    def load(self) -> None:
        """Takes up what is stored. Slow where a keyring holds it."""
        self._stamp = self.store.stamp()
        self._stored = dict(self.store.read())

    def reload(self) -> bool:
        """Takes up what another process has stored or removed since; whether a key that is stored is another one now.
        Slow only where something was."""
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
        """Takes a key from an editor, or with None takes it back; `stores`: out of the store as well, or into it.

        Raises InvalidRequest, or what `check` raises: then nothing has changed.
        """
        check_takes_key(provider)
        if key is None:
            was_stored = stores and await asyncio.to_thread(self.store.remove, provider)
            if stores:
                self._stored.pop(provider, None)
            was_sent = self._sent.pop(provider, None) is not None
            said = f"The key for {provider} is forgotten." if was_sent or was_stored else f"{provider} had no such key."
        else:
            key = key.strip()
            self.check(provider, key)
            if stores:
                place = await asyncio.to_thread(self.store.write, provider, key)
                self._stored[provider] = key
                self._sent.pop(provider, None)
                said = f"The key for {provider} is kept {place}."
            else:
                self._sent[provider] = key
                said = f"The key for {provider} counts until the server ends."
        return self._report(provider, said, key)

    def _report(self, provider: str, said: str, key: str | None) -> KeyReport:
        """`key`: what should count now."""
        source = self.source(provider)
        if source is None or self.get(provider) == key:
            return KeyReport(source, said)
        match source:
            case KeySource.ENVIRONMENT:
                variables = " or ".join(KEY_VARIABLES[provider])
                more = f"The one in the server's environment ({variables}) counts before any other."
            case KeySource.EDITOR:
                more = "The one that an editor sent counts."
            case KeySource.STORED:
                more = "The one that is stored counts."
        return KeyReport(source, f"{said} {more}")


def check_takes_key(provider: str) -> None:
    """Raises InvalidRequest. The word is not quoted: it may be a key in the wrong place."""
    if provider not in KEY_VARIABLES:
        raise InvalidRequest(
            f"That is no provider that takes a key. Name one of: {', '.join(KEY_VARIABLES)}. ({_NEED_NONE})"
        )
