"""Ends a server whose interpreter cannot end it, as a process of its own: `process` starts it beside the server.

Code in C, such as a regular expression, may hold Python's interpreter for ever, and then no thread of the server runs:
no signal handler, no timer, no look at a closed input. This process sees the same things from outside:

- a signal came, as the byte in the pipe that CPython's handler in C writes to, or the server says that it is ending:
  the server is killed when it is still there after the grace time;
- the input has ended, and a ping stays unanswered for the grace time;
- a ping stays unanswered for `hang_s`: nobody can ask the server for anything any more, an end neither.

Time is counted in short waits, and none counts for more than it was meant to last: a machine that sleeps adds nothing.
Run as a script, isolated, it imports nothing but the standard library; it ends with the server, of which it is a child.
POSIX only.

Arguments: the descriptors of the signals' pipe and of the input (-1: none), then `grace_s` and `hang_s`. On descriptor
0, a socket: `?` to the server, which answers `.`; `e` from it when it begins to end.
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
"""Between two pings."""
_CLOSED = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)


class Watchdog:
    """Watches the process that started this one."""

    def __init__(self, control: socket.socket, signals: int, source: int, grace_s: float, hang_s: float) -> None:
        self._server = os.getppid()
        self._control = control
        self._signals = signals
        self._source = source
        self._grace_s = grace_s
        self._hang_s = hang_s
        self._tick_s = min(TICK_S, grace_s / 2)
        self._ending_for_s: float | None = None
        """Since when the server is to end; None: nobody asked."""
        self._silent_for_s: float | None = None
        """Since when it owes an answer; None: it owes none."""
        self._ping_in_s = 0.0
        self._has_input = source >= 0

    def run(self) -> None:
        """Returns when the server is gone, or was ended."""
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
        """False when the server is gone."""
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
            with contextlib.suppress(OSError):  # it is gone, which is heard next
                self._control.send(b"?")
            self._silent_for_s = 0.0

    def _has_ended(self) -> bool:
        """Whether the server had to be ended, which is done here."""
        silence = self._silent_for_s or 0.0
        if self._ending_for_s is not None and self._ending_for_s > self._grace_s:
            why = "it was asked to end and did not"
        elif self._source >= 0 and not self._has_input and silence > self._grace_s:
            why = "its input has ended and it did not react"
        elif silence > self._hang_s and not _is_stopped(self._server):
            why = f"it did not react for {self._hang_s:g} s"
        else:
            return False
        os.kill(self._server, signal.SIGKILL)
        with contextlib.suppress(OSError):  # nobody reads it
            os.write(2, f"palimpsest: The server was killed: {why}. What was shown is kept.\n".encode())
        return True


def _is_stopped(pid: int) -> bool:
    """Whether somebody has stopped the process, to go on later. False where that cannot be told."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
    except (OSError, IndexError):
        return False


if __name__ == "__main__":
    Watchdog(socket.socket(fileno=0), *map(int, sys.argv[1:3]), *map(float, sys.argv[3:5])).run()
