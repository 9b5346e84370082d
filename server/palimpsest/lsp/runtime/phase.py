"""The phases of a connection, and the methods that each allows."""

from __future__ import annotations

from enum import StrEnum

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidRequest, JsonRpcServerNotInitialized

from palimpsest.lsp.runtime.refusals import refusal


class Phase(StrEnum):
    """The state of a connection, in the order in which it changes. A failed `initialize` leads back to NEW."""

    NEW = "new"
    INITIALIZING = "initializing"
    RUNNING = "running"
    SHUT_DOWN = "shut down"

    def check(self, method: str) -> None:
        """JsonRpcException when the phase forbids `method`. `exit` is always allowed, and so is an early `shutdown`:
        an editor whose `initialize` failed wants to leave in order."""
        if method == lsp.EXIT:
            return
        if self is Phase.SHUT_DOWN:
            raise refusal(JsonRpcInvalidRequest, "invalid_request", "The server was told to shut down.")
        if method == lsp.INITIALIZE and self is not Phase.NEW:
            raise refusal(JsonRpcInvalidRequest, "invalid_request", "The server is initialized only once.")
        if self is not Phase.RUNNING and method not in (lsp.INITIALIZE, lsp.SHUTDOWN):
            raise refusal(JsonRpcServerNotInitialized, "not_initialized", "The server is not initialized yet.")
