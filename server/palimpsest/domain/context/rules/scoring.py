"""How much the form of a sentence is that of a rule.

A rule speaks of kinds and of always, an order of one exact thing and of now; the marks of both are added up. What must
hold of a thing that is to be made is a task; what is asked, supposed, reported or told of the past is neither.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from palimpsest.domain.context.rules import features
from palimpsest.domain.context.rules.forms import Forms
from palimpsest.domain.context.rules.languages import n_words
from palimpsest.domain.context.rules.reading import Reading
from palimpsest.domain.context.rules.sentence_parts import exact_names, first_verb, lead_in_stripped, past_lead_in
from palimpsest.domain.context.rules.surroundings_words import SURROUNDINGS
from palimpsest.domain.context.rules.withdrawals import taken_by_grammar, withdrawals

ENOUGH: Final = 2
"""The score of a sentence that is a rule by its form."""
_LONGEST_ELABORATION: Final = 2
"""Words of "don't summarize" behind an order: it says how that one thing is to be done."""
BOUND: Final = "bound of the surroundings"
"""The mark of a sentence that may state a lasting bound of the surroundings."""
_ABOUT: Final = frozenset({"people", "gear", "lack", "own"})
TRANSIENT: Final = "transient"
"""The mark of a sentence about the moment or about a time that is over."""
_OF_A_TIME: Final = frozenset({"moment", "past"})
_BREAK = re.compile(r"\s--?\s|[;\uff1b\u2013\u2014]")
"""Another thought begins behind it."""


def score(reading: Reading, *, in_task: bool) -> int:
    """From 0 up: `ENOUGH` makes a rule. `in_task`: an earlier sentence of the message orders one thing to be made."""
    forms, text, bare = reading.forms, reading.text, reading.bare
    if reading.is_no_statement or forms.withdrawn.match(bare) or forms.sweeping.match(bare):
        return 0
    if n_words(bare) < 2 and not reading.turned_to:
        return 0
    if forms.usage.past.search(text) or forms.usage.made.match(bare):
        return 0
    taken = taken_by_grammar(reading, bare)
    if taken is not None and not taken.drops and not reading.is_negative(bare):
        return 0
    if reading.is_task and (relative := forms.relative.search(bare)) is not None:
        # What must hold of the thing that is to be made.
        return score(Reading.of(bare[: relative.start()], forms), in_task=in_task)
    if reading.turned_to:
        return ENOUGH + 1
    thoughts = [_thought_of(reading, clause) for clause in reading.clauses]
    lasts = {thought: forms.once.search(thought) is None for thought in set(thoughts)}
    marks, is_lasting = max(
        (_clause_marks(reading, clause, in_task), lasts[thought])
        for clause, thought in zip(reading.clauses, thoughts, strict=True)
    )
    is_order = first_verb(bare, forms) in forms.habits | forms.actions
    scope = 2 if forms.scope.search(text) and (marks >= 2 or is_order) else 0
    # A scope alone is talk about time; with an order it makes a rule.
    marks = max(marks, 1 if scope else 0)
    if marks == 0:
        return 0
    n_exact = len(exact_names(forms.aside.split(text, maxsplit=1)[0]))
    is_once = not forms.usage.barred.match(bare) and (
        not is_lasting or (marks < 3 and forms.usage.momentary.search(bare))
    )
    once = 2 if is_once and not scope else 0
    return marks + scope - min(n_exact // 2 if marks >= 2 else n_exact, 2) - once


def marks_of(reading: Reading, scored: int) -> tuple[str, ...]:
    """What the form of a sentence says, as the models see it. `scored`: its score."""
    said = {
        "no statement": reading.is_no_statement,
        "task": reading.is_task,
        "takes back": bool(withdrawals(reading, is_rule=scored >= ENOUGH)),
        "changes": reading.is_changing,
        "exact": bool(reading.exact_names),
        "norm": reading.is_norm,
    }
    return (f"score {min(max(scored, 0), ENOUGH + 1)}", *(mark for mark, holds in said.items() if holds))


def surroundings_of(reading: Reading) -> tuple[str, ...]:
    """What a sentence that orders nothing states of the surroundings, in classes of words, as the model of rules sees
    it; `TRANSIENT` alone where it is about a certain time."""
    forms = reading.forms
    if reading.is_task or reading.is_no_statement or first_verb(reading.bare, forms) in forms.habits | forms.actions:
        return ()
    kinds = sorted(SURROUNDINGS[forms.name].kinds(reading.text, features.of_sentence(reading.said)))
    if not _OF_A_TIME.isdisjoint(kinds):
        return (TRANSIENT,)
    if _ABOUT.isdisjoint(kinds):
        return ()
    pairs = (f"lasting {one}, {other}" for one, other in itertools.combinations(kinds, 2))
    return (*(f"lasting {kind}" for kind in kinds), *pairs, *((BOUND,) if kinds != ["own"] else ()))


def _thought_of(reading: Reading, clause: str) -> str:
    """The sentence from the last break before the clause that begins another thought."""
    bare = reading.bare
    if not bare.endswith(clause):
        return bare
    start = len(bare) - len(clause)
    return bare[max((match.end() for match in _BREAK.finditer(bare, 0, start + 1)), default=0) :]


def _clause_marks(reading: Reading, clause: str, in_task: bool) -> int:
    """The marks of a clause, which runs to the end of its sentence: from 0 to 3."""
    forms = reading.forms
    is_whole = clause == reading.bare and not reading.is_task and not forms.one_thing.match(clause)
    head = forms.purpose.split(clause, maxsplit=1)[0]
    is_pointed = forms.pointed.match(head if n_words(head) >= 2 else clause) is not None
    if (reading.is_task and n_words(clause) <= 2) or (in_task and is_whole and forms.owed_bare.match(clause)):
        return 0
    if _elaborates(reading, clause):
        return 0
    if forms.always.match(clause) or (is_whole and forms.always_we.search(clause) and not forms.tale.search(clause)):
        return 3
    if is_whole and not is_pointed and (forms.usage.habitual.match(clause) or forms.usage.barred.match(clause)):
        return 2
    if forms.forbid.match(clause) or forms.forbid_we.match(clause) or (is_whole and forms.forbid_we.search(clause)):
        return 1 if is_pointed and not forms.forbid_we.search(clause) else 2
    if _wants_none(reading, clause, is_whole) or _states(reading, clause, is_whole, is_pointed):
        return 2
    return 0 if is_pointed else _order_marks(reading, clause)


def _elaborates(reading: Reading, clause: str) -> bool:
    """Whether a clause only says how the one thing before it is to be done."""
    forms = reading.forms
    if clause == reading.bare or n_words(clause) > _LONGEST_ELABORATION:
        return False
    is_kind = forms.no_kind.match(clause) or forms.always.match(clause)
    return forms.forbid.match(clause) is not None and not is_kind


def _wants_none(reading: Reading, clause: str, is_whole: bool) -> bool:
    """Whether a short clause wants none of a kind."""
    forms = reading.forms
    is_ruling = (
        is_whole or first_verb(reading.bare, forms) in forms.habits or forms.heading.match(reading.bare) is not None
    )
    return is_ruling and forms.no_kind.fullmatch(clause) is not None and n_words(clause) <= 10


def _states(reading: Reading, clause: str, is_whole: bool, is_pointed: bool) -> bool:
    """Whether a clause decides something, states a duty or how things are done, or orders something on a condition."""
    forms = reading.forms
    if (forms.decided.match(clause) and not is_pointed) or forms.abandoned.match(clause):
        return True
    if is_whole and not forms.tale.search(clause) and forms.owed_bare.match(clause):
        return True
    if is_whole and forms.owed_kind.match(clause) and forms.owed.search(clause):
        return True
    if not reading.is_task:
        if (is_whole or reading.is_changing) and forms.standing.match(clause):
            return True
        is_scoped = forms.opening_scope.match(past_lead_in(reading.text, forms)) is not None
        if (reading.is_changing or is_scoped) and forms.restated.match(clause):
            return True
    return forms.condition.match(clause) is not None and _has_order(clause, forms)


def _order_marks(reading: Reading, clause: str) -> int:
    """The marks of an order: 2 of a kind or of each time, 1 of one thing, 0 of a clause that is no order."""
    forms = reading.forms
    verb = first_verb(clause, forms)
    if verb not in forms.habits:
        return 2 if verb in forms.actions and forms.each.search(clause) else 0
    order = forms.aside.split(clause, maxsplit=1)[0]
    if reading.is_task:
        return 2 if forms.each.search(order) else 1
    object_ = forms.purpose.split(order, maxsplit=1)[0]
    object_ = object_ if n_words(object_) >= 2 else order
    is_unspecific = not forms.specific.search(object_) and not set(order) & set("@/")
    is_bare_kind = is_unspecific and verb in forms.styles and n_words(order) <= 8 and not reading.is_answer
    is_weak_kind = forms.weak_kind.search(order) and not forms.determined.match(order)
    return 2 if is_bare_kind or is_weak_kind or forms.kind.search(order) or forms.each.search(order) else 1


def _has_order(clause: str, forms: Forms) -> bool:
    """Whether a condition is followed by an order."""
    rests = [lead_in_stripped(clause[match.end() :], forms) for match in forms.clause.finditer(clause)]
    if rests and forms.order_after_condition.match(rests[0]):
        return True
    return any(
        first_verb(rest, forms) in forms.habits | forms.actions or forms.forbid.match(rest) or forms.always.match(rest)
        for rest in rests
    )
