"""The rules before a conversation state each thing once, whole, and as it is now."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis.strategies as st
from hypothesis import given

from palimpsest.domain.context.rules.rule_set import Pin, RuleId, RuleSet, RuleState, StandingRule, missing
from palimpsest.domain.context.rules.standing import (
    HEAD,
    NEWS_HEAD,
    Commands,
    RulesBasis,
    StandingRules,
    derive,
    front_lines,
    front_text,
    news_text,
)
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import ConversationId, Digest, MessageId, user_message

GONE = "- No longer in force: "
# Texts that begin, end or continue one another, some of several lines.
TEXTS = st.sampled_from(
    ["use tabs", "use tabs here", "use tabs\nhere", "use tabs\nhere\nand there", "here", "tabs", "see (a.b)* [c]"]
)


def rules_of(
    *said: str, pins: Sequence[Pin] = (), taken_back: Sequence[RuleId] = (), cap: int = 10_000
) -> StandingRules:
    messages = tuple(
        StoredMessage(ConversationId("c"), MessageId(n), user_message(text), "", None, Digest(""))
        for n, text in enumerate(said)
    )
    return derive(RulesBasis(messages, Commands(tuple(pins), (), tuple(taken_back)), cap), count_bytes)


def lines_of(*texts: str) -> tuple[str, ...]:
    return tuple(f"- {text}" for text in texts)


def test_there_is_no_front_and_no_news_where_there_is_nothing_to_say() -> None:
    assert (front_text(()), news_text((), (), "")) == ("", "")


@given(st.lists(TEXTS, unique=True, min_size=1))
def test_what_is_told_is_no_news_and_stands_verbatim(texts: list[str]) -> None:
    lines = lines_of(*texts)
    told = front_text(lines)
    assert told.startswith(f"{HEAD}\n")
    assert news_text(lines, (), told) == ""
    pins = RuleSet(tuple(Pin(n, text).entry for n, text in enumerate(texts)))
    assert missing(pins, (), told) == ()


@given(st.lists(TEXTS, unique=True, max_size=5), st.lists(TEXTS, unique=True, max_size=5))
def test_news_are_exactly_the_items_that_were_not_told(before: list[str], after: list[str]) -> None:
    told = front_text(lines_of(*before))
    news = news_text(lines_of(*after), (), told)
    fresh = lines_of(*(text for text in after if text not in before))
    assert news == ("\n".join([NEWS_HEAD, *fresh]) if fresh else "")


@given(st.lists(st.tuples(st.booleans(), TEXTS), max_size=12))
def test_told_taken_back_and_told_again_the_last_word_counts(changes: list[tuple[bool, str]]) -> None:
    """Each change is told, as it would be to a turn; then nothing is left to tell, and nobody hears a thing twice."""
    open_pins: dict[str, Pin] = {}
    closed: list[Pin] = []
    told: list[str] = []
    for number, (is_pin, text) in enumerate(changes):
        was_open = text in open_pins
        if is_pin:
            open_pins.setdefault(text, Pin(number, text))
        elif was_open:
            closed.append(open_pins.pop(text))
        lines = lines_of(*open_pins)
        news = news_text(lines, closed, "\n".join(told))
        if is_pin is was_open:
            assert news == "", "nothing changed"
        if is_pin and not was_open:
            assert news == f"{NEWS_HEAD}\n- {text}"
        if not is_pin and was_open:
            assert news == f"{NEWS_HEAD}\n{GONE}{text}"
        if news:
            told.append(news)
        assert news_text(lines, closed, "\n".join(told)) == "", "it would be told again"


def test_a_pin_taken_back_before_anybody_heard_of_it_is_no_news() -> None:
    assert news_text((), [Pin(1, "use tabs")], "") == ""
    assert news_text((), [Pin(1, "use tabs")], front_text(lines_of("use tabs here"))) == ""


def test_only_pins_from_no_message_and_rules_that_are_left_out_stand_in_front() -> None:
    rules = rules_of("Never use tabs.", "Hello.", "Always run the linter.", pins=[Pin(3, "frozen")])
    assert rules.lines(()) == ("- frozen",)
    assert rules.lines([(MessageId(0), MessageId(1))]) == ("- frozen", "- Never use tabs.")
    everything = [(MessageId(0), MessageId(3))]
    assert rules.lines(everything) == ("- frozen", "- Never use tabs.", "- Always run the linter.")
    assert missing(rules.kept, (), front_text(rules.lines(everything))) == ()


def test_a_rule_taken_back_by_command_is_said_to_be_and_one_taken_back_by_a_sentence_is_not() -> None:
    by_command = rules_of("Never use tabs.", taken_back=[RuleId(MessageId(0), 0)])
    assert by_command.lines(()) == (f"{GONE}Never use tabs.",)
    by_sentence = rules_of("Never use tabs.", "Forget that rule.")
    assert [entry.state for entry in by_sentence.whole.entries] == [RuleState.WITHDRAWN]
    assert by_sentence.lines(()) == ()


def test_what_is_ordinary_does_not_stand_in_front_but_that_a_rule_was_taken_back_does() -> None:
    said = ("Never use tabs.", "Always run the linter before you commit.", "Always write tests for new code.")
    rules = rules_of(*said, taken_back=[RuleId(MessageId(0), 0)], cap=25)
    assert {entry.text for entry in rules.demoted} == set(said[:2])
    assert rules.lines([(MessageId(0), MessageId(3))]) == (f"{GONE}{said[0]}", f"- {said[2]}")


def test_one_text_stands_in_front_once() -> None:
    same = [StandingRule(RuleId(MessageId(n), 0), "Never use tabs.") for n in range(2)]
    assert front_lines(RuleSet(tuple(same)), (), (), [(MessageId(0), MessageId(2))]) == ("- Never use tabs.",)
