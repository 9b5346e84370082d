"""The error tree. Every failure that is reported to a user is one of these.

    PalimpsestError
    ├── InvalidRequest      the request cannot be carried out; the message says what to do instead
    │   ├── NotFound        the named conversation, turn, model or folder does not exist here
    │   └── BudgetSpent        on models, this month
    ├── ConversationBusy    another writer holds the conversation
    │   └── SharedBusy         on another machine, through the hub
    ├── LeaseLost           another server took over the conversation; read again and retry
    ├── ContextError        the context cannot be built within its limit
    │   ├── SummarizationNeeded
    │   ├── RecentMessagesTooLarge
    │   └── RulesTooLarge      pins take more than their share of the budget
    ├── HubIsAway           the hub of shared conversations does not answer
    │   └── SharedIsAway       so a shared conversation cannot be continued
    ├── HubFailed           the hub says no; the message says why
    ├── StoreError          the folder's store cannot be opened, read or written
    └── ProviderError       a model's service failed; `kind` tells the reason

Messages are full sentences for the user. They contain no key, no message text and no file content, because they end up
in logs and in editors.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from palimpsest.wording import counted

CLOSED: Final = "The store is closed, because this server is ending or has left the folder."
NO_HANDLES: Final = (
    "Palimpsest has no file handle left, so it could not open its files. Nothing stored is lost. Close some "
    "windows, or raise the limit (`ulimit -n`) for the program that starts Palimpsest, then try again."
)


def is_out_of_handles(error: BaseException) -> bool:
    """Whether the error means that this process, or the machine, has too many open files."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def system_sentence(error: OSError) -> str:
    """The system's error without its numbers: `No such file or directory: a.txt.`"""
    what = error.strerror or type(error).__name__
    return f"{what}: {error.filename}." if error.filename else f"{what}."


def cannot_listen(host: str, port: int, error: OSError) -> str:
    """The reason why nothing can listen at this address, and advice. asyncio's message would repeat the system's."""
    number = error.errno or 0
    if number == errno.EADDRINUSE:
        return (
            f"The port {port} on {host} is in use by another program. Choose another one with --port, or leave it out "
            "to be given a free one."
        )
    if number in (errno.EACCES, errno.EPERM):
        return f"This system does not allow you to listen on port {port} of {host}. Choose one above 1023 with --port."
    return f"Cannot listen on {host}:{port}: {error.strerror or type(error).__name__}."


class ErrorKind(StrEnum):
    """The kind of an error, for programs. The names are part of the protocol."""

    INVALID_REQUEST = "invalid_request"
    NOT_FOUND = "not_found"
    CONVERSATION_BUSY = "conversation_busy"
    SHARED_BUSY = "shared_busy"
    LEASE_LOST = "lease_lost"
    NEEDS_SUMMARIZATION = "needs_summarization"
    RECENT_MESSAGES_TOO_LARGE = "recent_messages_too_large"
    RULES_TOO_LARGE = "rules_too_large"
    STORE = "store"
    HUB_UNREACHABLE = "hub_unreachable"
    HUB = "hub"
    AUTH = "auth"
    RATE_LIMITED = "rate_limited"
    QUOTA = "quota"
    BUDGET_SPENT = "budget_spent"
    OVERLOADED = "overloaded"
    CONTEXT_TOO_LONG = "context_too_long"
    FILTERED = "filtered"
    NETWORK = "network"
    BAD_RESPONSE = "bad_response"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """The numbers and names of an error; None where they do not apply."""

    provider: str | None = None
    model: str | None = None
    retry_after_ms: int | None = None
    limit_tokens: int | None = None
    projected_tokens: int | None = None
    holder: str | None = None
    until: str | None = None
    """UTC, ISO 8601."""


class PalimpsestError(Exception):
    """The base of all expected failures. `str(error)` is a sentence for the user."""

    kind: ErrorKind = ErrorKind.INTERNAL
    is_retryable: bool = False

    def __init__(self, message: str, detail: ErrorDetail | None = None) -> None:
        super().__init__(message)
        self.detail = detail or ErrorDetail()


class InvalidRequest(PalimpsestError):
    kind = ErrorKind.INVALID_REQUEST


class NotFound(InvalidRequest):
    kind = ErrorKind.NOT_FOUND


class BudgetSpent(InvalidRequest):
    """This month's budget for models is spent, and the user does not agree to more."""

    kind = ErrorKind.BUDGET_SPENT


class ConversationBusy(PalimpsestError):
    kind = ErrorKind.CONVERSATION_BUSY
    is_retryable = True

    def __init__(self, holder: str) -> None:
        super().__init__(f"This conversation is busy: {holder} is still running. Wait for it to end, or cancel it.")
        self.holder = holder


class SharedBusy(ConversationBusy):
    """Somebody writes the shared conversation on another machine. The message is the hub's sentence."""

    kind = ErrorKind.SHARED_BUSY

    def __init__(self, sentence: str, holder: str, until: str | None) -> None:
        super().__init__(holder)
        self.args = (sentence,)
        self.detail = ErrorDetail(holder=holder, until=until)


class LeaseLost(PalimpsestError):
    kind = ErrorKind.LEASE_LOST
    is_retryable = True


class HubIsAway(PalimpsestError):
    kind = ErrorKind.HUB_UNREACHABLE
    is_retryable = True

    def __init__(self, message: str = "The hub does not answer now. Try again in a moment.") -> None:
        super().__init__(message)


class SharedIsAway(HubIsAway):
    """A turn of a shared conversation cannot begin."""

    def __init__(self) -> None:
        super().__init__(
            "The hub does not answer. What is shared stays readable here, but nobody can write it before the hub is "
            "back. Go on in a fork, or try again later."
        )


class HubFailed(PalimpsestError):
    """The hub says no. The message is the hub's sentence."""

    kind = ErrorKind.HUB

    def __init__(self, message: str, *, needs_newer: bool = False) -> None:
        super().__init__(message)
        self.needs_newer = needs_newer
        """Whether a newer version of this product is needed."""


class ContextError(PalimpsestError):
    """The request's context cannot be prepared."""


class SummarizationNeeded(ContextError):
    """Older messages must be summarized before the context fits."""

    kind = ErrorKind.NEEDS_SUMMARIZATION

    def __init__(self, excess_tokens: int, messages_to_summarize: tuple[int, ...], limit_tokens: int) -> None:
        self.excess_tokens = excess_tokens
        self.messages_to_summarize = messages_to_summarize
        """Message ids, oldest first."""
        self.suggestion = (
            f"{counted(len(messages_to_summarize), 'older message')}, summarized before the next request, will free at "
            f"least {counted(excess_tokens, 'token')}."
        )
        super().__init__(
            f"The context is {counted(excess_tokens, 'token')} over its limit of {limit_tokens:,}. {self.suggestion}",
            ErrorDetail(limit_tokens=limit_tokens, projected_tokens=limit_tokens + excess_tokens),
        )


@dataclass(frozen=True, slots=True)
class TooLong:
    """The one message that makes a request too long. Tokens are upper estimates."""

    message_id: int
    is_newest: bool
    tokens: int
    room_tokens: int
    """The most tokens that the message may take; at least 0."""


class RecentMessagesTooLarge(ContextError):
    """The messages that must be sent verbatim are larger than the limit; summarizing cannot help."""

    kind = ErrorKind.RECENT_MESSAGES_TOO_LARGE

    def __init__(
        self, required_tokens: int, budget_tokens: int, message_count: int, too_long: TooLong | None = None
    ) -> None:
        """`too_long` is the message without which the rest would fit; None when it takes several."""
        self.required_tokens = required_tokens
        self.budget_tokens = budget_tokens
        self.message_count = message_count
        self.too_long = too_long
        if too_long is None:
            newest = f"newest {counted(message_count, 'message')} together" if message_count > 1 else "newest message"
            said = f"The {newest} {'need' if message_count > 1 else 'needs'} {required_tokens:,} tokens, but only "
            said += f"{budget_tokens:,} fit."
        else:
            which = "Your message" if too_long.is_newest else f"Your message {too_long.message_id}, which is answered,"
            said = (
                f"{which} is too long for this model: it takes {too_long.tokens:,} tokens, but only "
                f"{too_long.room_tokens:,} of {budget_tokens:,} are free for it."
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
            f"The pins would take {required_tokens:,} tokens, but only {cap_tokens:,} of the budget are for standing "
            "rules. Withdraw a pin, shorten it, or use a model with a larger window.",
            ErrorDetail(limit_tokens=cap_tokens, projected_tokens=required_tokens),
        )


class StoreError(PalimpsestError):
    kind = ErrorKind.STORE


class ProviderError(PalimpsestError):
    """A failure of a model's service. Only model clients raise it, and they set its kind."""

    def __init__(
        self, kind: ErrorKind, message: str, detail: ErrorDetail | None = None, *, is_retryable: bool = False
    ) -> None:
        super().__init__(message, detail)
        self.kind = kind
        self.is_retryable = is_retryable
