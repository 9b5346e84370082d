"""Facts that were made of a conversation's rules end when the rules do.

Admission compares only statements that are facts. The rule set of a conversation knows more: every rule in the order in
which it was said, also rules that are too short for a fact or were said twice. So the state of a rule counts for the
fact on the same words, whenever a conversation is read for facts, and when a forgotten fact is restored. A rule whose
first telling was rolled back is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from palimpsest.domain.context.rules.rule_set import RuleSet, RuleState, StandingRule
from palimpsest.domain.context.rules.sentence_parts import normal_form
from palimpsest.domain.facts.extraction.admission import Admission
from palimpsest.domain.facts.extraction.likeness import RULINGS, LikenessIndex
from palimpsest.domain.facts.extraction.refusals import Refusal
from palimpsest.domain.facts.fact import Candidate, Evidence, Fact, FactId, FactType, StoredFact
from palimpsest.domain.messages import ConversationId, MessageId

_DISPUTED: Final = (Refusal.TOO_SHORT, Refusal.OVERTAKEN)
"""Refusals that the rule set overrules."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of one conversation, by their words and by their ids."""

    conversation_id: ConversationId
    by_words: Mapping[tuple[MessageId, str], StandingRule]
    by_id: Mapping[object, StandingRule]

    @classmethod
    def of(cls, rule_set: RuleSet, conversation_id: ConversationId) -> Self:
        by_words = {(entry.id.message_id, entry.text): entry for entry in rule_set.entries}
        return cls(conversation_id, by_words, {entry.id: entry for entry in rule_set.entries})

    def find(self, fact: Fact, said: Evidence | None) -> StandingRule | None:
        """The rule that a fact was made of, or the last one that repeats it in its place; None for a fact of no
        rule."""
        if said is None or said.conversation_id != self.conversation_id or fact.fact_type not in RULINGS:
            return None
        if fact.fact_type is FactType.PINNED:
            return None
        entry = self.by_words.get((said.message_id, said.quote))
        while entry is not None and entry.superseded_by is not None:
            after = self.by_id[entry.superseded_by]
            if not _says_again(after, entry):
                return entry
            entry = after
        return entry


def _says_again(later: StandingRule, earlier: StandingRule) -> bool:
    return normal_form(later.text) == normal_form(earlier.text)


def agree(
    admission: Admission, rule_set: RuleSet, known: Iterable[StoredFact], conversation_id: ConversationId
) -> Admission:
    """The admission of one conversation's proposals, corrected by its rules. `known`: the facts that they were compared
    with."""
    rules = _Rules.of(rule_set, conversation_id)
    new: list[Candidate] = []
    refused = []
    for candidate, why in admission.refused:
        entry = rules.find(candidate.fact, candidate.evidence)
        if why in _DISPUTED and entry is not None and entry.state is RuleState.OPEN:
            new.append(candidate)
        else:
            refused.append((candidate, why))
    for candidate in admission.new:
        entry = rules.find(candidate.fact, candidate.evidence)
        if entry is not None and entry.state is not RuleState.OPEN:
            refused.append((candidate, Refusal.OVERTAKEN))
        else:
            new.append(candidate)
    new.sort(key=lambda candidate: candidate.evidence.message_id)
    closes: list[tuple[FactId, Candidate]] = []
    taken_back: list[tuple[FactId, MessageId]] = []
    by_words = {(each.evidence.message_id, each.evidence.quote): each for each in new}
    is_new = {id(each) for each in new}
    entries = {fact.id: rules.find(fact.fact, fact.evidence) for fact in known if fact.is_open}
    for fact_id, entry in entries.items():
        if entry is None or entry.state is RuleState.OPEN:
            continue
        after = None if entry.superseded_by is None else rules.by_id[entry.superseded_by]
        successor = None if after is None else by_words.get((after.id.message_id, after.text))
        if successor is not None:
            closes.append((fact_id, successor))
        else:
            # A command took it back, no message did: it stays so for as long as the rule's own message is there.
            taken_back.append((fact_id, entry.id.message_id if entry.ended_by is None else entry.ended_by))
    for fact_id, by in admission.closes:
        if entries.get(fact_id) is None:
            if id(by) in is_new:
                closes.append((fact_id, by))
            else:
                taken_back.append((fact_id, by.evidence.message_id))
    taken_back += [(fact_id, by) for fact_id, by in admission.taken_back if entries.get(fact_id) is None]
    return replace(
        admission, new=tuple(new), closes=tuple(closes), taken_back=tuple(taken_back), refused=tuple(refused)
    )


def ended_rule(fact: Fact, said: Evidence, rule_set: RuleSet) -> StandingRule | None:
    """The rule that a fact was made of, when it holds no longer; else None."""
    entry = _Rules.of(rule_set, said.conversation_id).find(fact, said)
    return None if entry is None or entry.state is RuleState.OPEN else entry


def overtaken_by(fact: Fact, said: Evidence | None, since: Iterable[StoredFact]) -> FactId | None:
    """The ruling that takes the place of a forgotten fact; None when there is none. `since`: the facts that were
    learned while it was forgotten."""
    index = LikenessIndex()
    for known in since:
        if known.is_open and known.fact.fact_type in RULINGS:
            index.add(known.id, known.fact, known.evidence)
    found = index.contradicting(fact, said) if fact.fact_type is not FactType.PINNED else ()
    return FactId(found[-1]) if found else None
