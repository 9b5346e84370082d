"""Runs one program and ends whatever it leaves behind, as a process of its own: the tool `run_command` starts it, and
the client of MCP servers.

It outlives a killed server long enough to see its input end, and then ends everything. On Linux it adopts what the
program's processes leave behind, also what went into a session of its own, so that nothing is missed; elsewhere only
the program's process group is ended. Run as a script, isolated, it imports nothing but the standard library.

Arguments: the program and its arguments. Input: `t` asks all of it to end; the end of the input ends it at once. On
descriptor 1 one JSON line says how it went: `{status}`, negative for a signal, or `{error}` where it could not be
started. Descriptor 2 is the program's output, of both kinds.

With `--control N` in front, the standard streams are the program's own, what controls it comes on descriptor N, and
this process ends as the program did; 127 where it could not be started.
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
_NOT_STARTED = 127
_LIMIT_S = 5.0
"""So long what was killed may take to be gone: it may hang in the kernel."""


def main(command: list[str]) -> int:
    """The exit status of this process."""
    control, owns_streams = 0, True
    if command[:1] == ["--control"]:
        control, command, owns_streams = int(command[1]), command[2:], False
        os.set_inheritable(control, False)
    libc = ctypes.CDLL(None) if _ADOPTS else None
    if libc is not None:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        program = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if owns_streams else None,
            stdout=2 if owns_streams else None,
            stderr=2 if owns_streams else None,
            start_new_session=True,
            # where this process is killed, the program at least goes with it
            preexec_fn=None if libc is None else lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )
    except OSError as error:
        if owns_streams:
            _say({"error": error.strerror or str(error)})
        else:
            _write(2, f"{command[0]}: {error.strerror or error}\n")
        return _NOT_STARTED
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (2,) if owns_streams else (0, 1, 2):  # the streams end with the program, not with this process
        os.dup2(null, descriptor)
    threading.Thread(target=_obey, args=(program, control), daemon=True).start()
    status = _wait(program)
    if owns_streams:
        _say({"status": status})
    _end_all(program)
    return 0 if owns_streams else status if status >= 0 else 128 - status


def _wait(program: subprocess.Popen[bytes]) -> int:
    """Its status; what was adopted and ends meanwhile is taken leave of."""
    if not hasattr(os, "waitid"):
        return program.wait()
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == program.pid:
            return os.waitstatus_to_exitcode(status)


def _obey(program: subprocess.Popen[bytes], control: int) -> None:
    while asked := os.read(control, 1):
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
    _write(1, json.dumps(said) + "\n")


def _write(descriptor: int, text: str) -> None:
    with contextlib.suppress(OSError):  # the server is gone
        os.write(descriptor, text.encode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
