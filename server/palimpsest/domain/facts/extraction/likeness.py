"""An index of statements: it finds those that say the same, and those that cannot both hold, without comparing all with
all."""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from palimpsest.domain.context.rules.detection import as_rule
from palimpsest.domain.context.rules.languages import LANGUAGES
from palimpsest.domain.context.rules.rulings import Rule, Withdrawal
from palimpsest.domain.context.rules.sentence_parts import normal_form, subject_words
from palimpsest.domain.context.rules.supersession import Nearness, ends, nearness, supersedes
from palimpsest.domain.facts.fact import Evidence, Fact, FactType
from palimpsest.domain.messages import ConversationId, MessageId

SAME_SHARE: Final = 0.8
"""The share of common stems from which on two statements say the same, when their names and numbers are equal too."""
RULINGS: Final = frozenset({FactType.CONSTRAINT, FactType.DECISION, FactType.PINNED})
_MOST_COMPARED: Final = 40
"""Statements that are compared in full for one question."""
_MOST_LISTED: Final = 400
"""The newest statements of one word, so that a word of every statement costs no more than a rare one."""
_SHORT_RULE: Final = 3
"""Words. Rules as short as "use spaces" may contradict each other without a common word."""
_STEM_CHARS: Final = 3
"""Words of one stem (`sentence_parts.subject_words`) have so many first letters in common."""
_WORD = re.compile(r"[^\W_\u4e00-\u9fff]+|(?=([\u4e00-\u9fff]{2}))")
_SMALL_WORDS: Final = frozenset[str]().union(*(forms.stop for forms in LANGUAGES))
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_NEGATION = re.compile(r"\b(?:no|not|never|none|without|cannot|avoid|stop|\w+n't)\b", re.I)


class Said(Protocol):
    """The message in which something was said."""

    @property
    def conversation_id(self) -> ConversationId: ...
    @property
    def message_id(self) -> MessageId: ...


@dataclass(slots=True)
class LikenessIndex:
    """Statements by their words, under the caller's keys. The last one that was added is the newest.

    Adding is cheap: only the few statements that a question has to compare are stemmed.
    """

    _facts: dict[int, Fact] = field(default_factory=dict)
    _said: dict[int, Evidence | None] = field(default_factory=dict)
    _by_form: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)
    _by_root: dict[tuple[str, str], dict[int, None]] = field(default_factory=dict)
    _roots: dict[int, frozenset[str]] = field(default_factory=dict)
    _short: dict[int, None] = field(default_factory=dict)
    _rulings: dict[ConversationId, dict[int, MessageId]] = field(default_factory=dict)
    """Constraints and decisions by conversation, with their messages."""

    def add(self, key: int, fact: Fact, said: Evidence | None = None) -> None:
        """`said`: the evidence of the statement."""
        kind, words = _kind(fact), _words(fact.content)
        roots = _roots_of(words)
        self._facts[key], self._said[key], self._roots[key] = fact, said, roots
        self._by_form.setdefault((kind, words), key)
        for root in roots:
            self._by_root.setdefault((kind, root), {})[key] = None
        if fact.fact_type in RULINGS and len(roots) <= _SHORT_RULE:
            self._short[key] = None
        if said is not None and fact.fact_type in RULINGS - {FactType.PINNED}:
            self._rulings.setdefault(said.conversation_id, {})[key] = said.message_id

    def remove(self, key: int) -> None:
        fact = self._facts.pop(key)
        if (said := self._said.pop(key)) is not None:
            self._rulings.get(said.conversation_id, {}).pop(key, None)
        kind, words = _kind(fact), _words(fact.content)
        if self._by_form.get((kind, words)) == key:
            del self._by_form[kind, words]
        for root in self._roots.pop(key):
            self._by_root[kind, root].pop(key, None)
        self._short.pop(key, None)

    def holds(self, key: int) -> bool:
        return key in self._facts

    def same(self, fact: Fact) -> int | None:
        """A statement of the same kind that says the same; None when there is none."""
        kind, words = _kind(fact), _words(fact.content)
        if (twin := self._by_form.get((kind, words))) is not None:
            return twin
        roots = _roots_of(words)
        # A statement that shares so many of n words has one of any n - needed + 1 of them: the rarest are looked up.
        rarest = sorted(roots, key=lambda root: (len(self._by_root.get((kind, root), ())), root))
        near: dict[int, None] = {}
        for root in rarest[: len(roots) - math.ceil(SAME_SHARE * len(roots)) + 1]:
            near.update(dict.fromkeys(self._newest(kind, root)))
        for key in self._nearest(near, roots):
            if _says_same(fact, self._facts[key]):
                return key
        return None

    def contradicted(self, fact: Fact, said: Evidence | None = None) -> tuple[int, ...]:
        """The constraints and decisions that a fact replaces, the oldest first."""
        rule = _rule(fact, said)
        newest = self._newest_before(said) if fact.fact_type in RULINGS else None
        rivals = self._rivals(fact)
        return tuple(
            key
            for key in (rivals if newest is None else sorted({*rivals, newest}))
            if supersedes(rule, self._rule(key), self._nearness(key, said, newest))
        )

    def contradicting(self, fact: Fact, said: Evidence | None = None) -> tuple[int, ...]:
        """The constraints and decisions that replace a fact, the oldest first."""
        rule = _rule(fact, said)
        return tuple(
            key for key in self._rivals(fact) if supersedes(self._rule(key), rule, _nearness(said, self._said[key]))
        )

    def ended(self, withdrawal: Withdrawal, said: Said) -> tuple[int, ...]:
        """The constraints and decisions that the words of a withdrawal name, the oldest first. `said`: the message of
        the withdrawal."""
        roots = {stem[:_STEM_CHARS] for stem in withdrawal.subject_words}
        near = dict.fromkeys(key for root in sorted(roots) for key in self._newest("ruling", root))
        if (newest := self._newest_before(said)) is not None:
            near[newest] = None
        return tuple(
            key
            for key in sorted(near)
            if self._facts[key].fact_type is not FactType.PINNED
            and ends(withdrawal, self._rule(key), self._nearness(key, said, newest))
        )

    def _nearness(self, key: int, later: Said | None, newest: int | None) -> Nearness:
        return _nearness(self._said[key], later, is_newest=key == newest)

    def _newest_before(self, later: Said | None) -> int | None:
        """The last ruling of the conversation before a message, without pins."""
        if later is None:
            return None
        return max(
            (
                key
                for key, message_id in self._rulings.get(later.conversation_id, {}).items()
                if message_id < later.message_id
            ),
            key=lambda key: (self._rulings[later.conversation_id][key], abs(key)),
            default=None,
        )

    def _rule(self, key: int) -> Rule:
        return _rule(self._facts[key], self._said[key])

    def _rivals(self, fact: Fact) -> list[int]:
        """Statements that may contradict a ruling; of very many with the same words only the nearest."""
        if fact.fact_type not in RULINGS:
            return []
        kind, rule = _kind(fact), as_rule(fact.content)
        roots = _roots_of(_words(fact.content))
        near = dict.fromkeys(key for root in sorted(roots) for key in self._newest(kind, root))
        compared = dict.fromkeys(self._nearest(near, roots))
        if rule.rejected_words:
            turned_down = {word[:_STEM_CHARS] for word in rule.rejected_words}
            chosen_before = (key for key in near if turned_down <= self._roots[key])
            compared.update(dict.fromkeys(itertools.islice(chosen_before, _MOST_COMPARED)))
        if len(roots) <= _SHORT_RULE:
            compared.update(dict.fromkeys(itertools.islice(reversed(self._short), _MOST_COMPARED)))
        return sorted(key for key in compared if self._facts[key].fact_type is not FactType.PINNED)

    def _newest(self, kind: str, root: str) -> Iterable[int]:
        return itertools.islice(reversed(self._by_root.get((kind, root), {})), _MOST_LISTED)

    def _nearest(self, keys: Iterable[int], roots: frozenset[str]) -> list[int]:
        """The statements that share the most words, the nearest first."""

        def distance(key: int) -> tuple[float, int]:
            theirs = self._roots[key]
            return -len(roots & theirs) / max(1, len(roots | theirs)), key

        return heapq.nsmallest(_MOST_COMPARED, keys, key=distance)


def _words(text: str) -> tuple[str, ...]:
    return tuple(match[1] or match[0] for match in _WORD.finditer(text.lower()))


def _roots_of(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word[:_STEM_CHARS] for word in words if word not in _SMALL_WORDS)


def _kind(fact: Fact) -> str:
    """Rulings are compared with one another: one sentence may be a constraint and a decision."""
    return "ruling" if fact.fact_type in RULINGS else fact.fact_type.value


def _says_same(one: Fact, other: Fact) -> bool:
    """Whether two statements of one kind say the same in nearly the same words, about the same names and numbers.
    Rulings need the same words in the same order: another order may rule the opposite."""
    if one.fact_type in RULINGS:
        return normal_form(one.content) == normal_form(other.content)
    ours, theirs = set(subject_words(one.content)), set(subject_words(other.content))
    if not ours or len(ours & theirs) < SAME_SHARE * len(ours | theirs):
        return False
    names = [{name.lower() for name in fact.entities} for fact in (one, other)]
    return (
        names[0] == names[1]
        and sorted(_NUMBER.findall(one.content)) == sorted(_NUMBER.findall(other.content))
        and bool(_NEGATION.search(one.content)) == bool(_NEGATION.search(other.content))
    )


def _rule(fact: Fact, said: Evidence | None) -> Rule:
    """The statement as a rule that can be compared. Only the whole quote may tell that it is a change of mind."""
    rule = as_rule(fact.content)
    if said is None:
        return rule
    in_full = as_rule(said.quote)
    return replace(rule, is_change=in_full.is_change, is_instead=in_full.is_instead, whole=said.quote)


def _nearness(older: Evidence | None, newer: Said | None, *, is_newest: bool = False) -> Nearness:
    if older is None or newer is None or older.conversation_id != newer.conversation_id:
        return Nearness.FAR
    return nearness(older.message_id, newer.message_id, is_newest=is_newest)
