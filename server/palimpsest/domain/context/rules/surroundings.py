"""A lasting bound of a project's surroundings is told from a report of the moment by classes of words.

"The till has no keyboard" bounds whatever is made for that till, and is a rule; "the till is down again" is none. A
sentence is marked with the classes that it has words of, and the model of rules weighs the marks
(`scoring.surroundings_of`): what is learned of one machine holds for machines of which no sentence was learned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from palimpsest.domain.context.rules.forms import NOTHING, Form
from palimpsest.domain.context.rules.languages import folded, has_han


def entries(text: str) -> frozenset[str]:
    """The entries of a list that is separated by commas, as `features.of_sentence` writes them.

    An entry is a word, a pair of words, or up to three Chinese signs. A number is "9"; in Chinese a number and a run of
    Latin letters are "X".
    """
    found = (" ".join(each.split()) for each in text.split(","))
    return frozenset(" ".join(each.replace(" ", "")) if has_han(each) else folded(each) for each in found)


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """The classes of one language."""

    people: frozenset[str]
    """Who uses, pays for, checks or forbids what is made."""
    gear: frozenset[str]
    """What it runs on, is read on or goes through."""
    lack: frozenset[str]
    """Something is missing, refused or out of reach."""
    bound: frozenset[str]
    """Measures, quantities over time and words that exclude all else."""
    version: frozenset[str]
    """Something is old or of a certain version."""
    own: frozenset[str]
    """The surroundings are ours."""
    moment: frozenset[str]
    """It happens now, or happened at a certain time."""
    code: frozenset[str]
    """Parts of the work itself."""
    past: Form = NOTHING
    """Anywhere in the sentence in small letters: a verb of a time that is over."""

    def kinds(self, text: str, seen: frozenset[str]) -> Iterator[str]:
        """Yields the classes that a sentence has words of. `seen`: its features."""
        for field in fields(self):
            if field.name != "past" and not seen.isdisjoint(getattr(self, field.name)):
                yield field.name
        if self.past.search(text.lower()):
            yield "past"
