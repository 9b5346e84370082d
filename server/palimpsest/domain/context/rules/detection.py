"""What the user rules and takes back, found by the form of a sentence: what was typed and is meant to hold on.

Pure and deterministic. What is found is an exact piece of the message, never a paraphrase. A rule speaks of kinds and
of always, an order of one exact thing and of now; the marks of both are added up. What must hold of a thing that is
to be made is a task, no rule; what is asked, supposed, reported or told of the past is neither. A trained model weighs
these marks with the words of the sentence (`rules.judging`). Only what the user typed counts: no code, quotes,
transcripts, tool output or attachments. Where it is a near thing, a sentence in a long paste is not a rule.
A module a language holds its forms; a sentence is read in the language it has the most words of. RuleSet and facts both
rest on what is found here.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.rules import features
from palimpsest.domain.context.rules import judgment as judging
from palimpsest.domain.context.rules.forms import LONGEST_SENTENCE, NOTHING, Forms
from palimpsest.domain.context.rules.judgment import knows, language_of, rule_odds, turn_odds
from palimpsest.domain.context.rules.languages import (
    WORD,
    languages_of,
    n_words,
    plain,
    rivals_of,
    stems,
    without_courtesy,
)
from palimpsest.domain.context.rules.own_words import is_quoted, without_foreign
from palimpsest.domain.language.typed_text import sentences
from palimpsest.domain.messages import Content, Role, TextPart

_FORMS_VERSION: Final = 12
"""Grows whenever a message may be read in another way than before, and the models are the same."""
_ENOUGH: Final = 2
"""Marks that a sentence has which is a rule by its form."""
_SURELY_NOT: Final = -3.0
"""The logarithm of the odds up to which its words speak against that."""
_LIKELY: Final = 1.2
"""The logarithm of the odds from which a sentence is a rule whatever its form is. How these were chosen:
`benchmarks/rules/train.py`."""
_FEW_WORDS: Final = 6
_ODDS_IN_FEW_WORDS: Final = 2.0
"""How much higher they must be in a sentence of at most so many words that names one thing and whose form says nothing:
most of these are orders of one thing and of now, and one unusual word weighs much."""
_ODDS_A_DOUBLING: Final = 2.0
"""How much higher they must be each time that a message has twice as many sentences: of many, few are rules."""
_ODDS_A_MALUS: Final = 2.0
"""How much higher the logarithm of the odds must be for each mark that is asked for beyond enough."""
_MAY_TURN: Final = -2.0
"""The logarithm of the odds from which a sentence is held against the rules, whether it ends one."""
_LONG_TEXT, _VERY_LONG_TEXT, _LONG_SENTENCE = 3_000, 10_000, 400
"""Characters above which a text is likelier pasted, a sentence likelier a story."""
_SHORTEST_SENTENCE: Final = 3
"""Characters; in Chinese they say something."""
_MOST_SENTENCES: Final = 400
"""Of one message, from both of its ends: nobody types more."""
_MOST_CLAUSES: Final = 12
"""Of one sentence; a list is longer, a rule is not."""
_LONGEST_ELABORATION: Final = 2
"""Words of "don't summarize" behind an order: it says how that one thing is to be done."""
_LONGEST_CHOICE: Final = 4
"""Words of a choice that stands alone."""
_EXACT = re.compile(
    r"`[^`\n]+`|(?<![\w./@~-])[\w.~@-]{0,80}/[\w./@-]{0,200}\w|\b\w+\.(?:[a-z]{1,4}|json|yaml"
    r"|toml|lock)\b|\b[a-z]\w*_\w+\b"
    r"|\b[a-z]+[A-Z]\w+\b|\b[A-Z]\w*[a-z][A-Z]\w*\b|\b[0-9a-f]{7,40}\b|#\d+|(?<!\w)--\w[\w-]+|@\w[\w-]+"
)
"""An exact name: a rule speaks of kinds."""
_STYLE_NAME = re.compile(r"\b(?:snake_case|SCREAMING_SNAKE\w*|camelCase|PascalCase|UPPER_CASE|kebab-case)\b")
"""Written as what it names, and yet a kind."""
_BREAK = re.compile(r"\s--?\s|[;\uff1b\u2013\u2014]")
"""What stands before it is another thought."""
_QUOTED = re.compile(
    r"(?<=\S )(?:\"[^\"\n]{1,400}\"|\u201c[^\u201d\n]{1,400}\u201d|\u201e[^\u201c\n]{1,400}\u201c"
    r"|\u00ab[^\u00bb\n]{1,400}\u00bb"
    r"|\u2018[^\u2019\n]{1,400}\u2019)|(?<=\S)(?:\u201c[^\u201d\n]{4,400}\u201d|\u300c[^\u300d\n]{4,400}\u300d)"
)
"""Words of somebody else, inside a sentence."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A standing rule as the user wrote it."""

    text: str
    start: int
    """Into the text of the message (`Content.text`), which holds `text` exactly here."""
    end: int
    subject_words: tuple[str, ...]
    """What it is about: stems in the order of the text, each once, function words left out."""
    is_prohibition: bool
    rejected_words: tuple[str, ...]
    """Stems of what it turns down in favor of something else, as in "yarn instead of npm"."""
    is_change: bool = False
    """It says that it replaces something."""
    is_instead: bool = False
    """It replaces what was said just before, which it does not name."""
    chosen_words: tuple[str, ...] = ()
    """Stems of what it chooses: Redis in "use Redis for the queue"."""
    purpose_words: tuple[str, ...] = ()
    """Stems of what that is chosen for: the queue."""
    is_decision: bool = False
    """It is told as a decision, and not as an order."""
    whole: str = ""
    """The sentence it was said in, where `text` is only a part of that."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A sentence that takes rules back."""

    text: str
    subject_words: tuple[str, ...]
    """Empty: the newest rule is meant."""
    permits: bool
    """It allows something again, so it can only take back a prohibition."""
    start: int = 0
    """Of the sentence, into the text of the message."""
    drops: bool = False
    """It gives a choice up, so it can only take back what chose just that."""
    is_near: bool = False
    """It points at what was said just before, and at nothing older."""
    is_judged: bool = False
    """Its form does not say that it takes anything back; the words of a rule beside it may."""


@dataclass(frozen=True, slots=True)
class Rulings:
    """What one message rules and takes back; false where it does neither."""

    rules: tuple[Constraint, ...]
    """In the order of the message."""
    withdrawals: tuple[Withdrawal, ...]
    """In the order of the message."""

    def __bool__(self) -> bool:
        return bool(self.rules or self.withdrawals)

    def in_order(self) -> list[Constraint | Withdrawal]:
        """As they were said; a sentence that does both takes back first."""
        both: list[Constraint | Withdrawal] = [*self.withdrawals, *self.rules]
        return sorted(both, key=lambda each: each.start)


def read_rulings(content: Content) -> Rulings:
    """What the user rules and takes back in a message: a pure function of it and of `readers_version`."""
    if content.role is not Role.USER:
        return Rulings((), ())
    typed = tuple(part.text for part in content.parts if isinstance(part, TextPart))
    return _remembered(typed) if sum(map(len, typed)) <= _LONG_TEXT else _read(typed)


@functools.lru_cache(maxsize=256)
def _remembered(typed: tuple[str, ...]) -> Rulings:
    """A message is looked at for its rules, for the ledger and for facts, one after the other."""
    return _read(typed)


def _read(typed: tuple[str, ...]) -> Rulings:
    """`typed`: the text parts of a user's message."""
    message = "".join(typed)
    rules: list[Constraint] = []
    withdrawals: list[Withdrawal] = []
    in_task = False
    said = list(typed_sentences(typed))
    more = _ODDS_A_DOUBLING * math.log2(max(1, len(said)))
    for text, start, malus in said:
        # In a long text, what is short and of no known language is not tried in all of them: it bounds the work.
        judged = _judge(text, 2 if malus else None, in_task=in_task)
        score, best, marks = judged.score, judged.best, judged.marks
        is_rule = score - malus > _ENOUGH or (score - malus == _ENOUGH and best.may_rule(marks))
        taken = _taken_back(message, text, start, judged.readings, is_rule=is_rule)
        if not (is_rule or taken or best.is_sweeping) and knows(text, best.forms):
            is_whole = bool(best.subject) and text.count('"') % 2 == 0
            is_terse = score <= 0 and best.is_short_order
            due = _LIKELY + is_terse * _ODDS_IN_FEW_WORDS + more + malus * _ODDS_A_MALUS
            is_rule = is_whole and judged.rule_odds > due
            if not is_rule and judged.turn_odds > _MAY_TURN + more:
                is_own = without_foreign(message, start, start + len(text)) == text
                taken = [Withdrawal(text, best.subject, False, start, is_judged=True)] if is_own else []
        if is_rule and not is_quoted(message, start, start + len(text)):
            rules.append(best.rule(start))
        if not malus:
            withdrawals += taken
        in_task = in_task or any(reading.is_task for reading in judged.readings)
    return Rulings(tuple(rules), tuple(withdrawals))


@dataclass(frozen=True)
class _Judged:
    """A sentence, whatever message it stands in."""

    readings: tuple[Reading, ...]
    """By language, the likeliest first."""
    score: int
    best: Reading
    marks: tuple[str, ...]

    @functools.cached_property
    def rule_odds(self) -> float:
        return rule_odds(self.best.said, self.marks, self.best.forms)

    @functools.cached_property
    def turn_odds(self) -> float:
        return turn_odds(self.best.said, self.marks, self.best.forms)


@functools.lru_cache(maxsize=1_024)
def _judge(text: str, most_languages: int | None, *, in_task: bool) -> _Judged:
    """What is pasted repeats its lines, and a message is looked at again when a conversation is loaded."""
    readings = tuple(Reading.of(text, forms) for forms in languages_of(text)[:most_languages])
    score, best = _best(readings, in_task=in_task)
    return _Judged(readings, score, best, best.marks(score))


def _best(readings: Sequence[Reading], *, in_task: bool) -> tuple[int, Reading]:
    """A sentence as that language reads it in which it is likest a rule, and how much; of several the likeliest one."""
    scored = [(each.score(in_task), each) for each in readings]
    if len(scored) == 1:
        return scored[0]
    return max(scored, key=lambda each: (each[0], each[1].forms is language_of(each[1].said)))


def _taken_back(message: str, text: str, start: int, readings: Sequence[Reading], *, is_rule: bool) -> list[Withdrawal]:
    """What a sentence takes back in the user's own words: none of what is quoted in it, or passed on."""
    found = next(filter(None, (reading.withdrawals(start, is_rule=is_rule) for reading in readings)), [])
    if not found or (own := without_foreign(message, start, start + len(text))) == text:
        return found
    again = (Reading.of(own, forms, said=text) for forms in languages_of(own))
    return next(filter(None, (reading.withdrawals(start, is_rule=is_rule) for reading in again)), [])


def readers_version() -> str:
    """Of forms and models: what another one has found is to be looked for anew."""
    return f"{_FORMS_VERSION}.{features.FEATURES_VERSION}.{judging.version()}"


def detect(content: Content) -> tuple[Constraint, ...]:
    """The standing rules a message sets, in its order; empty for anything a user did not type."""
    return read_rulings(content).rules


def detect_withdrawals(content: Content) -> tuple[Withdrawal, ...]:
    """What a message takes back, in its order."""
    return read_rulings(content).withdrawals


@functools.lru_cache(maxsize=4_096)
def subject_words(text: str) -> tuple[str, ...]:
    """Stems of the words that say what a text is about, in its order, each once."""
    forms = languages_of(text)[0]
    return stems(_lead_in_stripped(plain(text), forms), forms)


@functools.lru_cache(maxsize=4_096)
def normal_form(text: str) -> tuple[str, ...]:
    """The words without lead-ins and scope, so that one rule said twice is known again."""
    forms = languages_of(text)[0]
    return tuple(word.lower() for word in WORD.findall(forms.scope.sub(" ", _lead_in_stripped(plain(text), forms))))


def as_rule(text: str) -> Constraint:
    """A statement as rules are compared, also where its form is not that of a rule."""
    return _as_rule(text[:LONGEST_SENTENCE])


def _exact_names(text: str) -> list[str]:
    return _EXACT.findall(_STYLE_NAME.sub(" ", text))


@functools.lru_cache(maxsize=4_096)
def _as_rule(text: str) -> Constraint:
    return _best([Reading.of(text, forms) for forms in languages_of(text)], in_task=False)[1].rule(0)


def typed_sentences(typed: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
    """Sentence, where it starts in the message's text, and how many marks it must have beyond enough.

    A scope that stands as a sentence of its own is taken together with the next one.
    """
    base = 0
    for part in typed:
        spans = list(sentences(part))
        n_typed = sum(end - start for start, end in spans)
        if len(spans) > _MOST_SENTENCES:
            spans = spans[: _MOST_SENTENCES // 2] + spans[-_MOST_SENTENCES // 2 :]
        malus = (n_typed > _LONG_TEXT) + (n_typed > _VERY_LONG_TEXT)
        scope_start: int | None = None
        for start, end in spans:
            if not _SHORTEST_SENTENCE <= end - start <= LONGEST_SENTENCE:
                continue
            if end - start <= 80 and _is_scope_alone(plain(part[start:end])):
                scope_start = start
                continue
            begin = start if scope_start is None or start - scope_start > 80 else scope_start
            scope_start = None
            yield part[begin:end], base + begin, malus + (end - start > _LONG_SENTENCE)
        base += len(part)


def _is_scope_alone(text: str) -> bool:
    return any(forms.scope_alone.fullmatch(_past_lead_in(text, forms)) for forms in languages_of(text))


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence as one language reads it."""

    said: str
    """The sentence as it was written."""
    text: str
    """On one line, with plain apostrophes, without what it quotes."""
    bare: str
    """Without what only introduces it."""
    clauses: tuple[str, ...]
    """The sentence from each place where a clause begins, without what introduces it; the whole first."""
    quoted: str
    """What it quotes."""
    forms: Forms

    @classmethod
    def of(cls, own: str, forms: Forms, *, said: str | None = None) -> Reading:
        """`own`: those words of the sentence that are read; all of what was said unless that is given."""
        said = own if said is None else said
        text = without_courtesy(" ".join(plain(own).split()))
        quoted = " ".join(_QUOTED.findall(said)) if _holds_quotes(said) else ""
        if quoted:
            text = _QUOTED.sub(" ", text)
        opened = _past_lead_in(text, forms)
        if (request := forms.usage.request.match(opened)) is not None:
            text = opened[request.end() :].rstrip("?\uff1f ")
        bare = _lead_in_stripped(text, forms)
        return cls(said, text, bare, (bare, *_later_clauses(text, bare, forms)), quoted, forms)

    @property
    def is_task(self) -> bool:
        """Whether it orders one thing to be made."""
        return any(form.match(self.bare) for form in (self.forms.task, self.forms.usage.made))

    @property
    def is_short_order(self) -> bool:
        """Whether it may order something of the one thing it names, and says no more."""
        is_of_one = self.forms.determined.match(self.bare) is not None or bool(_exact_names(self.text))
        return is_of_one and n_words(self.text) <= _FEW_WORDS

    @property
    def subject(self) -> tuple[str, ...]:
        """Stems of what it is about."""
        return stems(self.bare, self.forms)

    def marks(self, score: int) -> tuple[str, ...]:
        """What its form says, as the models see it."""
        taken = self.withdrawals(0, is_rule=score >= _ENOUGH)
        said = {
            "no statement": self.is_no_statement,
            "task": self.is_task,
            "takes back": bool(taken),
            "changes": self.is_changing,
            "exact": bool(_exact_names(self.text)),
        }
        return (f"score {min(max(score, 0), _ENOUGH + 1)}", *(mark for mark, holds in said.items() if holds))

    def may_rule(self, marks: Sequence[str]) -> bool:
        """Whether the words, of the sentence or of one of its clauses, do not speak against what its form says."""
        return any(rule_odds(said, marks, self.forms) > _SURELY_NOT for said in (self.said, *self.clauses))

    @property
    def is_answer(self) -> bool:
        """Whether it says yes to what was asked."""
        return self.forms.usage.assent.match(self.text) is not None

    @property
    def is_sweeping(self) -> bool:
        """Whether it waves away everything, about no subject: that takes back nothing."""
        return self.forms.sweeping.search(self.text) is not None

    @property
    def turned_to(self) -> tuple[str, ...]:
        """Stems of the choice that stands alone behind a word of change; none where it is not known for a choice."""
        rivals = frozenset[str]().union(*rivals_of(self.forms))
        for clause in (self.text, *self.clauses):
            if (match := self.forms.turned.match(clause)) is not None and n_words(match["what"]) <= _LONGEST_CHOICE:
                words = stems(match["what"], self.forms)
                if rivals & set(words):
                    return words
        return ()

    @property
    def is_no_statement(self) -> bool:
        """A question, a guess, a report, a story."""
        forms, bare = self.forms, self.bare
        closing = self.text.rstrip("\"')* \u00bb\u201d")
        return (
            closing.endswith(("?", "\uff1f"))
            or "\u00bf" in self.text
            or forms.asked.match(bare) is not None
            or forms.told.match(bare) is not None
            or forms.told_within.search(self.text) is not None
        )

    def rule(self, start: int) -> Constraint:
        """The sentence as a rule that starts there in its message."""
        forms, text = self.forms, self.text
        rejected = tuple(
            stem
            for pattern in forms.rejected
            for match in pattern.finditer(text)
            for stem in stems(match[match.lastindex or 0], forms)
        )
        negative = any(self._is_negative(clause) for clause in self.clauses)
        chosen = next(
            (match for clause in self.clauses for form in forms.chosen if (match := form.search(clause))), None
        )
        what: tuple[str, ...] = self.turned_to
        purpose: tuple[str, ...] = ()
        if what:
            chosen = None
        if chosen is not None and not negative:
            what, purpose = stems(chosen["what"], forms), stems(chosen["purpose"] or "", forms)
        return Constraint(
            self.said,
            start,
            start + len(self.said),
            self.turned_to or stems(self.bare, forms),
            negative,
            rejected,
            bool(self.turned_to) or forms.change.search(text) is not None,
            bool(self.turned_to) or forms.instead.search(text) is not None,
            what,
            tuple(word for word in purpose if word not in what),
            any(forms.choice.match(clause) for clause in self.clauses),
        )

    def withdrawals(self, start: int, *, is_rule: bool) -> list[Withdrawal]:
        """What it takes back, at most one rule or choice a clause. What a rule turns down the rule itself says."""
        is_tale = self.forms.tale.search(self.text) is not None and not self.forms.withdrawn.match(self.bare)
        if self.is_no_statement or is_tale or self.is_sweeping:
            return []
        found: list[Withdrawal] = []
        for clause in self.clauses:
            if (taken := self._withdrawal(clause, start)) is not None and taken not in found:
                found.append(taken)
        if not found and not is_rule and not self.is_task:
            for pattern in self.forms.rejected:
                for match in pattern.finditer(self.text):
                    if words := stems(match[match.lastindex or 0], self.forms):
                        found.append(Withdrawal(self.said, words, False, start, drops=True))
        return found

    def _withdrawal(self, clause: str, start: int) -> Withdrawal | None:
        forms = self.forms
        whole = self.said
        if (taken := self._takes_back(clause)) is not None:
            words, permits, drops = taken
            return Withdrawal(whole, words, permits, start, drops=drops)
        if (permits := forms.permitted.match(clause) is not None) or forms.withdrawn.match(clause):
            following = forms.clause.search(clause)
            head = clause[: following.start()] if following else clause
            words = stems(forms.about.sub(" ", head), forms) or stems(forms.about.sub(" ", clause), forms)
            words = words or stems(forms.about.sub(" ", self.quoted), forms)
            if words or (not permits and forms.rule_noun.search(clause)):
                return Withdrawal(whole, words, permits, start)
            return None
        if forms.abandoned.match(clause):
            following = forms.clause.search(clause)
            head = clause[: following.start()] if following else clause
            if words := stems(forms.about.sub(" ", head), forms):
                return Withdrawal(whole, words, False, start)
        for pattern in forms.dropped:
            if match := pattern.match(clause):
                words = stems(match[match.lastindex or 0], forms)
                return Withdrawal(whole, words, False, start, drops=True) if words else None
        if (match := forms.unnamed.match(clause)) is not None and n_words(clause[match.end() :]) == 0:
            return Withdrawal(whole, (), False, start, is_near=True)
        return None

    def _takes_back(self, clause: str) -> tuple[tuple[str, ...], bool, bool] | None:
        """Stems of what a clause takes back by its grammar, whether it allows that, whether it gives a choice up."""
        usage = self.forms.usage
        kinds = ((usage.freed, True, False), (usage.unneeded, False, False), (usage.ended, False, True))
        for patterns, permits, drops in kinds:
            for pattern in patterns:
                match = pattern.match(clause)
                if match is None or (drops and self.forms.rule_noun.search(clause)):
                    continue
                if words := stems(match["what"], self.forms):
                    return words, permits, drops
        return None

    def score(self, in_task: bool) -> int:
        """How much the form of the sentence is that of a standing rule."""
        forms, text, bare = self.forms, self.text, self.bare
        if self.is_no_statement or forms.withdrawn.match(bare) or forms.sweeping.match(bare):
            return 0
        if n_words(bare) < 2 and not self.turned_to:
            return 0
        if forms.usage.past.search(text) or forms.usage.made.match(bare):
            return 0
        if (taken := self._takes_back(bare)) is not None and not taken[2] and not self._is_negative(bare):
            return 0
        if self.is_task and (relative := forms.relative.search(bare)) is not None:
            # What must hold of the thing that is to be made.
            return Reading.of(bare[: relative.start()], forms).score(in_task)
        if self.turned_to:
            return _ENOUGH + 1
        marks, is_lasting = max(
            (self._clause_marks(clause, in_task), forms.once.search(self._thought_of(clause)) is None)
            for clause in self.clauses
        )
        is_order = _verb(bare, forms) in forms.habits | forms.actions
        scope = 2 if forms.scope.search(text) and (marks >= 2 or is_order) else 0
        # A scope alone is talk about time; with an order it makes a rule.
        marks = max(marks, 1 if scope else 0)
        if marks == 0:
            return 0
        n_exact = len(_exact_names(forms.aside.split(text, maxsplit=1)[0]))
        is_once = not forms.usage.barred.match(bare) and (
            not is_lasting or (marks < 3 and forms.usage.momentary.search(bare))
        )
        once = 2 if is_once and not scope else 0
        return marks + scope - min(n_exact // 2 if marks >= 2 else n_exact, 2) - once

    def _thought_of(self, clause: str) -> str:
        """The sentence from the last break before the clause that begins another thought."""
        start = len(self.bare) - len(clause)
        if not self.bare.endswith(clause):
            return self.bare
        return self.bare[max((match.end() for match in _BREAK.finditer(self.bare, 0, start + 1)), default=0) :]

    def _clause_marks(self, clause: str, in_task: bool) -> int:
        """The marks of a clause, which runs to the end of its sentence."""
        forms = self.forms
        verb = _verb(clause, forms)
        is_whole = clause == self.bare and not self.is_task and not forms.one_thing.match(clause)
        head = forms.purpose.split(clause, maxsplit=1)[0]
        is_pointed = forms.pointed.match(head if n_words(head) >= 2 else clause) is not None
        if self.is_task and n_words(clause) <= 2:
            return 0
        if in_task and is_whole and forms.owed_bare.match(clause):
            return 0
        if clause != self.bare and n_words(clause) <= _LONGEST_ELABORATION:
            is_kind = forms.no_kind.match(clause) or forms.always.match(clause)
            if forms.forbid.match(clause) and not is_kind:
                return 0
        if forms.always.match(clause) or (
            is_whole and forms.always_we.search(clause) and not forms.tale.search(clause)
        ):
            return 3
        if is_whole and not is_pointed and (forms.usage.habitual.match(clause) or forms.usage.barred.match(clause)):
            return 2
        if forms.forbid.match(clause) or forms.forbid_we.match(clause) or (is_whole and forms.forbid_we.search(clause)):
            return 1 if is_pointed and not forms.forbid_we.search(clause) else 2
        if (
            (is_whole or _verb(self.bare, forms) in forms.habits or forms.heading.match(self.bare))
            and forms.no_kind.fullmatch(clause)
            and n_words(clause) <= 10
        ):
            return 2
        if (forms.decided.match(clause) and not is_pointed) or forms.abandoned.match(clause):
            return 2
        if is_whole and not forms.tale.search(clause) and forms.owed_bare.match(clause):
            return 2
        if is_whole and forms.owed_kind.match(clause) and forms.owed.search(clause):
            return 2
        if (is_whole or self.is_changing) and not self.is_task and forms.standing.match(clause):
            return 2
        is_scoped = forms.opening_scope.match(_past_lead_in(self.text, forms)) is not None
        if (self.is_changing or is_scoped) and not self.is_task and forms.restated.match(clause):
            return 2
        if forms.condition.match(clause) and self._has_order(clause):
            return 2
        if is_pointed:
            return 0
        if verb in forms.habits:
            order = forms.aside.split(clause, maxsplit=1)[0]
            if self.is_task:
                return 2 if forms.each.search(order) else 1
            object_ = forms.purpose.split(order, maxsplit=1)[0]
            object_ = object_ if n_words(object_) >= 2 else order
            is_unspecific = not forms.specific.search(object_) and not set(order) & set("@/")
            is_bare_kind = is_unspecific and verb in forms.styles and n_words(order) <= 8 and not self.is_answer
            is_weak_kind = forms.weak_kind.search(order) and not forms.determined.match(order)
            return 2 if is_bare_kind or is_weak_kind or forms.kind.search(order) or forms.each.search(order) else 1
        return 2 if verb in forms.actions and forms.each.search(clause) else 0

    @property
    def is_changing(self) -> bool:
        return self.forms.change.search(self.text) is not None or any(
            pattern.match(self.bare) for pattern in self.forms.dropped
        )

    def _has_order(self, clause: str) -> bool:
        """Whether a condition is followed by an order."""
        forms = self.forms
        rests = [_lead_in_stripped(clause[match.end() :], forms) for match in forms.clause.finditer(clause)]
        if rests and forms.order_after_condition.match(rests[0]):
            return True
        return any(
            _verb(rest, forms) in forms.habits | forms.actions or forms.forbid.match(rest) or forms.always.match(rest)
            for rest in rests
        )

    def _is_negative(self, clause: str) -> bool:
        forms = self.forms
        beginnings = (forms.forbid, forms.no_kind, forms.abandoned, forms.usage.barred)
        return any(pattern.match(clause) for pattern in beginnings) or any(
            pattern.search(clause) for pattern in (forms.forbid_we, forms.negative)
        )


def _later_clauses(text: str, bare: str, forms: Forms) -> Iterator[str]:
    for match in itertools.islice(forms.clause.finditer(text), _MOST_CLAUSES):
        rest = _lead_in_stripped(text[match.end() :], forms)
        is_quoted = text.count('"', 0, match.end()) % 2
        if not is_quoted and n_words(rest) >= 2 and rest != bare:
            yield rest


def _holds_quotes(text: str) -> bool:
    return any(mark in text for mark in '"\u201c\u201e\u00ab\u2018\u300c')


def _past_lead_in(text: str, forms: Forms) -> str:
    bare = text.lstrip("\"'*_([ \u00a1")
    while (match := forms.lead_in.match(bare) or forms.unnamed.match(bare) or forms.usage.plea.match(bare)) is not None:
        rest = bare[match.end() :].lstrip(" ,.:;!\u2013\u2014-\uff0c\u3002\uff1a\uff1b\u3001\uff01")
        if not rest:
            break
        bare = rest
    return bare


def _lead_in_stripped(text: str, forms: Forms) -> str:
    """The sentence without what only introduces it, a scope that opens it included."""
    bare = _past_lead_in(text, forms)
    while (match := forms.opening_scope.match(bare)) is not None and match.end() < len(bare):
        bare = _past_lead_in(bare[match.end() :], forms)
    return bare


def _verb(text: str, forms: Forms) -> str:
    """The first word, without the pronoun that is joined to it where without it is an order."""
    match = WORD.search(text)
    word = match[0].lower() if match else ""
    orders = forms.habits | forms.actions
    if word in orders or forms.enclitic is NOTHING:
        return word
    bare = forms.enclitic.sub("", word)
    return next((each for each in (bare, bare.translate(_UNACCENTED)) if each in orders), word)


_UNACCENTED: Final = str.maketrans("áéíóú", "aeiou")
