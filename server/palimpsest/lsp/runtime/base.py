"""A pygls language server that ends in order and tells nobody what it should not.

A server object is one connection: its handlers, its documents, its editor. How bytes reach it is the transport's
business (`stdio`, `tcp`), which owns the process; the server only says that it wants to stop, and with which code.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any

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
    """From the wish to stop to the end, whatever hangs: handlers that clean up, `on_stop`, a pipe nobody reads."""

    def __init__(self, name: str, version: str, *, protocol_cls: type[Protocol] = Protocol) -> None:
        # pygls logs the text of every message at INFO, and the params of `initialize`, which may hold keys.
        logging.getLogger("pygls").setLevel(logging.ERROR)
        mend_documents()
        super().__init__(name, version, protocol_cls=protocol_cls, converter_factory=make_converter, max_workers=8)
        self.token: str | None = None
        """What `initializationOptions.token` must be; None: anyone who can write to us may talk to us."""
        self.process: Process | None = None
        """The process, if it lives and dies with this connection."""
        self.experimental: dict[str, Any] = {}
        """Announced as `capabilities.experimental`; read when `initialize` is answered."""
        self.exit_code: int | None = None
        """What the process should end with; None: nobody asked to stop yet."""
        self._stopping = asyncio.Event()

    async def on_stop(self) -> None:
        """Close what is open. Runs once on every way out, when no handler runs any more and the editor can still be
        told something; it has a part of `grace_s`."""

    def request_stop(self, code: int) -> None:
        """End the connection soon; the first code counts. Call it on the loop."""
        if self.exit_code is None:
            self.exit_code = code
            self.arm_exit(code)
            self._stopping.set()

    async def wait_stopped(self) -> int:
        """The code, as soon as somebody asked to stop."""
        await self._stopping.wait()
        return self.exit_code or 0

    def arm_exit(self, code: int) -> None:
        """Whatever hangs from now on: the process is gone after `grace_s`. Nothing, where it is not ours to end."""
        if self.process is not None:
            self.process.arm_exit(code)

    def watch_parent(self, pid: int) -> None:
        """Stop when the process `pid` is gone, even if its end of our input stays open in some child of it."""
        if self.process is not None:
            self.process.watch_parent(pid, self.request_stop)

    def report_server_error(self, error: BaseException, source: object) -> None:
        """Log a failure: its type and where it arose. Its text only where that is known to hold nobody's words."""
        said = f": {error}" if isinstance(error, (JsonRpcException, Undeclared)) else ""
        log.error("%s%s\n%s", type(error).__name__, said, "".join(traceback.format_tb(error.__traceback__)).rstrip())
