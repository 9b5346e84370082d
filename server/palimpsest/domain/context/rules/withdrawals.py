"""What a sentence takes back, by its form."""

from __future__ import annotations

import functools

from palimpsest.domain.context.rules.languages import n_words, stems
from palimpsest.domain.context.rules.reading import Reading
from palimpsest.domain.context.rules.rulings import Withdrawal


@functools.lru_cache(maxsize=64)
def withdrawals(reading: Reading, *, is_rule: bool) -> tuple[Withdrawal, ...]:
    """What the sentence takes back, at most one rule or choice a clause, as if it began its message.

    `is_rule`: the sentence sets a rule too, which itself says what it turns down. Remembered, because a sentence is
    judged by what it takes back before that is asked for.
    """
    forms = reading.forms
    if reading.is_no_statement or reading.is_tale or reading.is_sweeping:
        return ()
    found: list[Withdrawal] = []
    for clause in reading.clauses:
        if (taken := _withdrawal(reading, clause)) is not None and taken not in found:
            found.append(taken)
    if not found and not is_rule and not reading.is_task:
        for pattern in forms.rejected:
            for match in pattern.finditer(reading.text):
                if words := stems(match[match.lastindex or 0], forms):
                    found.append(Withdrawal(reading.said, words, False, 0, drops=True))
    return tuple(found)


def taken_by_grammar(reading: Reading, clause: str) -> Withdrawal | None:
    """What a clause takes back by its grammar alone; None where that says nothing."""
    usage = reading.forms.usage
    kinds = ((usage.freed, True, False), (usage.unneeded, False, False), (usage.ended, False, True))
    for patterns, permits, drops in kinds:
        for pattern in patterns:
            match = pattern.match(clause)
            if match is None or (drops and reading.forms.rule_noun.search(clause)):
                continue
            if words := stems(match["what"], reading.forms):
                return Withdrawal(reading.said, words, permits, drops=drops)
    return None


def _withdrawal(reading: Reading, clause: str) -> Withdrawal | None:
    forms = reading.forms
    whole = reading.said
    if (taken := taken_by_grammar(reading, clause)) is not None:
        return taken
    following = forms.clause.search(clause)
    head = clause[: following.start()] if following else clause
    if (permits := forms.permitted.match(clause) is not None) or forms.withdrawn.match(clause):
        told = (stems(forms.about.sub(" ", said), forms) for said in (head, clause, reading.quoted))
        words = next(filter(None, told), ())
        if words or (not permits and forms.rule_noun.search(clause)):
            return Withdrawal(whole, words, permits)
        return None
    if forms.abandoned.match(clause) and (words := stems(forms.about.sub(" ", head), forms)):
        return Withdrawal(whole, words, False)
    for pattern in forms.dropped:
        if match := pattern.match(clause):
            words = stems(match[match.lastindex or 0], forms)
            return Withdrawal(whole, words, False, drops=True) if words else None
    if (match := forms.unnamed.match(clause)) is not None and n_words(clause[match.end() :]) == 0:
        return Withdrawal(whole, (), False, is_near=True)
    return None
