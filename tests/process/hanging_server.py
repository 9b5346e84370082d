"""A process as servers are, whose interpreter a regular expression holds as soon as it has said `hangs`.

Run as `hanging_server.py GRACE_S HANG_S`; it lives with its stdin, as a server over stdio does.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time

from palimpsest.lsp.runtime.process import Process


def _wait_for_watchdog(process: Process) -> None:
    while process._child is None:
        time.sleep(0.01)


async def main(grace_s: float, hang_s: float) -> None:
    process = Process(grace_s, source=os.dup(0), hang_s=hang_s)
    process.stop_on_signals(lambda _: None)
    await asyncio.to_thread(_wait_for_watchdog, process)
    os.write(1, b"hangs\n")
    re.match("(a*)*b", "a" * 64)


asyncio.run(main(float(sys.argv[1]), float(sys.argv[2])))
