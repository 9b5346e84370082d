"""The end of a server comes also where its interpreter is held, so that nothing of the server itself can bring it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no watchdog on Windows")

_SERVER: Final = Path(__file__).with_name("hanging_server.py")
_NEVER_S: Final = 3600.0


def _close_input(server: subprocess.Popen[bytes]) -> None:
    assert server.stdin is not None
    server.stdin.close()


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("grace_s", "hang_s", "ask"),
    [
        pytest.param(0.5, _NEVER_S, lambda server: server.send_signal(signal.SIGTERM), id="a-signal"),
        pytest.param(0.5, _NEVER_S, _close_input, id="the-input-ends"),
        pytest.param(1.0, 1.0, lambda _: None, id="nobody-can-ask"),
    ],
)
def test_a_server_whose_interpreter_is_held_ends(
    grace_s: float, hang_s: float, ask: Callable[[subprocess.Popen[bytes]], None]
) -> None:
    command = [sys.executable, str(_SERVER), str(grace_s), str(hang_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        assert server.stdout.readline() == b"hangs\n"
        try:
            ask(server)
            said = server.stderr.read()  # to its end: the watchdog ends with the server
            assert server.wait() == -signal.SIGKILL
        finally:
            server.kill()
    assert b"The server was killed" in said
