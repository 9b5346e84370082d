"""The process that a server owns: its signals, the editor that started it, and its certain end.

Code in C may hold the interpreter, so that no thread here runs. Then `watchdog_process`, a separate process, ends the
server. On Windows there is no watchdog; a timer in C ends the process once its end has begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

log = logging.getLogger(__name__)

PARENT_POLL_S = 2.0
SWITCH_INTERVAL_S = 0.0005
"""The seconds after which a busy thread lets another run. A request crosses to the store's threads and back several
times; with Python's default of 5 ms each crossing waits that long while an answer is written."""
HANG_S = 60.0
"""The seconds that the interpreter may be held before the watchdog kills the server."""
_MARGIN_S = 1.0
"""The seconds that the watchdog waits longer than our own timer, which can exit with a code."""
_WATCHDOG = Path(__file__).with_name("watchdog_process.py")


class Process:
    """The process, created once on its event loop in its main thread."""

    def __init__(self, grace_s: float, *, source: int = -1, hang_s: float = HANG_S) -> None:
        """`source` is the descriptor of the input whose end ends the process; -1 when there is none."""
        self._loop = asyncio.get_running_loop()
        self._grace_s = grace_s
        self._source = source
        self._hang_s = hang_s
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._timer: threading.Timer | None = None
        self._is_watching = False
        self._watchdog: socket.socket | None = None
        """The socket to the watchdog."""
        self._child: subprocess.Popen[bytes] | None = None

    def arm_exit(self, code: int) -> None:
        """Ends the process with `code` after the grace time, if it still runs. Only the first call counts."""
        if self._timer is None:
            self._tell_watchdog()
            self._timer = threading.Timer(self._grace_s, os._exit, (code,))
            self._timer.daemon = True
            self._timer.start()

    def stop_on_signals(self, request_stop: Callable[[int], None]) -> None:
        """Makes SIGTERM, SIGHUP and SIGINT request a stop with code 0, even while a handler blocks the loop."""
        if sys.platform == "win32":
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGBREAK):
                signal.signal(number, lambda *_: self._stop(request_stop, 0))
            return
        # A Python handler runs in the main thread only, which may be in a blocking call that no signal interrupts,
        # because the kernel may give the signal to another thread. The wakeup descriptor is written to in any case.
        signals, sink = os.pipe()
        os.set_blocking(sink, False)
        signal.set_wakeup_fd(sink, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        self._watchdog, its_end = socket.socketpair()

        def wait() -> None:
            assert self._watchdog is not None
            self._start_watchdog(its_end, signals)
            poller = select.poll()
            poller.register(signals, select.POLLIN)
            poller.register(self._watchdog, select.POLLIN)
            while True:
                # This thread may lose the interpreter forever between any two calls. The watchdog sees a signal that is
                # still unread, so it is told before the signal is read.
                for descriptor, _ in poller.poll():
                    if descriptor == signals:
                        self._tell_watchdog()
                        os.read(signals, 1)
                        self._stop(request_stop, 0)
                    elif not _answer(self._watchdog):
                        poller.unregister(descriptor)

        threading.Thread(target=wait, name="signals", daemon=True).start()

    def _start_watchdog(self, its_end: socket.socket, signals: int) -> None:
        with its_end:
            numbers = (signals, self._source, self._grace_s + _MARGIN_S, self._hang_s)
            try:
                # Started without the environment, which may hold keys, and in its own session: a terminal's signals to
                # the server's group are for the server.
                self._child = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_WATCHDOG), *map(str, numbers)],
                    stdin=its_end.fileno(),
                    stdout=subprocess.DEVNULL,
                    env={},
                    pass_fds=[each for each in (signals, self._source) if each >= 0],
                    start_new_session=True,
                )
            except OSError as error:
                log.warning("No watchdog could be started (%s): a hang may outlive a signal.", error.strerror)

    def _tell_watchdog(self) -> None:
        """Tells the watchdog that the end has begun. Calling it again is a no-op."""
        if sys.platform == "win32":
            faulthandler.dump_traceback_later(self._grace_s + _MARGIN_S, exit=True)
        elif self._watchdog is not None:
            with contextlib.suppress(OSError):  # the watchdog is gone
                self._watchdog.send(b"e")

    def watch_parent(self, pid: int, request_stop: Callable[[int], None]) -> None:
        """Requests a stop with code 1 once the process `pid` has ended. A pid that does not exist here is ignored: the
        editor may run in another container or on another machine."""
        if self._is_watching or not _may_exist(pid):
            return
        self._is_watching = True

        def watch() -> None:
            if _wait_for_end(pid):
                log.warning("The editor's process has ended.")
                self._stop(request_stop, 1)

        threading.Thread(target=watch, name="parent-watch", daemon=True).start()

    def _stop(self, request_stop: Callable[[int], None], code: int) -> None:
        self.arm_exit(code)
        with contextlib.suppress(RuntimeError):  # the loop has just been closed, so the process is ending anyway
            self._loop.call_soon_threadsafe(request_stop, code)


def _answer(watchdog: socket.socket) -> bool:
    """Answers the watchdog's ping. False when the watchdog is gone."""
    try:
        if not watchdog.recv(64):
            return False
        watchdog.send(b".")
    except OSError:
        return False
    return True


def _may_exist(pid: int) -> bool:
    """A cheap check; only False is certain."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return True  # os.kill would end the process there
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _wait_for_end(pid: int) -> bool:
    """Blocks until the process has ended; False when there was none to begin with."""
    if sys.platform != "win32":
        time.sleep(
            PARENT_POLL_S
        )  # the process existed a moment ago, and importing psutil would delay the first answers
    import psutil

    try:
        parent = psutil.Process(
            pid
        )  # remembers the start time, so that a new process with this pid is not mistaken for it
        while parent.is_running() and parent.status() != psutil.STATUS_ZOMBIE:
            time.sleep(PARENT_POLL_S)
    except psutil.NoSuchProcess:
        return sys.platform != "win32"
    return True
