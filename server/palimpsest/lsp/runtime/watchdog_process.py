"""Ends a server whose interpreter cannot end it. `process` starts it beside the server, as a separate process.

Code in C, such as a regular expression, may hold Python's interpreter forever, and then no thread of the server runs:
no signal handler, no timer, no check of a closed input. This process kills the server from outside when

- a signal came or the server reported that it is ending, and it still runs after the grace time. A signal shows as the
  byte in the pipe that CPython's handler in C writes to;
- the input has ended, and a ping is unanswered for the grace time;
- a ping is unanswered for `hang_s`: no client can request anything any more, not even the end.

Time is counted in short waits, each at most its intended length, so a suspended machine adds nothing. The script runs
isolated, imports only the standard library, and ends with the server, its parent. POSIX only.

Arguments: descriptors of the signals' pipe and of the input (-1 for none), `grace_s` and `hang_s`. Descriptor 0 is a
socket: `?` to the server, which answers `.`; `e` from the server when it begins to end.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time

TICK_S = 5.0
"""The seconds between two pings."""
_CLOSED = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)


class Watchdog:
    """Watches its parent process, the server."""

    def __init__(self, control: socket.socket, signals: int, source: int, grace_s: float, hang_s: float) -> None:
        self._server = os.getppid()
        self._control = control
        self._signals = signals
        self._source = source
        self._grace_s = grace_s
        self._hang_s = hang_s
        self._tick_s = min(TICK_S, grace_s / 2)
        self._ending_for_s: float | None = None
        """The seconds since the server's end began; None before that."""
        self._silent_for_s: float | None = None
        """The seconds since an unanswered ping; None when every ping was answered."""
        self._ping_in_s = 0.0
        self._has_input = source >= 0

    def run(self) -> None:
        """Returns when the server has ended or was killed."""
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poller.register(self._signals, select.POLLIN)
        if self._has_input:
            poller.register(self._source, _CLOSED)
        while True:
            began = time.monotonic()
            for descriptor, _ in poller.poll(self._tick_s * 1000):
                if descriptor == self._control.fileno():
                    if not self._hear():
                        return
                else:
                    poller.unregister(descriptor)
                    self._notice(descriptor)
            self._count(min(time.monotonic() - began, self._tick_s))
            if os.getppid() != self._server or self._has_ended():
                return

    def _hear(self) -> bool:
        """Reads from the server. False when it is gone."""
        try:
            said = self._control.recv(64)
        except OSError:
            return False
        if b"." in said:
            self._silent_for_s, self._ping_in_s = None, self._tick_s
        if b"e" in said:
            self._ending_for_s = self._ending_for_s or 0.0
        return bool(said)

    def _notice(self, descriptor: int) -> None:
        if descriptor == self._source:
            self._has_input, self._ping_in_s = False, 0.0
        else:
            self._ending_for_s = self._ending_for_s or 0.0

    def _count(self, passed_s: float) -> None:
        if self._ending_for_s is not None:
            self._ending_for_s += passed_s
        self._ping_in_s -= passed_s
        if self._silent_for_s is not None:
            self._silent_for_s += passed_s
        elif self._ping_in_s <= 0:
            with contextlib.suppress(OSError):  # the server is gone, which the next read shows
                self._control.send(b"?")
            self._silent_for_s = 0.0

    def _has_ended(self) -> bool:
        """Kills the server if it must end; returns whether it did."""
        silence = self._silent_for_s or 0.0
        if self._ending_for_s is not None and self._ending_for_s > self._grace_s:
            why = "it did not end when it was asked to"
        elif self._source >= 0 and not self._has_input and silence > self._grace_s:
            why = "its input has ended and it did not react"
        elif silence > self._hang_s and not _is_stopped(self._server):
            why = f"it did not react for {self._hang_s:g} s"
        else:
            return False
        os.kill(self._server, signal.SIGKILL)
        with contextlib.suppress(OSError):  # nobody reads stderr
            os.write(2, f"palimpsest: The server was killed: {why}. The text that was shown is kept.\n".encode())
        return True


def _is_stopped(pid: int) -> bool:
    """Whether the process is suspended by a signal. False when that is unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except (OSError, IndexError):
        return False


if __name__ == "__main__":
    Watchdog(socket.socket(fileno=0), *map(int, sys.argv[1:3]), *map(float, sys.argv[3:5])).run()
