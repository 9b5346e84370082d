"""The one error tree. Everything a user may read about is raised as one of these.

    PalimpsestError
    ├── InvalidRequest      what was asked cannot be done as asked; says what to do instead
    │   └── NotFound        the conversation, turn, model or folder named does not exist here
    ├── ConversationBusy    another writer holds the conversation
    ├── LeaseLost           another server took the conversation over; re-read and try again
    ├── ContextError        the context cannot be built within its limit
    │   ├── SummarizationNeeded
    │   ├── RecentMessagesTooLarge
    │   └── RulesTooLarge      pins take more than their share of the budget
    ├── StoreError          the folder's store cannot be opened, read or written
    └── ProviderError       a model's service failed; its kind says how

Messages are full sentences for the person who asked. They hold no key, no message text and no file content,
because they end up in logs and in editors.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from palimpsest.wording import counted

CLOSED: Final = "The store is closed, because this server is ending or has let go of the folder."
NO_HANDLES: Final = (
    "Palimpsest has no file handle left, so it could not open what it needs. Nothing stored is lost. Close some "
    "windows, or raise the limit (`ulimit -n`) for the program that starts Palimpsest, then try again."
)


def is_out_of_handles(error: BaseException) -> bool:
    """Whether the system said that this process, or the machine, has too many files open."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def system_sentence(error: OSError) -> str:
    """What the system refused, without its numbers: `No such file or directory: a.txt.`"""
    what = error.strerror or type(error).__name__
    return f"{what}: {error.filename}." if error.filename else f"{what}."


def cannot_listen(host: str, port: int, error: OSError) -> str:
    """Why nobody can listen there, and what to do. asyncio puts its own words around the system's."""
    number = error.errno or 0
    if number == errno.EADDRINUSE:
        return (
            f"The port {port} on {host} is in use by another program. Choose another one with --port, or leave it out "
            "to be given a free one."
        )
    if number in (errno.EACCES, errno.EPERM):
        return f"This system lets you not listen on port {port} of {host}. Choose one above 1023 with --port."
    return f"Cannot listen on {host}:{port}: {error.strerror or type(error).__name__}."


class ErrorKind(StrEnum):
    """What went wrong, for programs. The names go over the wire."""

    INVALID_REQUEST = "invalid_request"
    NOT_FOUND = "not_found"
    CONVERSATION_BUSY = "conversation_busy"
    LEASE_LOST = "lease_lost"
    NEEDS_SUMMARIZATION = "needs_summarization"
    RECENT_MESSAGES_TOO_LARGE = "recent_messages_too_large"
    RULES_TOO_LARGE = "rules_too_large"
    STORE = "store"
    AUTH = "auth"
    RATE_LIMITED = "rate_limited"
    QUOTA = "quota"
    OVERLOADED = "overloaded"
    CONTEXT_TOO_LONG = "context_too_long"
    FILTERED = "filtered"
    NETWORK = "network"
    BAD_RESPONSE = "bad_response"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """The numbers and names that go with an error; None where they do not apply."""

    provider: str | None = None
    model: str | None = None
    retry_after_ms: int | None = None
    limit_tokens: int | None = None
    projected_tokens: int | None = None


class PalimpsestError(Exception):
    """Base of every expected failure. `str(error)` is a sentence for the user."""

    kind: ErrorKind = ErrorKind.INTERNAL
    is_retryable: bool = False

    def __init__(self, message: str, detail: ErrorDetail | None = None) -> None:
        super().__init__(message)
        self.detail = detail or ErrorDetail()


class InvalidRequest(PalimpsestError):
    kind = ErrorKind.INVALID_REQUEST


class NotFound(InvalidRequest):
    kind = ErrorKind.NOT_FOUND


class ConversationBusy(PalimpsestError):
    kind = ErrorKind.CONVERSATION_BUSY
    is_retryable = True

    def __init__(self, holder: str) -> None:
        super().__init__(f"This conversation is busy: {holder} is still running. Wait for it to end, or cancel it.")
        self.holder = holder


class LeaseLost(PalimpsestError):
    kind = ErrorKind.LEASE_LOST
    is_retryable = True


class ContextError(PalimpsestError):
    """No prepared context exists for what was asked."""


class SummarizationNeeded(ContextError):
    """Older messages must be summarised before the context fits."""

    kind = ErrorKind.NEEDS_SUMMARIZATION

    def __init__(self, excess_tokens: int, messages_to_summarize: tuple[int, ...], limit_tokens: int) -> None:
        self.excess_tokens = excess_tokens
        self.messages_to_summarize = messages_to_summarize
        """Message ids, oldest first."""
        self.suggestion = (
            f"Summarize {counted(len(messages_to_summarize), 'older message')} to free at least {excess_tokens} tokens."
        )
        super().__init__(
            f"The context is {excess_tokens} tokens over its limit of {limit_tokens}. {self.suggestion}",
            ErrorDetail(limit_tokens=limit_tokens, projected_tokens=limit_tokens + excess_tokens),
        )


@dataclass(frozen=True, slots=True)
class TooLong:
    """The one message that is why a request cannot be sent. Tokens by the upper estimate."""

    message_id: int
    is_newest: bool
    tokens: int
    room_tokens: int
    """What it might take at most; 0 and more."""


class RecentMessagesTooLarge(ContextError):
    """What must be sent verbatim is larger than the limit; summarising cannot help."""

    kind = ErrorKind.RECENT_MESSAGES_TOO_LARGE

    def __init__(
        self, required_tokens: int, budget_tokens: int, message_count: int, too_long: TooLong | None = None
    ) -> None:
        """`too_long`: the message without which the rest would fit; None where it is several together."""
        self.required_tokens = required_tokens
        self.budget_tokens = budget_tokens
        self.message_count = message_count
        self.too_long = too_long
        if too_long is None:
            newest = f"newest {counted(message_count, 'message')} together" if message_count > 1 else "newest message"
            said = f"The {newest} {'need' if message_count > 1 else 'needs'} {required_tokens} tokens, but only "
            said += f"{budget_tokens} fit."
        else:
            which = "Your message" if too_long.is_newest else f"Your message {too_long.message_id}, which is answered,"
            said = (
                f"{which} is too long for this model: it takes {too_long.tokens} tokens, and {too_long.room_tokens} of "
                f"{budget_tokens} are free for it."
            )
        super().__init__(
            f"{said} Shorten the message, attach less, put the text into a file of the folder and ask about that, or "
            "switch to a model with a larger window.",
            ErrorDetail(limit_tokens=budget_tokens, projected_tokens=required_tokens),
        )


class RulesTooLarge(ContextError):
    """The user's pins, which are never left out, would take more than their share of the budget."""

    kind = ErrorKind.RULES_TOO_LARGE

    def __init__(self, required_tokens: int, cap_tokens: int) -> None:
        self.required_tokens = required_tokens
        self.cap_tokens = cap_tokens
        super().__init__(
            f"The pins would take {required_tokens} tokens, but only {cap_tokens} of the budget are for standing "
            "rules. Take a pin back, shorten it, or use a model with a larger window.",
            ErrorDetail(limit_tokens=cap_tokens, projected_tokens=required_tokens),
        )


class StoreError(PalimpsestError):
    kind = ErrorKind.STORE


class ProviderError(PalimpsestError):
    """A failure of a model's service. Raised by model clients only, with the kind already decided."""

    def __init__(
        self, kind: ErrorKind, message: str, detail: ErrorDetail | None = None, *, is_retryable: bool = False
    ) -> None:
        super().__init__(message, detail)
        self.kind = kind
        self.is_retryable = is_retryable
