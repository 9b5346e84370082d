"""A sentence as one language reads it: its clauses, what kind of sentence it is, and the rule it would be."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.rules.forms import Forms
from palimpsest.domain.context.rules.languages import n_words, plain, rivals_of, stems, without_courtesy
from palimpsest.domain.context.rules.rulings import Rule
from palimpsest.domain.context.rules.sentence_parts import exact_names, later_clauses, lead_in_stripped, past_lead_in

_FEW_WORDS: Final = 6
_LONGEST_CHOICE: Final = 4
"""Words of a choice that is a whole clause."""
_QUOTED = re.compile(
    r"(?<=\S )(?:\"[^\"\n]{1,400}\"|\u201c[^\u201d\n]{1,400}\u201d|\u201e[^\u201c\n]{1,400}\u201c"
    r"|\u00ab[^\u00bb\n]{1,400}\u00bb"
    r"|\u2018[^\u2019\n]{1,400}\u2019)|(?<=\S)(?:\u201c[^\u201d\n]{4,400}\u201d|\u300c[^\u300d\n]{4,400}\u300d)"
)
"""Words of somebody else inside a sentence."""


@dataclass(frozen=True)
class Reading:
    """A sentence as one language reads it. What is looked for in the whole of it is looked for once."""

    said: str
    """The sentence as the user wrote it."""
    text: str
    """The sentence on one line, with plain apostrophes, without what it quotes."""
    bare: str
    """`text` without what only introduces it."""
    clauses: tuple[str, ...]
    """`bare`, and then the sentence from each later place on where a clause begins, without what introduces it."""
    quoted: str
    """What the sentence quotes."""
    forms: Forms

    @classmethod
    def of(cls, own: str, forms: Forms, *, said: str | None = None) -> Reading:
        """`own`: the words of the sentence that are read; `said`: the whole sentence, where `own` is less."""
        said = own if said is None else said
        text = without_courtesy(" ".join(plain(own).split()))
        quoted = " ".join(_QUOTED.findall(said)) if _holds_quotes(said) else ""
        if quoted:
            text = _QUOTED.sub(" ", text)
        opened = past_lead_in(text, forms)
        if (request := forms.usage.request.match(opened)) is not None:
            text = opened[request.end() :].rstrip("?\uff1f ")
        bare = lead_in_stripped(text, forms)
        return cls(said, text, bare, (bare, *later_clauses(text, bare, forms)), quoted, forms)

    @functools.cached_property
    def subject(self) -> tuple[str, ...]:
        """Stems of the words that say what the sentence is about."""
        return stems(self.bare, self.forms)

    @functools.cached_property
    def is_task(self) -> bool:
        """The sentence orders one thing to be made."""
        return any(form.match(self.bare) for form in (self.forms.task, self.forms.usage.made))

    @property
    def is_short_order(self) -> bool:
        """The sentence names one thing, may order something to be done with it, and says no more."""
        is_of_one = self.forms.determined.match(self.bare) is not None or bool(self.exact_names)
        return is_of_one and n_words(self.text) <= _FEW_WORDS

    @property
    def is_answer(self) -> bool:
        """The sentence says yes to a question."""
        return self.forms.usage.assent.match(self.text) is not None

    @functools.cached_property
    def is_sweeping(self) -> bool:
        """The sentence waves away everything and names no subject, so it takes back nothing."""
        return self.forms.sweeping.search(self.text) is not None

    @functools.cached_property
    def is_tale(self) -> bool:
        """The sentence is a story or a complaint, and takes back no rule by its beginning."""
        return self.forms.tale.search(self.text) is not None and not self.forms.withdrawn.match(self.bare)

    @functools.cached_property
    def exact_names(self) -> list[str]:
        """Paths, identifiers, options and the like."""
        return exact_names(self.text)

    @property
    def asks_for_thought(self) -> bool:
        """The sentence asks to think well, for this once."""
        return self.forms.thought.match(self.bare) is not None and self.forms.scope.search(self.text) is None

    @functools.cached_property
    def is_changing(self) -> bool:
        """The sentence says that it replaces something, or gives a choice up."""
        return self.forms.change.search(self.text) is not None or any(
            pattern.match(self.bare) for pattern in self.forms.dropped
        )

    @functools.cached_property
    def is_norm(self) -> bool:
        """The sentence may state how things are done, without a word of duty, and speaks of no single time."""
        forms, usage = self.forms, self.forms.usage
        if usage.past.search(self.text) or usage.momentary.search(self.bare) or forms.once.search(self.text):
            return False
        return any(pattern.match(self.bare) for pattern in usage.norms)

    @functools.cached_property
    def is_no_statement(self) -> bool:
        """The sentence is a question, a guess, a report or a story."""
        forms, bare = self.forms, self.bare
        closing = self.text.rstrip("\"')* \u00bb\u201d")
        return (
            closing.endswith(("?", "\uff1f"))
            or "\u00bf" in self.text
            or forms.asked.match(bare) is not None
            or forms.told.match(bare) is not None
            or forms.told_within.search(self.text) is not None
        )

    @functools.cached_property
    def turned_to(self) -> tuple[str, ...]:
        """Stems of a choice that is a whole clause behind a word of change; empty where it is no known choice."""
        rivals = frozenset[str]().union(*rivals_of(self.forms))
        for clause in (self.text, *self.clauses):
            if (match := self.forms.turned.match(clause)) is not None and n_words(match["what"]) <= _LONGEST_CHOICE:
                words = stems(match["what"], self.forms)
                if rivals & set(words):
                    return words
        return ()

    def is_negative(self, clause: str) -> bool:
        """The clause forbids something or turns it down."""
        forms = self.forms
        beginnings = (forms.forbid, forms.no_kind, forms.abandoned, forms.usage.barred)
        return any(pattern.match(clause) for pattern in beginnings) or any(
            pattern.search(clause) for pattern in (forms.forbid_we, forms.negative)
        )

    def rule(self, start: int) -> Rule:
        """The sentence as a rule, whether or not it is one. `start`: its offset into the text of its message."""
        forms, text = self.forms, self.text
        rejected = tuple(
            stem
            for pattern in forms.rejected
            for match in pattern.finditer(text)
            for stem in stems(match[match.lastindex or 0], forms)
        )
        negative = any(self.is_negative(clause) for clause in self.clauses)
        chosen = next(
            (match for clause in self.clauses for form in forms.chosen if (match := form.search(clause))), None
        )
        what: tuple[str, ...] = self.turned_to
        purpose: tuple[str, ...] = ()
        if what:
            chosen = None
        if chosen is not None and not negative:
            what, purpose = stems(chosen["what"], forms), stems(chosen["purpose"] or "", forms)
        return Rule(
            self.said,
            start,
            start + len(self.said),
            self.turned_to or self.subject,
            negative,
            rejected,
            bool(self.turned_to) or forms.change.search(text) is not None,
            bool(self.turned_to) or forms.instead.search(text) is not None,
            what,
            tuple(word for word in purpose if word not in what),
            any(forms.choice.match(clause) for clause in self.clauses),
        )


def _holds_quotes(text: str) -> bool:
    return any(mark in text for mark in '"\u201c\u201e\u00ab\u2018\u300c')
