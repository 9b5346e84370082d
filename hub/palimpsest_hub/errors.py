"""The two ways in which a call of the hub fails."""

from __future__ import annotations


class HubUnreachable(Exception):
    """The hub did not answer. The call may have been carried out; every call may be repeated."""


class HubRefused(Exception):
    """The hub says no. `str(error)` is a sentence for the user, which holds no text of a message and no secret."""

    def __init__(self, kind: str, sentence: str, until: str | None = None) -> None:
        super().__init__(sentence)
        self.kind = kind
        """For programs: `busy`, `lease_lost`, `diverged`, `gap`, `digest`, `malformed`, `too_large`, `not_shared`,
        `unshared`, `taken`, `no_parent`, `forbidden`, `token`, `login`, `tls`, `address`, `upgrade`, `schema`, `full`
        or `hub` (the hub failed in a way without a kind of its own); for administrators `not_found` and `local`."""
        self.until = until
        """For `busy`: when the lease ends unless it is renewed, UTC, ISO 8601. Else None."""
