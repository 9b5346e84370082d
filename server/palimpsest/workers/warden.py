"""Runs one program and ends whatever it leaves behind, as a process of its own: `command_tool` starts it.

It outlives a killed server long enough to see its input end, and then ends everything. On Linux it adopts what the
program's processes leave behind, also what went into a session of its own, so that nothing is missed; elsewhere only
the program's process group is ended. Run as a script, isolated, it imports nothing but the standard library.

Arguments: the program and its arguments. Input: `t` asks all of it to end; the end of the input ends it at once. On
descriptor 1 one JSON line says how it went: `{status}`, negative for a signal, or `{error}` where it could not be
started. Descriptor 2 is the program's output, of both kinds.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ADOPTS = sys.platform.startswith("linux")
_LIMIT_S = 5.0
"""So long what was killed may take to be gone: it may hang in the kernel."""


def main(command: list[str]) -> None:
    libc = ctypes.CDLL(None) if _ADOPTS else None
    if libc is not None:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        program = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=2,
            stderr=2,
            start_new_session=True,
            # where this process is killed, the program at least goes with it
            preexec_fn=None if libc is None else lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )
    except OSError as error:
        _say({"error": error.strerror or str(error)})
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)  # the output ends with the program, not with this process
    threading.Thread(target=_obey, args=(program,), daemon=True).start()
    status = _wait(program)
    _say({"status": status})
    _end_all(program)


def _wait(program: subprocess.Popen[bytes]) -> int:
    """Its status; what was adopted and ends meanwhile is taken leave of."""
    if not hasattr(os, "waitid"):
        return program.wait()
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program.pid:
            return os.waitstatus_to_exitcode(status)


def _obey(program: subprocess.Popen[bytes]) -> None:
    while asked := os.read(0, 1):
        if asked == b"t":
            _signal_all(program, signal.SIGTERM)
    _end_all(program)
    os._exit(0)


def _end_all(program: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _LIMIT_S
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)
    while time.monotonic() < until:
        _signal_all(program, kill)
        if not _ADOPTS or not _has_children():
            return
        time.sleep(0.005)


def _has_children() -> bool:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _signal_all(program: subprocess.Popen[bytes], number: int) -> None:
    """To the program, all in its process group, and on Linux everything that descends from it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(program.pid, number)
        else:
            program.terminate()
    for pid in _descendants() if _ADOPTS else ():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    parents = [os.getpid()]
    while parents:
        below = children.get(parents.pop(), [])
        found += below
        parents += below
    return found


def _say(said: dict[str, object]) -> None:
    with contextlib.suppress(OSError):  # the server is gone
        os.write(1, json.dumps(said).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
