"""A chat, as `start_chat`, in which at the moment of the first write, which the user has approved, something is killed:
`terminal` or `server`, the first argument."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import BinaryIO

sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.terminal import start_chat

from palimpsest.terminal import exchange
from palimpsest.terminal.process import ServerProcess


def main() -> int:
    victim = sys.argv.pop(1)
    pids = [os.getpid()]
    real_swap, real_init = exchange.swap, ServerProcess.__init__

    def started(self: ServerProcess, process: asyncio.subprocess.Process, log: BinaryIO | None = None) -> None:
        real_init(self, process, log)
        if victim == "server":
            pids[0] = process.pid

    def swap(one: Path, other: Path) -> bool:
        os.kill(pids[0], signal.SIGKILL)
        return real_swap(one, other)

    ServerProcess.__init__ = started  # type: ignore[method-assign]
    exchange.swap = swap
    return start_chat.main()


if __name__ == "__main__":
    sys.exit(main())
