"""The server as a child process: its pipes, the last lines of its stderr, and its end.

The child is in a process group of its own, so a Ctrl-C in the terminal reaches this program alone, which then cancels
the turn by a request. When this program dies, the stdin of the child ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO

from palimpsest.terminal import texts
from palimpsest.terminal.errors import ServerGone

_STDERR_BYTES = 8 << 10
_STDERR_LINES = 10
_END_TIMEOUT_S = 5.0
_KILL_TIMEOUT_S = 2.0


class ServerProcess:
    """The running child. Create it by `start`, and await `end` once."""

    def __init__(self, process: asyncio.subprocess.Process, log: BinaryIO | None = None) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._log = log
        self._tail = bytearray()
        self._tail_reader = asyncio.create_task(self._keep_tail())

    @classmethod
    async def start(cls, command: Sequence[str], log: BinaryIO | None = None) -> ServerProcess:
        """Start the program, whose stderr is written to `log` as well. Raises ServerGone when it does not exist or may
        not be run."""
        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, **options)
        except (OSError, ValueError) as error:
            raise ServerGone(texts.not_started(str(error))) from error
        return cls(process, log)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def read(self) -> bytes:
        """The next bytes of its stdout; empty at the end."""
        try:
            return await self._stdout.read(64 << 10)
        except ConnectionError:
            return b""

    def write(self, data: bytes) -> None:
        """Write without waiting and without errors: a child that no longer reads is noticed by its end."""
        self._stdin.write(data)

    async def end(self) -> int:
        """Close its stdin, wait a little, kill it if need be, and return its exit status."""
        try:
            self._stdin.close()
            if not await self._has_ended(_END_TIMEOUT_S):
                with contextlib.suppress(ProcessLookupError):
                    self._process.terminate()
                await self._has_ended(_KILL_TIMEOUT_S)
        finally:
            # Also when this wait is cancelled: no child is left behind.
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
        status = await self._process.wait()
        with contextlib.suppress(TimeoutError):
            # A process that the server started may keep its stderr open after its end.
            async with asyncio.timeout(_KILL_TIMEOUT_S):
                await self._tail_reader
        return status

    def last_words(self) -> list[str]:
        """The last lines of its stderr, oldest first; may be empty."""
        text = self._tail.decode("utf-8", "replace")
        return [line for line in text.splitlines() if line.strip()][-_STDERR_LINES:]

    async def _has_ended(self, timeout_s: float) -> bool:
        # Stdout is read to its end meanwhile: a child that still writes would otherwise never end.
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.gather(self._process.wait(), self._drain_stdout())
        except TimeoutError:
            return self._process.returncode is not None
        return True

    async def _drain_stdout(self) -> None:
        while await self.read():
            pass

    async def _keep_tail(self) -> None:
        with contextlib.suppress(ConnectionError):
            while chunk := await self._stderr.read(4 << 10):
                self._tail += chunk
                del self._tail[:-_STDERR_BYTES]
                if self._log is not None:
                    with contextlib.suppress(OSError, ValueError):  # the log is an extra: a full disk ends no chat
                        self._log.write(chunk)
                        self._log.flush()
