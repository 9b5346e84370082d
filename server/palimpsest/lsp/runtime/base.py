"""A pygls language server with an orderly end and no leaks of text.

A server object is one connection: its handlers, its documents, its editor. The transport (`stdio`, `tcp`) carries the
bytes and owns the process; the server only requests its end, with an exit code.
"""

from __future__ import annotations

import asyncio
import logging
import traceback

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from palimpsest.lsp.runtime.documents import mend_documents
from palimpsest.lsp.runtime.methods import Undeclared, make_converter
from palimpsest.lsp.runtime.process import Process
from palimpsest.lsp.runtime.protocol import Protocol

log = logging.getLogger(__name__)


class BaseServer(LanguageServer):
    """One connection with one editor. A subclass adds handlers with `feature` and `command`, and `on_stop`."""

    protocol: Protocol
    grace_s = 5.0
    """The seconds from a request to stop to the end, even if a handler, `on_stop` or a pipe hangs."""

    def __init__(self, name: str, version: str, *, protocol_cls: type[Protocol] = Protocol) -> None:
        # pygls logs the text of every message at INFO, and the params of `initialize`, which may hold keys.
        logging.getLogger("pygls").setLevel(logging.ERROR)
        mend_documents()
        super().__init__(name, version, protocol_cls=protocol_cls, converter_factory=make_converter, max_workers=8)
        self.token: str | None = None
        """The token that `initializationOptions.token` must equal; None when every client is accepted."""
        self.process: Process | None = None
        """The process, if it ends with this connection."""
        self.exit_code: int | None = None
        """The requested exit code of the process; None before a stop is requested."""
        self._stopping = asyncio.Event()

    def complete(self, capabilities: lsp.ServerCapabilities) -> None:
        """Changes what pygls has made of the handlers, when `initialize` is answered."""

    async def on_stop(self) -> None:
        """Closes what is open. Runs once at every kind of end, when no handler runs any more but messages still reach
        the editor. It has a part of `grace_s`."""

    def request_stop(self, code: int) -> None:
        """Ends the connection soon, with the code of the first call. Call it on the loop."""
        if self.exit_code is None:
            self.exit_code = code
            self.arm_exit(code)
            self._stopping.set()

    async def wait_stopped(self) -> int:
        """Waits for a request to stop; returns the code."""
        await self._stopping.wait()
        return self.exit_code or 0

    def arm_exit(self, code: int) -> None:
        """Ends the process after `grace_s` from now on, whatever hangs. A no-op when the process is not ours to end."""
        if self.process is not None:
            self.process.arm_exit(code)

    def watch_parent(self, pid: int) -> None:
        """Stops when the process `pid` is gone, even if one of its children keeps our input open."""
        if self.process is not None:
            self.process.watch_parent(pid, self.request_stop)

    def report_server_error(self, error: BaseException, source: object) -> None:
        """Logs a failure by its type and traceback; by its text only when that cannot contain a user's words."""
        said = f": {error}" if isinstance(error, (JsonRpcException, Undeclared)) else ""
        log.error("%s%s\n%s", type(error).__name__, said, "".join(traceback.format_tb(error.__traceback__)).rstrip())
