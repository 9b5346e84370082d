"""How long a test waits for what it expects, before it fails: never a measure of how fast anything is."""

from __future__ import annotations

import os
from typing import Final

_IDLE_S: Final = 30.0
"""Far more than anything takes on a machine that does nothing else."""
_MOST: Final = 4.0


def _busyness() -> float:
    """How many programs want each processor, at least 1 and at most `_MOST`."""
    wanting = os.getloadavg()[0] if hasattr(os, "getloadavg") else 1.0
    return min(max(wanting / (os.cpu_count() or 1), 1.0), _MOST)


WAIT_S: Final = _IDLE_S * _busyness()
"""For one condition; more on a machine that was busy when the tests began."""
