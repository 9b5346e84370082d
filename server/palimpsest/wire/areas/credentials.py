"""Keys of model providers, from an editor that keeps them for its user."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Request, Wire


class KeySource(enum.StrEnum):
    """Where a key comes from."""

    ENVIRONMENT = "environment"
    """The environment of the server's process. Such a key is used before any other."""
    EDITOR = "editor"
    """An editor sent it. The server forgets it when it ends."""
    STORED = "stored"
    """`palimpsest login` or this request stored it."""


@attrs.frozen(eq=False, repr=False)
class SetCredentialsParams(Wire):
    """A key for a provider. It is used at once, in every open folder. A running turn keeps the key it began with."""

    provider: str
    """A provider that takes a key, such as `anthropic`; docs/providers.md lists them."""
    key: str | None
    """The key. Null removes the key that was sent before."""
    store: bool | None = None
    """Whether to store the key: in the system's keyring, or else in a file that only the user can read. With a null
    `key`: whether to remove the stored key."""


@attrs.frozen(eq=False, repr=False)
class SetCredentialsResult(Wire):
    """Which key is used now. No answer contains a key."""

    source: KeySource | None
    """Where the key that is used comes from. Null: there is no key."""
    message: str
    """A sentence for the user: where the key is stored, or why another key is used."""


MESSAGES: tuple[Request, ...] = (
    Request(
        "palimpsest/credentials/set",
        SetCredentialsParams,
        SetCredentialsResult,
        "Set or remove the key of a provider.",
    ),
)
