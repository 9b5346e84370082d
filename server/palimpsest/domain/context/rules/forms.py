"""The shape of a language's forms: by which words and patterns its sentences set rules, choose, and take back.

A module a language fills this shape; the mechanism (`detection`, `superseding`) holds no word of any. A pattern that
a language does not need matches nothing. Every pattern sees one sentence of at most `LONGEST_SENTENCE` characters, and
none repeats an unbounded piece inside another, so matching is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

LONGEST_SENTENCE: Final = 1_000
"""Characters above which nothing is a rule, nor takes one back; it bounds the work."""
NOTHING: Final = re.compile(r"(?!)")


def form(pattern: str) -> re.Pattern[str]:
    """A pattern that does not care about capitals."""
    return re.compile(pattern, re.I)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """What the grammar of a language does with a rule, by classes of words where `Forms` lists wordings. Matched at the
    beginning of a clause unless the text says otherwise; `what` is the group that names what is meant."""

    request: re.Pattern[str] = NOTHING
    """A polite question that asks for a habit: what follows it is an order."""
    plea: re.Pattern[str] = NOTHING
    """A wish, a duty of the reader or an announcement around an order, which follows it."""
    assent: re.Pattern[str] = NOTHING
    """The message says yes to what was asked: a bare choice behind it is an answer."""
    past: re.Pattern[str] = NOTHING
    """Anywhere: told of a time that is over, so it sets nothing."""
    momentary: re.Pattern[str] = NOTHING
    """Anywhere: of a step that is taken now."""
    made: re.Pattern[str] = NOTHING
    """An order to make something, and behind it what must hold of that."""
    habitual: re.Pattern[str] = NOTHING
    """A whole clause: duties and measures of kinds, and orders whose object is a kind."""
    barred: re.Pattern[str] = NOTHING
    """A whole clause that forbids a kind."""
    norms: tuple[re.Pattern[str], ...] = ()
    """Ways to state without a word of duty how things are done: a kind as the subject of a verb in the present, an
    order on a condition, a ranking, a division of labor. Weak: the words of the sentence must agree."""
    ended: tuple[re.Pattern[str], ...] = ()
    """The choice of `what` is given up."""
    unneeded: tuple[re.Pattern[str], ...] = ()
    """To do `what` is asked for no more."""
    freed: tuple[re.Pattern[str], ...] = ()
    """To do `what` is allowed from now on."""
    numbers: frozenset[str] = frozenset()
    """Small numbers in words."""
    manners: frozenset[str] = frozenset()
    """Of the rivals, ways to answer: to allow one gives up the other."""
    places: frozenset[str] = frozenset()
    """Words behind which the one place or target of a thing stands."""
    placing: frozenset[str] = frozenset()
    """Verbs of a sentence that ends in such a place, whatever word stands before it."""


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """One language, and itself as a key of a cache: there is one of each, and its hundreds of words take long to hash.

    Patterns are matched at the beginning of a clause unless their text says otherwise."""

    name: str
    markers: frozenset[str]
    """Small words by which the language is known."""
    letters: frozenset[str] = frozenset()
    """Letters that none of the other languages writes."""

    # -------------------------------------------------------------------------------------------- parts of a sentence
    lead_in: re.Pattern[str] = NOTHING
    """What only introduces a sentence."""
    scope: re.Pattern[str] = NOTHING
    """Anywhere: for how long or where something holds."""
    opening_scope: re.Pattern[str] = NOTHING
    """A scope that opens a sentence, with what parts it from the rest."""
    scope_alone: re.Pattern[str] = NOTHING
    """A whole sentence that only says for how long or where the next one holds."""
    clause: re.Pattern[str] = NOTHING
    """Anywhere: behind it a clause begins."""
    aside: re.Pattern[str] = NOTHING
    """Anywhere: behind it a sentence explains."""

    # ------------------------------------------------------------------------------------------------ marks of a rule
    always: re.Pattern[str] = NOTHING
    always_we: re.Pattern[str] = NOTHING
    """Anywhere in a sentence that is no story."""
    tale: re.Pattern[str] = NOTHING
    """Anywhere: telling or complaining, where "always" and "never" set nothing."""
    forbid: re.Pattern[str] = NOTHING
    forbid_we: re.Pattern[str] = NOTHING
    """Anywhere."""
    no_kind: re.Pattern[str] = NOTHING
    """A short sentence that wants none of a kind."""
    abandoned: re.Pattern[str] = NOTHING
    negative: re.Pattern[str] = NOTHING
    """Anywhere: makes a rule a prohibition."""
    condition: re.Pattern[str] = NOTHING
    order_after_condition: re.Pattern[str] = NOTHING
    kind: re.Pattern[str] = NOTHING
    """Anywhere: a rule speaks of kinds."""
    weak_kind: re.Pattern[str] = NOTHING
    """Anywhere: of a kind where the object is."""
    each: re.Pattern[str] = NOTHING
    """Anywhere: whenever something happens."""
    owed: re.Pattern[str] = NOTHING
    """Anywhere: must, should."""
    owed_kind: re.Pattern[str] = NOTHING
    """A subject that is a kind."""
    owed_bare: re.Pattern[str] = NOTHING
    """A duty without a subject; where a task was set before it, it is the task's."""
    decided: re.Pattern[str] = NOTHING
    choice: re.Pattern[str] = NOTHING
    """A rule that is told as a decision, and not as an order."""
    standing: re.Pattern[str] = NOTHING
    """A sentence that states how things are done here."""
    habits: frozenset[str] = frozenset()
    """Verbs by which people order how things are done."""
    styles: frozenset[str] = frozenset()
    """Of these, those whose bare object already is a kind: "use tabs"."""
    actions: frozenset[str] = frozenset()
    """Verbs of single actions: a rule only with "each", "before you" and their like."""

    # ---------------------------------------------------------------------------------------- marks of something else
    asked: re.Pattern[str] = NOTHING
    told: re.Pattern[str] = NOTHING
    """Guesses, suppositions, reports of what somebody else says."""
    told_within: re.Pattern[str] = NOTHING
    """The same, anywhere."""
    task: re.Pattern[str] = NOTHING
    """An order to make one thing: what must hold of it is no rule."""
    relative: re.Pattern[str] = NOTHING
    """Anywhere: behind it stands what must hold of that thing."""
    one_thing: re.Pattern[str] = NOTHING
    """A subject that is the one thing spoken of."""
    once: re.Pattern[str] = NOTHING
    """Anywhere: for this time only."""
    pointed: re.Pattern[str] = NOTHING
    """About one thing that was just spoken of."""
    specific: re.Pattern[str] = NOTHING
    """Anywhere: one thing, not a kind."""
    determined: re.Pattern[str] = NOTHING
    """An order with one thing as its object."""
    purpose: re.Pattern[str] = NOTHING
    """Anywhere: behind it stands what for, or where, no longer what."""

    # -------------------------------------------------------------------------------------------------- changed minds
    restated: re.Pattern[str] = NOTHING
    """A bare choice; it is one only in a sentence that says it is a change."""
    turned: re.Pattern[str] = NOTHING
    """A word of change, and behind it nothing but `what`: a choice where that names one of `rivals`."""
    heading: re.Pattern[str] = NOTHING
    """Says how things are here, so that a kind named in a later clause is wanted or not wanted."""
    change: re.Pattern[str] = NOTHING
    """Anywhere: the sentence replaces something said before."""
    instead: re.Pattern[str] = NOTHING
    """Anywhere: in place of what was said just before, which it does not name."""
    withdrawn: re.Pattern[str] = NOTHING
    """Takes back the rule its words are about."""
    unnamed: re.Pattern[str] = NOTHING
    """Takes back what was said just before, without a name."""
    sweeping: re.Pattern[str] = NOTHING
    """Anywhere: waves away all that was said and names no subject; it takes back nothing."""
    passed_on: re.Pattern[str] = NOTHING
    """Anywhere before a colon: what follows are words of somebody else."""
    said_myself: re.Pattern[str] = NOTHING
    """Anywhere before a colon: what follows are the user's own words after all."""
    dropped: tuple[re.Pattern[str], ...] = ()
    """Gives up the choice that the last group names."""
    permitted: re.Pattern[str] = NOTHING
    """Allows something again."""
    about: re.Pattern[str] = NOTHING
    """Anywhere: words of a withdrawal that do not say which rule."""
    rule_noun: re.Pattern[str] = NOTHING
    """Anywhere: speaks of a rule, so that one without a name may be meant."""
    rejected: tuple[re.Pattern[str], ...] = ()
    """Anywhere: the last group is what is turned down in favor of something else."""
    chosen: tuple[re.Pattern[str], ...] = ()
    """Anywhere: `what` is chosen, `purpose` is what for; the purpose may be missing."""
    scopes: frozenset[str] = frozenset()
    """Stems of purposes for which many things can be chosen."""
    rivals: tuple[frozenset[str], ...] = ()
    """Stems of which only one can be chosen."""
    topics: frozenset[str] = frozenset()
    """Stems that say what such a choice is about."""

    # ---------------------------------------------------------------------------------------------------- words
    stop: frozenset[str] = frozenset()
    """Words that do not say what a rule is about."""
    suffixes: tuple[str, ...] = ()
    """Of inflection, the longest first."""
    doubling: frozenset[str] = frozenset()
    """Suffixes before which a consonant is doubled."""
    participle: re.Pattern[str] | None = None
    """A whole word whose first group is its stem."""
    alike: tuple[tuple[str, str], ...] = ()
    """Ends of stems that are spelled in two ways, and the way that is kept."""
    enclitic: re.Pattern[str] = NOTHING
    """Anywhere in a verb: a pronoun that is joined to its end."""
    elided: str = ""
    """Articles and their like that are joined to a noun by an apostrophe, as alternatives of a pattern."""
    usage: Usage = Usage()
    known_by: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known_by", self.markers | self.habits | self.actions)
