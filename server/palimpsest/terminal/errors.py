"""What can go wrong for the person at the terminal. Every message is a sentence to be shown as it is.

TerminalError
├── ServerGone       it cannot be started, has ended, or is not understood any more
├── RequestFailed    it answered with an error
├── BadAnswer        it answered with something the protocol does not declare
└── CommandFailed    a slash command cannot be done as it was typed
"""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.wire.areas.lifecycle import ErrorData

REQUEST_CANCELLED = -32800
INTERNAL_ERROR = -32603


class TerminalError(Exception):
    """The root; never raised itself."""

    stderr: Sequence[str] = ()
    """The last lines the server wrote there, oldest first, when they say more than the sentence."""


class ServerGone(TerminalError):
    """There is no server to talk to; nothing but a new start helps."""

    def __init__(self, message: str, stderr: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.stderr = stderr


class RequestFailed(TerminalError):
    """The server's own sentence, and what it carries for programs."""

    def __init__(self, code: int, message: str, data: ErrorData | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        """None when it carries nothing that is an `ErrorData`."""


class BadAnswer(TerminalError):
    """The other side is not the server this client knows, or one of another version."""


class CommandFailed(TerminalError):
    """The sentence says how the command is typed."""


def describe(error: TerminalError) -> str:
    """The sentence, and what the server last wrote on stderr below it."""
    if error.stderr:
        return "\n".join((str(error), "It last wrote:", *(f"  {line}" for line in error.stderr)))
    return str(error)
