"""Which servers there are in a trial, whose store each has, and what may be hit."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Hit:
    """Servers that are killed, and the one whose way to the hub is cut before. Neither: the hub is hit."""

    name: str
    weight: int
    killed: tuple[str, ...] = ()
    cut: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Servers by name, with the member whose home and store each has."""

    name: str
    members: Mapping[str, str]
    hits: tuple[Hit, ...]

    def choose(self, rng: random.Random) -> Hit:
        return rng.choices(self.hits, [each.weight for each in self.hits])[0]


CONNECTIONS: Final = "connections"
BACKEND: Final = "hub"

TWO_STORES: Final = Layout(
    "two stores",
    {"ann": "ann", "bob": "bob"},
    (
        Hit("ann", 4, ("ann",)),
        Hit("bob", 4, ("bob",)),
        Hit("both", 4, ("ann", "bob")),
        Hit("way of ann", 3, cut="ann"),
        Hit("way of bob", 3, cut="bob"),
        Hit(CONNECTIONS, 1),
        Hit(BACKEND, 2),
    ),
)
NEIGHBORS: Final = Layout(
    "two servers on one store",
    {"ann": "ann", "ann 2": "ann", "bob": "bob"},
    (
        Hit("ann", 4, ("ann",)),
        Hit("ann 2", 4, ("ann 2",)),
        Hit("both of ann", 2, ("ann", "ann 2")),
        Hit("bob", 2, ("bob",)),
        Hit("all", 2, ("ann", "ann 2", "bob")),
        Hit("way of ann", 2, cut="ann"),
        Hit("way of ann 2", 2, cut="ann 2"),
        Hit("way of bob", 1, cut="bob"),
        Hit(CONNECTIONS, 1),
        Hit(BACKEND, 1),
    ),
)


def layout_of(number: int) -> Layout:
    """Of the set of trials with that number: every second has two servers on one store."""
    return NEIGHBORS if number % 2 else TWO_STORES
