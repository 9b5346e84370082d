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
    address: str | None = None
    """The address of the service that the key was given for, as `credentials/list` names it: when the provider is at
    another host now, the key is not used. Absent: the address of now."""
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


class KeyVerdict(enum.StrEnum):
    """The outcome of trying a key."""

    ACCEPTED = "accepted"
    """The service takes the key, or needs none."""
    REFUSED = "refused"
    """The service does not take the key."""
    UNREACHABLE = "unreachable"
    """Nothing answers at the address."""
    UNCLEAR = "unclear"
    """The service answered something that says nothing about the key."""


@attrs.frozen(eq=False, repr=False)
class CheckCredentialsParams(Wire):
    """A key and an address to try. The server keeps neither. Each is sent only to the service."""

    provider: str
    """A provider."""
    key: str | None = None
    """The key. Absent: the one that is used now, which is sent to no other address than its own; for a provider without
    keys, none."""
    address: str | None = None
    """The address of the service. Absent: the one that is used now."""


@attrs.frozen(eq=False, repr=False)
class CheckCredentialsResult(Wire):
    """What the service said when it was asked for its list of models, which is free."""

    verdict: KeyVerdict
    """The outcome."""
    message: str
    """The reason, a sentence for the user; empty when the key is accepted."""
    models: list[str]
    """The models in its list, as the service writes them. `PROVIDER/NAME` chooses one."""


@attrs.frozen(eq=False, repr=False)
class ListCredentialsParams(Wire):
    """No parameters."""


@attrs.frozen(eq=False, repr=False)
class ServiceInfo(Wire):
    """A model service, and whether it can be used. It contains no key."""

    provider: str
    """The name of the provider in settings and models, such as `anthropic`."""
    title: str
    """Its name for people, such as `Anthropic`."""
    takes_key: bool
    """Whether it takes a key. Otherwise it needs an address."""
    needs_key: bool
    """Whether it is not asked without a key."""
    address: str
    """Where it is asked, without a user and a password."""
    is_usual_address: bool
    """Whether the address is not the user's own."""
    is_ready: bool
    """Whether a key, or for a provider without keys an address, is set."""
    source: KeySource | None = None
    """Where the key that is used comes from. Absent: there is none."""


@attrs.frozen(eq=False, repr=False)
class ListCredentialsResult(Wire):
    """The model services."""

    services: list[ServiceInfo]
    """In the order in which the first that is ready gives the model of new conversations."""


MESSAGES: tuple[Request, ...] = (
    Request(
        "palimpsest/credentials/set",
        SetCredentialsParams,
        SetCredentialsResult,
        "Set or remove the key of a provider.",
    ),
    Request(
        "palimpsest/credentials/check",
        CheckCredentialsParams,
        CheckCredentialsResult,
        "Try a key or an address of a provider without keeping it.",
    ),
    Request(
        "palimpsest/credentials/list",
        ListCredentialsParams,
        ListCredentialsResult,
        "List the model services, and which of them have a key.",
    ),
)
