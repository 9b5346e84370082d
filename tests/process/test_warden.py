"""The warden hands a program its streams when it is told to, and ends with it as it did."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from palimpsest import workers

WARDEN = Path(workers.__file__).with_name("warden.py")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="descriptors are passed on where there are any")


def run(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    read, write = os.pipe()
    try:
        words = [sys.executable, "-I", "-S", str(WARDEN), "--control", str(read), *command]
        return subprocess.run(words, input=text, capture_output=True, text=True, pass_fds=(read,), timeout=60)
    finally:
        os.close(read)
        os.close(write)


def test_a_program_reads_and_writes_as_if_nobody_stood_between() -> None:
    done = run("sh", "-c", "cat; echo bad >&2; exit 3", text="hello")
    assert (done.stdout, done.stderr, done.returncode) == ("hello", "bad\n", 3)


def test_a_signal_and_a_missing_program_are_told_by_the_status() -> None:
    assert run("sh", "-c", "kill -9 $$").returncode == 128 + 9
    missing = run("no-such-program")
    assert (missing.returncode, missing.stderr) == (127, "no-such-program: No such file or directory\n")
