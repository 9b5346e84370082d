"""Whether a later rule replaces an earlier one, and whether a withdrawal ends a rule; for rule sets and for facts.

A later rule supersedes an earlier one only where the two cannot both be followed: losing a rule is worse than keeping
two. A change of mind about one thing ends only what is about that thing.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Final

from palimpsest.domain.context.rules.features import share_a_word
from palimpsest.domain.context.rules.forms import LONGEST_SENTENCE, Forms
from palimpsest.domain.context.rules.judgment import end_odds
from palimpsest.domain.context.rules.languages import (
    LANGUAGES,
    is_han,
    languages_of,
    manners_of,
    rivals_of,
    stems,
    topics_of,
)
from palimpsest.domain.context.rules.rulings import Rule, Withdrawal
from palimpsest.domain.context.rules.sentence_parts import normal_form, subject_words

_CHOOSING: Final = frozenset(
    "use prefer reply answer respond write speak indent name call stick target format we let's i".split()
)
_MOST_BESIDE: Final = 1
"""Words that a rule may have beside its choice, where its form does not say which words are the choice."""
_COMPARING: Final = frozenset((word,) for word in "than over above beyond exceed als über unter que de 超过".split())
"""Before a number that is a measure, so that another number takes its place; "part 7" and "part 8" are two things."""
_LEAST_HEAD: Final = 3
"""Words that two sentences must begin with alike, to be of one form."""
_ARTICLES: Final = frozenset("the a an our der die das den unsere le la les un une nos el los las una nuestros".split())
_FOR: Final = frozenset("for für pour para 为".split())
"""What stands behind tells which of two like things is meant: the flag for billing, the flag for search."""
_LIKELY: Final = 0.0
_VERY_LIKELY: Final = 1.5
_SURE: Final = 2.0
"""Log odds above which a sentence ends a rule that was just set: a rule that it shares a word with; any other rule; and
any rule where the sentence does not say that it changes something."""
_FAR: Final = 2.0
"""Added for a rule that it shares a word with, when something else was said between."""
_NEAR: Final = 2
"""Distance of two messages of the user between which there is only an answer."""


class Nearness(enum.IntEnum):
    """How near a rule is to a later sentence."""

    FAR = 0
    NEAR = 1
    """Only an answer was said between them."""
    JUST_BEFORE = 2
    """The same, and the rule is the newest one."""
    SAME_MESSAGE = 3


def nearness(message_id: int, later_id: int, *, is_newest: bool) -> Nearness:
    """How near a rule is to a later message of its conversation, by the ids of the messages."""
    if message_id == later_id:
        return Nearness.SAME_MESSAGE
    if not is_near(message_id, later_id):
        return Nearness.FAR
    return Nearness.JUST_BEFORE if is_newest else Nearness.NEAR


def is_near(message_id: int, later_id: int) -> bool:
    """Whether only an answer was said between two messages of one conversation, by their ids."""
    return 0 <= later_id - message_id <= _NEAR


def ends(withdrawal: Withdrawal, rule: Rule, near: Nearness = Nearness.FAR) -> bool:
    """Whether the withdrawal ends the rule. A withdrawal that names nothing ends none by its words."""
    if not withdrawal.is_judged and _ends_by_form(withdrawal, rule):
        return True
    is_of_another_kind = withdrawal.permits or (withdrawal.drops and rule.is_prohibition)
    return _is_judged_ended(rule, withdrawal.text, withdrawal.subject_words, near, turns=not is_of_another_kind)


def _is_judged_ended(rule: Rule, later: str, words: tuple[str, ...], near: Nearness, *, turns: bool) -> bool:
    """A sentence that shares no word with the rule may end it only where the rule was set just before. `turns`: the
    sentence says that something changes."""
    if near is Nearness.SAME_MESSAGE:
        return False  # what is said together is meant together, unless its form says otherwise
    share = share_a_word(words, rule.subject_words)
    if near is not Nearness.JUST_BEFORE and not share:
        return False
    older = (rule.whole or rule.text)[:LONGEST_SENTENCE]
    odds = end_odds(older, later[:LONGEST_SENTENCE], near=near is not Nearness.FAR, forbids=rule.is_prohibition)
    needed = _SURE if not turns else _LIKELY if share else _VERY_LIKELY
    return odds > needed + (_FAR if near is Nearness.FAR else 0.0)


def _ends_by_form(withdrawal: Withdrawal, rule: Rule) -> bool:
    said = set(withdrawal.subject_words)
    if not said:
        return False
    if withdrawal.permits and not rule.is_prohibition:
        languages = languages_of(withdrawal.text)
        is_manner = any(said & manners_of(forms) for forms in languages)
        return is_manner and _is_rival(said, set(rule.subject_words), languages)
    if withdrawal.drops:
        if rule.is_prohibition:
            return False
        return _had_chosen(rule, said)
    return _share(withdrawal.subject_words, rule.subject_words) > 0.5


def supersedes(newer: Rule, older: Rule, near: Nearness = Nearness.FAR) -> bool:
    """Whether the newer rule repeats the older one, reverses it, or chooses something else in its place.

    Where only an answer was said between them, "instead" alone points at the older rule.
    """
    if _supersedes_by_form(newer, older, near is not Nearness.FAR):
        return True
    if newer.is_prohibition and older.is_prohibition:
        return False  # both can be followed
    if not newer.is_change and _are_of_two_matters(newer, older):
        return False
    return _is_judged_ended(older, newer.whole or newer.text, newer.subject_words, near, turns=newer.is_change)


def _are_of_two_matters(newer: Rule, older: Rule) -> bool:
    """Whether two sentences of one form, such as "We decided to keep … for …", are about different things: they share
    words, but not those that say what they are about. A model that weighs the words takes the form for the matter."""
    new_form, old_form = (
        tuple(word for word in normal_form(rule.text) if word not in _ARTICLES) for rule in (newer, older)
    )
    head, new_slot, old_slot, _, _ = _slots(new_form, old_form)
    if len(head) < _LEAST_HEAD or not new_slot or not old_slot:
        return False
    if head[-1] in _FOR and not any(map(_is_number, new_slot + old_slot)):
        return True
    verbs = _verbs(newer.text)
    return all(word in verbs for word in subject_words(" ".join(head)))


def _supersedes_by_form(newer: Rule, older: Rule, near: bool) -> bool:
    new_form, old_form = normal_form(newer.text), normal_form(older.text)
    if new_form == old_form:
        return True
    new, old = set(newer.subject_words), set(older.subject_words)
    if not new or not old:
        return False
    rejected = set(newer.rejected_words)
    if rejected and not older.is_prohibition and _had_chosen(older, rejected):
        return True
    if newer.is_prohibition != older.is_prohibition:
        both = len(new & old) / len(new | old)
        return both > 0.5 or (new <= old and both >= 1 / 3)
    if newer.is_prohibition:
        return _differ_in_numbers(new_form, old_form) and _slots(new_form, old_form)[0][-1:] in _COMPARING
    if _is_rival(new - rejected, old - set(older.rejected_words), languages_of(newer.text)):
        return True
    return (
        _fills_same_slot(new_form, old_form, newer)
        or _fills_place(new_form, old_form, newer)
        or _chooses_again(newer, older, near)
    )


def _had_chosen(rule: Rule, words: set[str]) -> bool:
    """Whether the rule chose what the words name, and did not only mention it."""
    if words & set(rule.rejected_words):
        return False
    if rule.chosen_words:
        chosen = set(rule.chosen_words)
        return words <= chosen or chosen <= words <= set(rule.subject_words)
    subject = set(rule.subject_words) - set(rule.rejected_words)
    return words <= subject and len(subject - words) <= _MOST_BESIDE


def _share(words: Sequence[str], among: Sequence[str]) -> float:
    return len(set(words) & set(among)) / len(set(words))


def _is_rival(new: set[str], old: set[str], languages: Sequence[Forms]) -> bool:
    """Two choices from one group, where the newer is at least as general."""
    for forms in languages:
        for group in rivals_of(forms):
            if new & group and old & group and not new & old & group:
                return new - group - topics_of(forms) <= old - group
    return False


def _chooses_again(newer: Rule, older: Rule, near: bool) -> bool:
    """Another choice for the same purpose, or, by a sentence that says it is a change, in place of the last one."""
    if not newer.chosen_words or not older.chosen_words or set(newer.chosen_words) & set(older.chosen_words):
        return False
    new_for, old_for = set(newer.purpose_words), set(older.purpose_words)
    if not new_for and not old_for:
        return newer.is_instead and near
    if not newer.is_change and new_for <= _scopes(newer.text):
        return False
    return bool(new_for) and new_for == old_for and newer.is_change


def _differ_in_numbers(new: tuple[str, ...], old: tuple[str, ...]) -> bool:
    """Whether the two differ in a number alone."""
    _, new_slot, old_slot, n_common, _ = _slots(new, old)
    return bool(new_slot and old_slot) and n_common >= 2 and all(map(_is_number, new_slot + old_slot))


def _is_number(word: str) -> bool:
    return word.isdigit() or any(word in forms.usage.numbers for forms in LANGUAGES)


def _fills_same_slot(new: tuple[str, ...], old: tuple[str, ...], newer: Rule) -> bool:
    """Whether the two differ in one place alone: another number, or another choice for the same purpose."""
    head, new_slot, old_slot, n_common, purpose = _slots(new, old)
    if not new_slot or not old_slot or n_common < 2:
        return False
    if _differ_in_numbers(new, old):
        return True
    return (
        bool(head)
        and head[0] in _CHOOSING
        and max(len(new_slot), len(old_slot)) <= 2
        and purpose[:1] in (("for",), ("as",))
        and not set(subject_words(" ".join(purpose))) & _scopes(newer.text)
        and bool(subject_words(" ".join(purpose)))
    )


def _fills_place(new: tuple[str, ...], old: tuple[str, ...], newer: Rule) -> bool:
    """Whether the two differ only in the place or the target of a thing."""
    head, new_slot, old_slot, _, tail = _slots(new, old)
    places = frozenset[str]().union(*(forms.usage.places for forms in languages_of(newer.text)))
    placing = frozenset[str]().union(*(forms.usage.placing for forms in languages_of(newer.text)))
    if not head or tail or not new_slot or not old_slot:
        return False
    if is_han(head[-1][-1]):
        return head[-1].endswith(tuple(places))
    return len(head) >= 2 and (head[-1] in places or bool(placing & set(head[:-1])))


def _slots(
    new: tuple[str, ...], old: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], int, tuple[str, ...]]:
    """The common beginning, the different words of the new and of the old one, the number of common words, and the
    common end."""
    n_head = 0
    while n_head < min(len(new), len(old)) and new[n_head] == old[n_head]:
        n_head += 1
    n_tail = 0
    while n_tail < min(len(new), len(old)) - n_head and new[-1 - n_tail] == old[-1 - n_tail]:
        n_tail += 1
    tail = new[len(new) - n_tail :]
    return new[:n_head], new[n_head : len(new) - n_tail], old[n_head : len(old) - n_tail], n_head + n_tail, tail


@functools.lru_cache(maxsize=64)
def _verbs_of(language: int) -> frozenset[str]:
    """Stems of the verbs that orders begin with."""
    forms = LANGUAGES[language]
    return frozenset(each for verb in forms.habits | forms.actions for each in stems(verb, forms))


def _verbs(text: str) -> frozenset[str]:
    return frozenset().union(*(_verbs_of(LANGUAGES.index(forms)) for forms in languages_of(text)))


@functools.lru_cache(maxsize=1_024)
def _scopes(text: str) -> frozenset[str]:
    return frozenset().union(*(forms.scopes for forms in languages_of(text)))
