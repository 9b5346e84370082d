"""The keys of models' services, from an editor that keeps them for its user."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Request, Wire


class KeySource(enum.StrEnum):
    """Where the key that counts comes from."""

    ENVIRONMENT = "environment"
    """The environment of the server's process. It counts before any other."""
    EDITOR = "editor"
    """An editor sent it; it is forgotten when the server ends."""
    STORED = "stored"
    """It was stored by `palimpsest login` or by this request."""


@attrs.frozen(eq=False, repr=False)
class SetCredentialsParams(Wire):
    """Use a key for a service. It counts at once, in every open folder; a running turn keeps the one it has."""

    provider: str
    """The service: `anthropic`, `openai` or `gemini`."""
    key: str | None
    """The key. Null takes back what was sent before."""
    store: bool | None = None
    """Whether to keep it beyond the process: in the system's keyring, else in a file that only the user can read. With
    a null `key`: whether to remove what was kept."""


@attrs.frozen(eq=False, repr=False)
class SetCredentialsResult(Wire):
    """How the key of the service stands. No answer holds a key."""

    source: KeySource | None
    """Where the key that counts now comes from. Null: there is none."""
    message: str
    """A sentence for the user: where the key is kept, or why another one counts."""


MESSAGES: tuple[Request, ...] = (
    Request(
        "palimpsest/credentials/set",
        SetCredentialsParams,
        SetCredentialsResult,
        "Set the key of a model's service, or take it back.",
    ),
)
