"""A lasting bound of a project's surroundings is told from a report of the moment by classes of words.

"The till has no keyboard" bounds whatever is made for that till, and is a rule; "the till is down again" is none. A
sentence is marked with the classes that it has words of, and the model of rules weighs the marks
(`scoring.surroundings_of`): what is learned of one machine holds for machines of which no sentence was learned.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, fields

from palimpsest.domain.context.rules.forms import NOTHING, Form
from palimpsest.domain.context.rules.languages import folded, has_han


class Entries:
    """A list that is separated by commas, read at its first use: most languages are never used.

    An entry is a word, a pair of words, or up to three Chinese signs. A number is "9"; in Chinese a number and a run of
    Latin letters are "X".
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @functools.cached_property
    def features(self) -> frozenset[str]:
        """The entries as `features.of_sentence` writes them."""
        found = (" ".join(each.split()) for each in self._text.split(","))
        return frozenset(" ".join(each.replace(" ", "")) if has_han(each) else folded(each) for each in found)


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """The classes of one language."""

    people: Entries
    """People and bodies that use, pay for, check or forbid things."""
    gear: Entries
    """Devices, services and places that things run on or go through."""
    lack: Entries
    """Words for a thing that is missing, refused or out of reach."""
    bound: Entries
    """Measures, quantities over time, and words that exclude everything else."""
    version: Entries
    """Versions and age."""
    own: Entries
    """Words for us and our place."""
    moment: Entries
    """Times of a single event."""
    code: Entries
    """Parts of the work itself, such as functions and tickets."""
    past: Form = NOTHING
    """Anywhere in a lower-case sentence: a verb in the past."""

    def kinds(self, text: str, seen: frozenset[str]) -> Iterator[str]:
        """Yields the classes that a sentence has words of. `seen`: its features."""
        for field in fields(self):
            if field.name != "past" and not seen.isdisjoint(getattr(self, field.name).features):
                yield field.name
        if self.past.search(text.lower()):
            yield "past"
