"""How far a store of an older version has been brought up to date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The first step is a copy, and each further one a migration."""

    n_done: int
    n_steps: int


TellUpgrade = Callable[[Upgrade], None]
"""Called before each step, on the thread that takes it."""


def untold(_: Upgrade) -> None:
    """For callers that show no progress."""
