"""What can be recalled in a folder, as a version: a decision that was made from it is stored only while it is the same.

What works between reading and storing takes its time: another conversation may teach a fact, another server may purge
or roll back what was read. So the transaction that stores asks once more, and whoever decided decides again.
"""

from __future__ import annotations

from palimpsest.storage.context import rules as ledger
from palimpsest.storage.conversation import hidden_ranges
from palimpsest.storage.facts import facts

Version = tuple[int, tuple[int, int, int], tuple[int, int, int]]


class Changed(Exception):
    """Something was learned, closed, forgotten, hidden, purged or ruled by command since."""


def version() -> Version:
    """To be read with what the decision is made from, in one transaction or before it."""
    return hidden_ranges.last_hidden_anywhere(), facts.version(), ledger.version()


def require(known: Version) -> None:
    """In the transaction that stores. Raises Changed; nothing is stored then."""
    if version() != known:
        raise Changed
