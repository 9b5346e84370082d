"""The version of a folder's knowledge: a decision that was made from it is stored only while the version is the same.

Between reading and storing, another conversation may teach a fact, and another server may purge or roll back the
messages that were read. So the transaction that stores compares the version, and a decision that is out of date is made
anew.
"""

from __future__ import annotations

from palimpsest.storage.context import rules as commanded_rules
from palimpsest.storage.conversation import hidden_ranges
from palimpsest.storage.facts import facts

Version = tuple[int, tuple[int, int, int], tuple[int, int, int]]


class Changed(Exception):
    """A fact was learned, closed or forgotten, messages were hidden or purged, or a rule was given by command."""


def version() -> Version:
    """The version now. Read it in the transaction that reads the basis of the decision, or before."""
    return hidden_ranges.last_hidden_anywhere(), facts.version(), commanded_rules.version()


def require(known: Version) -> None:
    """Raises Changed, in the transaction that stores, when `known` is not the version now."""
    if version() != known:
        raise Changed
