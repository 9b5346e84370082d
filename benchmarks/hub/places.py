"""A hub as a service has it, and members with servers: what `latency` and `load` measure."""

from __future__ import annotations

import contextlib
import os
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.hub.lab import Lab, new_hub, owning
from tests.hub.postgres import running

from palimpsest_hub import administration

_SETTINGS: Final = {
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "autovacuum": "on",
    "max_connections": "500",
}


@contextlib.contextmanager
def hub_on_disk() -> Iterator[Lab]:
    """A hub whose PostgreSQL waits for the disk, as one that is used does. Its shared login `gate` has a password."""
    with running(None, "admin,keeper", **_SETTINGS) as postgres:
        admin = new_hub(postgres)
        gate = administration.make_login(admin, "gate", None)
        with owning(admin) as owner:
            yield Lab(admin, gate, owner)


def spread(values: Sequence[float]) -> str:
    """The median and the 95th percentile, of milliseconds."""
    if len(values) < 2:
        return f"{len(values)} values"
    cuts = statistics.quantiles(values, n=100)
    return f"median {cuts[49]:7.1f}, 95 % {cuts[94]:7.1f} ms"


def load() -> str:
    return f"load average {os.getloadavg()[0]:.1f}"


def home(directory: Path, name: str) -> Path:
    made = directory / name
    made.mkdir()
    return made
