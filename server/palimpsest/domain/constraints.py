"""Standing rules, found by the form of a sentence: what a user typed that is meant to hold on.

Pure and deterministic; for English. What is found is an exact piece of the message, never a paraphrase. A rule speaks
of kinds and of always, an order of one exact thing and of now; the marks of both are added up, and what reaches
`_ENOUGH` is a rule. Only what the user typed counts: no code, quotes, transcripts, tool output or attachments, and no
questions. Where it is a near thing, a sentence in a long paste is not a rule. `rule_forms` holds the forms.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from palimpsest.domain import rule_forms as forms
from palimpsest.domain.messages import Content, Role, TextPart
from palimpsest.domain.typed_text import sentences

RULES_VERSION: Final = 2
"""Grows whenever a message may be read in another way than before: results stored with a smaller one are void."""
_ENOUGH: Final = 2
_LONG_TEXT, _VERY_LONG_TEXT, _LONG_SENTENCE = 3_000, 10_000, 400
"""Characters above which a text is likelier pasted, a sentence likelier a story."""
_LONGEST_SENTENCE: Final = 1_000
"""Characters above which nothing is a rule; it also bounds the work."""


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
    """Stems of what it turns down in favour of something else, as in "yarn instead of npm"."""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A sentence that takes rules back."""

    text: str
    subject_words: tuple[str, ...]
    """Empty: the newest rule is meant."""
    permits: bool
    """It allows something again, so it can only take back a prohibition."""


@dataclass(frozen=True, slots=True)
class Rulings:
    """What one message rules and takes back; false where it does neither."""

    rules: tuple[Constraint, ...]
    """In the order of the message."""
    withdrawals: tuple[Withdrawal, ...]
    """In the order of the message."""

    def __bool__(self) -> bool:
        return bool(self.rules or self.withdrawals)


_WORD = re.compile(r"[^\W_]+(?:['_-][^\W_]+)*")


def read_rulings(content: Content) -> Rulings:
    """What the user rules and takes back in a message: a pure function of it and of `RULES_VERSION`."""
    return Rulings(detect(content), detect_withdrawals(content))


def detect(content: Content) -> tuple[Constraint, ...]:
    """The standing rules a message sets, in its order; empty for anything a user did not type."""
    found: list[Constraint] = []
    for text, start, malus in _typed_sentences(content):
        plain = _plain(text)
        if _score(plain) - malus >= _ENOUGH:
            rejected = tuple(_stem(word) for match in forms.REJECTED.findall(plain) for word in _content_words(match))
            negative = any(_is_negative(clause) for clause in _clauses(plain))
            found.append(Constraint(text, start, start + len(text), subject_words(text), negative, rejected))
    return tuple(found)


def detect_withdrawals(content: Content) -> tuple[Withdrawal, ...]:
    """The sentences of a message that take rules back, in its order."""
    found: list[Withdrawal] = []
    for text, _, _ in _typed_sentences(content):
        if len(text) > _LONGEST_SENTENCE:
            continue
        clause = _lead_in_stripped(_plain(text))
        permits = forms.PERMITTED.match(clause) is not None
        if permits or forms.TAKEN_BACK.match(clause) or forms.ABANDONED.match(clause):
            words = subject_words(forms.ABOUT.sub(" ", clause))
            if words or not permits:
                found.append(Withdrawal(text, words, permits))
    return tuple(found)


@functools.lru_cache(maxsize=4_096)
def subject_words(text: str) -> tuple[str, ...]:
    """Stems of the words that say what a text is about, in its order, each once."""
    return tuple(dict.fromkeys(_stem(word) for word in _content_words(_lead_in_stripped(_plain(text)))))


@functools.lru_cache(maxsize=4_096)
def normal_form(text: str) -> tuple[str, ...]:
    """The words without lead-ins and scope, so that one rule said twice is known again."""
    return tuple(word.lower() for word in _WORD.findall(forms.SCOPE.sub(" ", _lead_in_stripped(_plain(text)))))


def _plain(text: str) -> str:
    """The text with plain apostrophes; as long as before."""
    return text.replace("\u2019", "'")


def _typed_sentences(content: Content) -> Iterator[tuple[str, int, int]]:
    """Sentence, where it starts in the message's text, and how many marks it must have beyond enough.

    A scope that stands as a sentence of its own is taken together with the next one.
    """
    if content.role is not Role.USER:
        return
    base = 0
    for part in content.parts:
        if not isinstance(part, TextPart):
            continue
        spans = list(sentences(part.text))
        n_typed = sum(end - start for start, end in spans)
        malus = (n_typed > _LONG_TEXT) + (n_typed > _VERY_LONG_TEXT)
        scope_start: int | None = None
        for start, end in spans:
            if forms.SCOPE_ALONE.fullmatch(_past_lead_in(_plain(part.text[start:end]))):
                scope_start = start
                continue
            begin = start if scope_start is None or start - scope_start > 80 else scope_start
            scope_start = None
            yield part.text[begin:end], base + begin, malus + (end - start > _LONG_SENTENCE)
        base += len(part.text)


def _score(text: str) -> int:
    """How much the form of a sentence is that of a standing rule."""
    if len(text) > _LONGEST_SENTENCE:
        return 0
    bare = _lead_in_stripped(text)
    if text.rstrip("\"')* ").endswith("?") or forms.ASKED.match(bare) or forms.TAKEN_BACK.match(bare):
        return 0
    if forms.OPINION.match(bare) or len(_WORD.findall(bare)) < 2:
        return 0
    marks = max(_clause_marks(clause, bare) for clause in _clauses(text))
    is_order = _first_word(bare) in forms.HABITS | forms.ACTIONS
    scope = 2 if forms.SCOPE.search(text) and (marks >= 2 or is_order) else 0
    # A scope alone is talk about time; with an order it makes a rule.
    marks = max(marks, 1 if scope else 0)
    if marks == 0:
        return 0
    n_exact = len(forms.EXACT.findall(forms.ASIDE.split(text, maxsplit=1)[0]))
    once = 2 if forms.ONCE.search(text) and not scope else 0
    return marks + scope - min(n_exact // 2 if marks >= 2 else n_exact, 2) - once


def _clause_marks(clause: str, sentence: str) -> int:
    """The marks of a clause, which runs to the end of its sentence."""
    verb = _first_word(clause)
    is_whole = clause == sentence
    is_pointed = forms.POINTED.match(clause) is not None
    if forms.ALWAYS.match(clause) or (is_whole and forms.ALWAYS_WE.search(clause) and not forms.TALE.search(clause)):
        return 3
    if forms.FORBID.match(clause) or (is_whole and forms.FORBID_WE.search(clause)):
        return 1 if is_pointed and not forms.FORBID_WE.search(clause) else 2
    if is_whole and forms.NO_KIND.fullmatch(clause) and len(_WORD.findall(clause)) <= 10:
        return 2
    if (forms.DECIDED.match(clause) and not is_pointed) or forms.ABANDONED.match(clause):
        return 2
    if is_whole and forms.OWED_KIND.match(clause) and forms.OWED.search(clause):
        return 2
    if forms.CONDITION.match(clause) and _has_order(clause):
        return 2
    if is_pointed:
        return 0
    if verb in forms.HABITS:
        order = forms.ASIDE.split(clause, maxsplit=1)[0]
        is_unspecific = not forms.SPECIFIC.search(order) and not set(order) & set("@/")
        is_bare_kind = is_unspecific and verb in forms.STYLES and len(_WORD.findall(order)) <= 8
        is_weak_kind = forms.WEAK_KIND.search(order) and not forms.DETERMINED.match(order)
        return 2 if is_bare_kind or is_weak_kind or forms.KIND.search(order) or forms.EACH.search(order) else 1
    return 2 if verb in forms.ACTIONS and forms.EACH.search(clause) else 0


def _has_order(clause: str) -> bool:
    """Whether a condition is followed by an order."""
    rests = [_lead_in_stripped(clause[match.end() :]) for match in forms.CLAUSE.finditer(clause)]
    if rests and forms.ORDER_AFTER_CONDITION.match(rests[0]):
        return True
    return any(
        _first_word(rest) in forms.HABITS | forms.ACTIONS or forms.FORBID.match(rest) or forms.ALWAYS.match(rest)
        for rest in rests
    )


def _clauses(text: str) -> Iterator[str]:
    """The sentence from each place where a clause begins, lead-ins stripped; the whole first."""
    yield _lead_in_stripped(text)
    for match in forms.CLAUSE.finditer(text):
        rest = _lead_in_stripped(text[match.end() :])
        is_quoted = text.count('"', 0, match.end()) % 2
        if not is_quoted and len(_WORD.findall(rest)) >= 2:
            yield rest


def _is_negative(clause: str) -> bool:
    beginnings = (forms.FORBID, forms.NO_KIND, forms.ABANDONED)
    return any(form.match(clause) for form in beginnings) or any(
        form.search(clause) for form in (forms.FORBID_WE, forms.NEGATIVE)
    )


def _past_lead_in(text: str) -> str:
    bare = text.lstrip("\"'*_([ ")
    match = forms.LEAD_IN.match(bare)
    return bare[match.end() :] if match and match.end() < len(bare) else bare


def _lead_in_stripped(text: str) -> str:
    """The sentence without what only introduces it, a scope that opens it included."""
    bare = _past_lead_in(text)
    while (match := forms.OPENING_SCOPE.match(bare)) is not None and match.end() < len(bare):
        bare = _past_lead_in(bare[match.end() :])
    return bare


def _first_word(text: str) -> str:
    match = _WORD.search(text)
    return match[0].lower() if match else ""


def _content_words(text: str) -> list[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return [word for word in words if word not in forms.STOP and not word.endswith(("n't", "'s", "'ll", "'re"))]


def _stem(word: str) -> str:
    """A crude stem: enough to know "tabs" for "tab" and "commits" for "committing"."""
    for suffix in ("ations", "ation", "ings", "ing", "ied", "ies", "ed", "es", "s", "e"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            stem = word[: -len(suffix)] + ("y" if suffix in ("ied", "ies") else "")
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and suffix in ("ing", "ed") else stem
    return word
