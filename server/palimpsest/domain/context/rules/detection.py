"""The rules that a message of the user sets and takes back: which of its sentences are taken for either.

Pure and deterministic. A rule is an exact piece of the message, never a paraphrase. Only what the user typed counts: no
code, quotes, transcripts, tool output or attachments. A sentence is read in the language of most of its words
(`reading`), gets a score for its form (`scoring`, `withdrawals`), and a trained model weighs that with its words
(`judgment`). Where it is a near thing, a sentence in a long paste is not a rule. Rule sets and facts both rest on this.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.rules import features, judgment
from palimpsest.domain.context.rules.forms import LONGEST_SENTENCE, compile_patterns
from palimpsest.domain.context.rules.languages import WITH_SPACES, languages_of
from palimpsest.domain.context.rules.own_words import is_quoted, without_foreign
from palimpsest.domain.context.rules.reading import Reading
from palimpsest.domain.context.rules.rulings import Rule, Rulings, Withdrawal
from palimpsest.domain.context.rules.scoring import BOUND, ENOUGH, TRANSIENT, marks_of, score, surroundings_of
from palimpsest.domain.context.rules.sentence_parts import LONG_TEXT, typed_sentences
from palimpsest.domain.context.rules.surroundings_words import SURROUNDINGS
from palimpsest.domain.context.rules.withdrawals import withdrawals
from palimpsest.domain.messages import Content, Role, TextPart

_FORMS_VERSION: Final = 16
"""To be raised when the code reads any message in another way than before."""
_SURELY_NOT: Final = -1.7
"""Log odds up to which the words of a sentence overrule a form that is just enough."""
_LIKELY: Final = 0.5
"""Log odds above which a sentence is a rule whatever its form. `benchmarks/rules/train.py` says how thresholds were
chosen."""
_LIKELY_STATEMENT: Final = -0.3
"""The same for a sentence whose form may be that of a norm (`Usage.norms`), and for one that may state a lasting bound
of the surroundings (`scoring.BOUND`)."""
_ODDS_OF_TRANSIENT: Final = 0.5
"""Added to `_LIKELY` for a sentence of the moment or of the past whose form says nothing."""
_ODDS_OF_TERSE: Final = 1.6
"""Added to `_LIKELY` for a short order about one thing whose form says nothing: most are orders of now, and one unusual
word weighs much."""
_ODDS_OF_DROPPED: Final = 2.0
"""Added for a sentence that gives a choice up: few of these also set a rule."""
_ODDS_A_DOUBLING: Final = 2.0
"""Added each time that a message has twice as many sentences: few of many are rules."""
_ODDS_A_MALUS: Final = 2.0
"""Added for each mark that is needed beyond enough."""
_MAY_TURN: Final = -2.0
"""Log odds above which a sentence is held against the rules before it."""
_LANGUAGES_OF_A_PASTE: Final = 2
"""Languages in which a sentence of a long text is read, which bounds the work."""


@functools.cache
def compile_languages() -> None:
    """Compiles, once, the patterns of all languages that a sentence of words between spaces may be in, so that no
    message waits for it. Takes a third of a second, for a thread."""
    for forms in WITH_SPACES:
        compile_patterns(forms)
        compile_patterns(SURROUNDINGS[forms.name])


def read_rulings(content: Content) -> Rulings:
    """The rules that a message sets and takes back: a pure function of the message and of `readers_version`.

    Empty for a message that is not the user's.
    """
    if content.role is not Role.USER:
        return Rulings((), ())
    typed = tuple(part.text for part in content.parts if isinstance(part, TextPart))
    return _remembered(typed) if sum(map(len, typed)) <= LONG_TEXT else _read(typed)


def detect(content: Content) -> tuple[Rule, ...]:
    """The rules a message sets, in its order."""
    return read_rulings(content).rules


def detect_withdrawals(content: Content) -> tuple[Withdrawal, ...]:
    """What a message takes back, in its order."""
    return read_rulings(content).withdrawals


def as_rule(text: str) -> Rule:
    """A statement in the form in which rules are compared, whether or not it is a rule."""
    return _as_rule(text[:LONGEST_SENTENCE])


def readers_version() -> str:
    """The version of forms and models together: what another version has found is out of date."""
    return f"{_FORMS_VERSION}.{features.FEATURES_VERSION}.{judgment.version()}"


@functools.lru_cache(maxsize=1_024)
def _as_rule(text: str) -> Rule:
    return _best([Reading.of(text, forms) for forms in languages_of(text)], in_task=False)[1].rule(0)


@functools.lru_cache(maxsize=256)
def _remembered(typed: tuple[str, ...]) -> Rulings:
    """A message is read for the rules of its conversation and again for facts."""
    return _read(typed)


def _read(typed: tuple[str, ...]) -> Rulings:
    """`typed`: the text parts of a user's message."""
    message = "".join(typed)
    rules: list[Rule] = []
    taken_back: list[Withdrawal] = []
    in_task = False
    said = list(typed_sentences(typed))
    more = _ODDS_A_DOUBLING * math.log2(max(1, len(said)))
    for text, start, malus in said:
        judged = _judge(text, _LANGUAGES_OF_A_PASTE if malus else None, in_task=in_task)
        best, surplus = judged.best, judged.score - malus - ENOUGH
        if best.asks_for_thought:
            continue
        is_rule = surplus > 0 or (surplus == 0 and judged.may_rule)
        taken = _taken_back(message, text, start, judged.readings, is_rule=is_rule)
        may_be = not (is_rule or best.is_sweeping) and all(each.drops for each in taken)
        if may_be and judgment.knows(text, best.forms):
            is_whole = bool(best.subject) and text.count('"') % 2 == 0
            is_terse = judged.score <= 0 and best.is_short_order
            due = judged.likely + more + malus * _ODDS_A_MALUS
            due += is_terse * _ODDS_OF_TERSE + bool(taken) * _ODDS_OF_DROPPED
            is_rule = is_whole and judged.rule_odds > due
            if not (is_rule or taken) and judged.turn_odds > _MAY_TURN + more:
                is_own = without_foreign(message, start, start + len(text)) == text
                taken = [Withdrawal(text, best.subject, False, start, is_judged=True)] if is_own else []
        if is_rule and not is_quoted(message, start, start + len(text)):
            rules.append(best.rule(start))
        if not malus:
            taken_back += taken
        in_task = in_task or any(reading.is_task for reading in judged.readings)
    return Rulings(tuple(rules), tuple(taken_back))


@dataclass(frozen=True)
class _Judged:
    """A sentence apart from its message."""

    readings: tuple[Reading, ...]
    """One a language, the likeliest language first."""
    score: int
    best: Reading
    """The reading with the highest score."""
    marks: tuple[str, ...]
    surroundings: tuple[str, ...]

    @property
    def may_rule(self) -> bool:
        """The words of the sentence, or of one of its clauses, do not overrule its form."""
        if self.rule_odds > _SURELY_NOT:
            return True
        # What the whole sentence tells of the surroundings need not hold of a clause.
        return any(judgment.rule_odds(each, self.marks, self.best.forms) > _SURELY_NOT for each in self.best.clauses)

    @property
    def likely(self) -> float:
        """Log odds above which the sentence is a rule whatever its form, where it is alone in its message."""
        if self.score <= 0 and TRANSIENT in self.surroundings:
            return _LIKELY + _ODDS_OF_TRANSIENT
        return _LIKELY_STATEMENT if self.best.is_norm or BOUND in self.surroundings else _LIKELY

    @functools.cached_property
    def rule_odds(self) -> float:
        return judgment.rule_odds(self.best.said, self._seen, self.best.forms)

    @property
    def _seen(self) -> tuple[str, ...]:
        return self.marks + self.surroundings

    @functools.cached_property
    def turn_odds(self) -> float:
        return judgment.turn_odds(self.best.said, self.marks, self.best.forms)


@functools.lru_cache(maxsize=1_024)
def _judge(text: str, most_languages: int | None, *, in_task: bool) -> _Judged:
    """Remembered, because a paste repeats its lines, and a message is read again when a conversation is loaded."""
    readings = tuple(Reading.of(text, forms) for forms in languages_of(text)[:most_languages])
    scored, best = _best(readings, in_task=in_task)
    return _Judged(readings, scored, best, marks_of(best, scored), surroundings_of(best))


def _best(readings: Sequence[Reading], *, in_task: bool) -> tuple[int, Reading]:
    """The highest score and the reading that has it; of several the one in the likeliest language."""
    scored = [(score(each, in_task=in_task), each) for each in readings]
    if len(scored) == 1:
        return scored[0]
    return max(scored, key=lambda each: (each[0], each[1].forms is judgment.language_of(each[1].said)))


def _taken_back(message: str, text: str, start: int, readings: Sequence[Reading], *, is_rule: bool) -> list[Withdrawal]:
    """What a sentence takes back in the user's own words: nothing that is quoted in it or passed on."""
    found = _first_taken(readings, is_rule=is_rule)
    if found and (own := without_foreign(message, start, start + len(text))) != text:
        found = _first_taken((Reading.of(own, forms, said=text) for forms in languages_of(own)), is_rule=is_rule)
    return [replace(each, start=start) for each in found]


def _first_taken(readings: Iterable[Reading], *, is_rule: bool) -> tuple[Withdrawal, ...]:
    return next(filter(None, (withdrawals(reading, is_rule=is_rule) for reading in readings)), ())
