"""What a command started does not outlive the server, also where that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import psutil
import pytest

from palimpsest.services.tools.run_command import HOLDS_ALL

_SERVER: Final = """
import asyncio, os, sys
from pathlib import Path
from palimpsest.services.tools.run_command import run_program, scrubbed

command = ["sh", "-c", "setsid sleep 600 & echo $! $$ > $0; wait", sys.argv[1]]
asyncio.run(run_program(command, Path.cwd(), scrubbed(os.environ), 600))
"""


@pytest.mark.timeout(60)
@pytest.mark.skipif(not HOLDS_ALL, reason="only Linux lets a process adopt what others leave behind")
def test_a_killed_server_leaves_nothing_running(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    with subprocess.Popen([sys.executable, "-c", _SERVER, str(tmp_path / "begun")]) as server:
        try:
            running = [psutil.Process(int(pid)) for pid in (tmp_path / "begun").read_text().split()]
        finally:
            server.kill()
    _, alive = psutil.wait_procs(running, timeout=30)
    assert alive == []
