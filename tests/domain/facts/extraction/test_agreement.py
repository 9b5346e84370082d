"""Facts that were made of a conversation's rules hold as long as the rules do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.domain.telling import in_store

from palimpsest.domain.context.rules.rule_set import RuleState, build
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.facts.extraction.admission import admit
from palimpsest.domain.facts.extraction.agreement import agree
from palimpsest.domain.facts.extraction.by_rules import proposals
from palimpsest.domain.facts.extraction.exchange import Exchange
from palimpsest.domain.facts.fact import StoredFact
from palimpsest.domain.messages import ConversationId, Digest, MessageId, user_message

HERE = ConversationId("here")
SAID = (
    "Use RabbitMQ for the queue.",
    "Let's take Kafka instead.",
    "Never use print in this project.",
    "Use print in scripts.",
    "Always squash commits before merging. Never push to main directly.",
    "Scratch that.",
    "Forget that rule.",
    "Use tabs everywhere.",
    "use spaces, not tabs",
    "We moved from npm to pnpm.",
    "Use npm for all packages.",
    "No need to squash commits any more.",
    "我们用 npm。",
    "我们已经从 npm 换成 pnpm 了。",
    "Keep every answer under 100 words.",
    "Keep every answer under 200 words.",
    "Restart the server, please.",
)


def after(said: Sequence[str]) -> tuple[set[str], set[str]]:
    """The rules that hold, and the words that the facts rest on which hold, when each message was read on its own."""
    messages: list[StoredMessage] = []
    known: list[StoredFact] = []
    for number, text in enumerate(said):
        message = StoredMessage(HERE, MessageId(2 * number), user_message(text), "", None, Digest(""))
        messages.append(message)
        ledger = build(messages, (), ())
        admission = agree(admit(proposals(Exchange.of([message])), known), ledger, known, HERE)
        closed = {fact_id for fact_id, _ in (*admission.closes, *admission.taken_back)}
        kept = [replace(each, closed_at="then") if each.id in closed else each for each in known]
        known = kept + in_store(admission.new, len(known) + 1)
    rules = {entry.text for entry in ledger.entries if entry.state is RuleState.OPEN}
    return rules, {each.evidence.quote for each in known if each.is_open and each.evidence is not None}


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        (("Never log passwords.", "Let's take Kafka instead."), {"Never log passwords.", "Let's take Kafka instead."}),
        (
            ("Use tabs everywhere.", "Never log passwords.", "Use tabs everywhere.", "Scratch that."),
            {"Never log passwords."},
        ),
        (
            ("Always squash commits before merging. Never push to main directly.", "Scratch that."),
            {"Always squash commits before merging."},
        ),
    ],
)
def test_what_the_ledger_ends_no_fact_says_any_more(said: Sequence[str], holds: set[str]) -> None:
    assert after(said) == (holds, holds)


@pytest.mark.parametrize(
    ("before", "after_"),
    [
        ("Committe niemals direkt auf main.", "Committe ab jetzt immer direkt auf main."),
        ("Nunca uses tabs.", "Usa siempre tabs."),
        ("use spaces, not tabs", "use tabs, not spaces"),
        ("Don\u2019t use tabs in this project.", "Use tabs in this project."),
        ("Prefer composition over inheritance.", "Prefer inheritance over composition."),
        ("永远不要使用制表符。", "请始终使用制表符。"),
    ],
)
def test_the_same_words_may_rule_the_opposite(before: str, after_: str) -> None:
    rules, known = after((before, after_))
    assert known == rules
    assert after_ in known


@pytest.mark.parametrize("seed", range(40))
def test_rules_and_facts_agree_whatever_is_said(seed: int) -> None:
    chance = random.Random(seed)
    said = [chance.choice(SAID) for _ in range(8)]
    rules, known = after(said)
    assert known == rules, said
