"""What a server was started with cannot be read from outside, and the server itself still has it."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes, os, subprocess
from palimpsest.app.sealing import seal

before = open("/proc/self/environ", "rb").read()
assert b"SECRET=hunter2" in before
seal()
seal()
shown = subprocess.run(["cat", f"/proc/{os.getpid()}/environ"], capture_output=True)
assert b"hunter2" not in shown.stdout, "another process reads it"
assert os.environ["SECRET"] == "hunter2"
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
assert getenv(b"SECRET") == b"hunter2"
child = subprocess.run(["sh", "-c", "echo $SECRET"], capture_output=True, text=True)
assert child.stdout == "hunter2\\n"
assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0
print("sealed")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="about what Linux shows of processes")
def test_the_environment_is_shown_to_nobody_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    said = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert (said.stdout, said.stderr) == ("sealed\n", "")
