"""The shape of a language's forms: the words and patterns by which its sentences set rules, choose and take back.

Each language has a module that fills this shape; the mechanism (`detection`, `supersession`) holds no word of any
language. A pattern that a language does not need matches nothing. Every pattern sees one sentence of at most
`LONGEST_SENTENCE` characters, and none repeats an unbounded piece inside another, so matching is bounded.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Final

LONGEST_SENTENCE: Final = 1_000
"""Characters above which a sentence neither sets a rule nor takes one back, which bounds the work."""


class Form:
    """A pattern that is compiled at its first use. Most languages are never used, and compiling the patterns of all
    would take longer than importing all other modules of the domain.

    The methods are those of `re.Pattern`: each is looked up once and costs the same as the pattern's own from then on.
    """

    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self.pattern: Final = pattern
        self._flags = flags

    @functools.cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    @functools.cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.search

    @functools.cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.match

    @functools.cached_property
    def fullmatch(self) -> Callable[[str], re.Match[str] | None]:
        return self._compiled.fullmatch

    @functools.cached_property
    def finditer(self) -> Callable[[str], Iterator[re.Match[str]]]:
        return self._compiled.finditer

    @functools.cached_property
    def sub(self) -> Callable[[str, str], str]:
        return self._compiled.sub

    @functools.cached_property
    def split(self) -> Callable[..., list[str]]:
        return self._compiled.split

    def compile(self) -> None:
        """Spares the first use the time."""
        _ = self._compiled


def form(pattern: str) -> Form:
    """A pattern that ignores case."""
    return Form(pattern, re.IGNORECASE)


NOTHING: Final = form(r"(?!)")


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Forms that follow from the grammar of a language, by classes of words where `Forms` lists wordings.

    A pattern is matched at the beginning of a clause unless its text says otherwise. The group `what` names the thing
    that is meant.
    """

    request: Form = NOTHING
    """A polite question that asks for a habit: what follows it is an order."""
    plea: Form = NOTHING
    """A wish, a duty of the reader or an announcement; an order follows it."""
    assent: Form = NOTHING
    """The message says yes to a question: a bare choice behind it is an answer."""
    past: Form = NOTHING
    """Anywhere: the sentence tells of a time that is over, so it sets nothing."""
    momentary: Form = NOTHING
    """Anywhere: the sentence is about a step that is taken now."""
    made: Form = NOTHING
    """An order to make one thing, followed by what must hold of it."""
    habitual: Form = NOTHING
    """A whole clause: a duty or a measure of a kind, or an order whose object is a kind."""
    barred: Form = NOTHING
    """A whole clause that forbids a kind."""
    norms: tuple[Form, ...] = ()
    """Ways to state without a word of duty how things are done: a kind as the subject of a verb in the present, an
    order on a condition, a ranking, a division of labor. Weak: the words of the sentence must agree."""
    ended: tuple[Form, ...] = ()
    """The clause gives the choice of `what` up."""
    unneeded: tuple[Form, ...] = ()
    """The clause no longer asks for `what`."""
    freed: tuple[Form, ...] = ()
    """The clause allows `what` from now on."""
    numbers: frozenset[str] = frozenset()
    """Small numbers in words."""
    manners: frozenset[str] = frozenset()
    """Those rivals that are ways to answer: allowing one gives up the other."""
    places: frozenset[str] = frozenset()
    """Words that are followed by the only place or target of a thing."""
    placing: frozenset[str] = frozenset()
    """Verbs of a sentence that ends in such a place, whatever word precedes the place."""


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """The forms of one language. There is one object a language, which is hashed by identity.

    A pattern is matched at the beginning of a clause unless its text says otherwise.
    """

    name: str
    markers: frozenset[str]
    """Small words that tell the language."""
    letters: frozenset[str] = frozenset()
    """Letters that no other of the languages uses."""

    # -------------------------------------------------------------------------------------------- parts of a sentence
    lead_in: Form = NOTHING
    """Words that only introduce a sentence."""
    scope: Form = NOTHING
    """Anywhere: a scope, which says for how long or where something holds."""
    opening_scope: Form = NOTHING
    """A scope that opens a sentence, with what separates it from the rest."""
    scope_alone: Form = NOTHING
    """A whole sentence that is the scope of the next one."""
    clause: Form = NOTHING
    """Anywhere: a clause begins behind it."""
    aside: Form = NOTHING
    """Anywhere: an explanation begins behind it."""

    # ------------------------------------------------------------------------------------------------ marks of a rule
    always: Form = NOTHING
    always_we: Form = NOTHING
    """Anywhere in a sentence that is not a story."""
    tale: Form = NOTHING
    """Anywhere: words of a story or a complaint, in which "always" and "never" set nothing."""
    forbid: Form = NOTHING
    forbid_we: Form = NOTHING
    """Anywhere."""
    no_kind: Form = NOTHING
    """A short sentence that rules out a kind."""
    abandoned: Form = NOTHING
    negative: Form = NOTHING
    """Anywhere: the rule is a prohibition."""
    condition: Form = NOTHING
    order_after_condition: Form = NOTHING
    kind: Form = NOTHING
    """Anywhere: words for a kind of thing, of which rules speak."""
    weak_kind: Form = NOTHING
    """Anywhere: words for a kind where the object is one."""
    each: Form = NOTHING
    """Anywhere: words for each time that something happens."""
    owed: Form = NOTHING
    """Anywhere: must, should."""
    owed_kind: Form = NOTHING
    """A subject that is a kind."""
    owed_bare: Form = NOTHING
    """A duty without a subject; behind a task it is part of the task."""
    decided: Form = NOTHING
    choice: Form = NOTHING
    """A rule that reports a decision and gives no order."""
    standing: Form = NOTHING
    """A sentence that states how things are done."""
    habits: frozenset[str] = frozenset()
    """Verbs by which people order how things are done."""
    styles: frozenset[str] = frozenset()
    """Those habits whose bare object is a kind already: "use tabs"."""
    actions: frozenset[str] = frozenset()
    """Verbs of single actions: they make a rule only with "each", "before you" and the like."""

    # ---------------------------------------------------------------------------------------- marks of something else
    asked: Form = NOTHING
    told: Form = NOTHING
    """Guesses, suppositions, reports of what somebody else says."""
    told_within: Form = NOTHING
    """Anywhere: the same as `told`."""
    task: Form = NOTHING
    """An order to make one thing. What must hold of that thing is no rule."""
    relative: Form = NOTHING
    """Anywhere: what must hold of that thing follows."""
    one_thing: Form = NOTHING
    """A subject that is one thing, of which the talk is."""
    once: Form = NOTHING
    """Anywhere: the sentence holds for this time only."""
    pointed: Form = NOTHING
    """The clause points at one thing that was just mentioned."""
    specific: Form = NOTHING
    """Anywhere: words for one thing, not a kind."""
    determined: Form = NOTHING
    """An order with one thing as its object."""
    purpose: Form = NOTHING
    """Anywhere: the object ends, and a purpose or a place follows."""

    # -------------------------------------------------------------------------------------------------- changed minds
    restated: Form = NOTHING
    """A bare choice, which counts only in a sentence that says that it changes something."""
    turned: Form = NOTHING
    """A word of change followed by nothing but `what`: a choice where that names one of `rivals`."""
    heading: Form = NOTHING
    """An opening about how things are here, so that a later clause which names a kind wants it or rules it out."""
    change: Form = NOTHING
    """Anywhere: the sentence replaces something said before."""
    instead: Form = NOTHING
    """Anywhere: the sentence replaces what was said just before, which it does not name."""
    withdrawn: Form = NOTHING
    """The clause takes back the rule that its words are about."""
    unnamed: Form = NOTHING
    """The clause takes back what was said just before and does not name it."""
    thought: Form = NOTHING
    """An order to think well about what is asked now."""
    sweeping: Form = NOTHING
    """Anywhere: the sentence waves away everything and names no subject, so it takes back nothing."""
    passed_on: Form = NOTHING
    """Anywhere before a colon: words of somebody else follow."""
    said_myself: Form = NOTHING
    """Anywhere before a colon: the user's own words follow after all."""
    dropped: tuple[Form, ...] = ()
    """The clause gives up the choice that the last group names."""
    permitted: Form = NOTHING
    """The clause allows something again."""
    about: Form = NOTHING
    """Anywhere: words of a withdrawal that do not say which rule."""
    rule_noun: Form = NOTHING
    """Anywhere: a noun for a rule, so that a rule without a name may be meant."""
    rejected: tuple[Form, ...] = ()
    """Anywhere: the last group names what is turned down in favor of something else."""
    chosen: tuple[Form, ...] = ()
    """Anywhere: the group `what` is chosen for the group `purpose`, which may be missing."""
    scopes: frozenset[str] = frozenset()
    """Stems of purposes for which many things can be chosen."""
    rivals: tuple[frozenset[str], ...] = ()
    """Groups of stems of which only one can be chosen."""
    topics: frozenset[str] = frozenset()
    """Stems for the matter of such a choice: "indent", "quotes"."""

    # ---------------------------------------------------------------------------------------------------- words
    stop: frozenset[str] = frozenset()
    """Words that do not say what a rule is about."""
    suffixes: tuple[str, ...] = ()
    """Endings of inflection, the longest first."""
    doubling: frozenset[str] = frozenset()
    """Suffixes before which a consonant is doubled."""
    participle: Form | None = None
    """A whole word, a participle; the first group is its stem."""
    alike: tuple[tuple[str, str], ...] = ()
    """Pairs of the endings of stems that are spelled in two ways: an ending and the one that replaces it."""
    enclitic: Form = NOTHING
    """Anywhere in a verb: a pronoun joined to its end."""
    elided: str = ""
    """Articles and the like that an apostrophe joins to a noun, as alternatives of a pattern."""
    usage: Usage = Usage()
    known_by: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "known_by", self.markers | self.habits | self.actions)


def compile_patterns(value: object) -> None:
    """Compiles every pattern in a tuple or a data class, such as the forms of a language."""
    if isinstance(value, Form):
        value.compile()
    elif isinstance(value, tuple):
        for each in value:
            compile_patterns(each)
    elif is_dataclass(value):
        for field_of in fields(value):
            compile_patterns(getattr(value, field_of.name))
