"""What the product takes from the machine it runs on: the time of day, ids, threads of its own, programs on a thread.

What else may come in another order or at another time comes from the event loop: time that passes (`asyncio.sleep`),
calls on other threads (`asyncio.to_thread`), programs (`asyncio.create_subprocess_exec`). So whoever gives another
loop and changes `machine` decides everything that could make two runs differ, as the tests' simulation does. That
nobody goes around it is checked: `server/ruff.toml` bans the modules, and names the few files that may use them.
"""

from __future__ import annotations

import platform
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from palimpsest.machine.call_thread import CallThread


@dataclass(slots=True)
class Machine:
    """The real one, unless a test replaces some of it."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    """The time of day, in UTC. It may jump either way; nothing is ordered by it: sequence numbers order."""
    monotonic_s: Callable[[], float] = time.monotonic
    """For how long something took."""
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex
    """One that nobody else has: 32 hexadecimal digits."""
    host: Callable[[], str] = platform.node
    """The name of the computer in its network."""
    call_thread: Callable[[str], CallThread] = CallThread
    """A thread, by its name, that carries out calls one after the other."""
    run_program: Callable[..., subprocess.CompletedProcess[Any]] = subprocess.run
    """Blocks until a program has ended; for a thread."""


machine: Final = Machine()
"""The one of this process."""


def utc_now() -> str:
    """The time of day in the one form that is stored and shown: UTC, ISO 8601, milliseconds."""
    return machine.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
