"""The errors of the terminal client. Every message is a sentence that is shown as it is.

TerminalError
├── ServerGone       the server cannot be started, has ended, or sends garbage
├── RequestFailed    the server answered with an error
├── BadAnswer        the server's answer is not in the protocol
└── CommandFailed    a slash command was typed wrongly
"""

from __future__ import annotations

from collections.abc import Sequence

from palimpsest.terminal import texts
from palimpsest.wire.areas.lifecycle import ErrorData

REQUEST_CANCELLED = -32800
INTERNAL_ERROR = -32603


class TerminalError(Exception):
    """The base class; never raised itself."""

    stderr: Sequence[str] = ()
    """The last lines of the server's stderr, oldest first, when they say more than the sentence."""


class ServerGone(TerminalError):
    """There is no server to talk to; only a restart helps."""

    def __init__(self, message: str, stderr: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.stderr = stderr


class RequestFailed(TerminalError):
    """The server's sentence, with its data for programs."""

    def __init__(self, code: int, message: str, data: ErrorData | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        """None when the error has no `ErrorData`."""


class BadAnswer(TerminalError):
    """The other side is not a Palimpsest server, or one of another version."""


class CommandFailed(TerminalError):
    """The sentence says how to type the command."""


def describe(error: TerminalError) -> str:
    """The sentence, with the last lines of the server's stderr below it."""
    if error.stderr:
        return "\n".join((str(error), texts.LAST_LINES, *(f"  {line}" for line in error.stderr)))
    return str(error)
