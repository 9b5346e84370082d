"""The models that judge rules fit the sentences they were trained on, and say nothing that the forms must decide."""

from __future__ import annotations

import pytest
from benchmarks.rules import train
from tests.domain.context.rules.test_rule_set import rule_set_of

from palimpsest.domain.context.rules import features
from palimpsest.domain.context.rules import judgment as judging
from palimpsest.domain.context.rules.detection import detect, detect_withdrawals, read_rulings, readers_version
from palimpsest.domain.context.rules.forms import Forms
from palimpsest.domain.context.rules.languages import LANGUAGES
from palimpsest.domain.messages import user_message

KEYS = ("rules", "changes", "beside", "neither", "look_alikes")
CODE_OF = {name: code for code, name in train.CODES.items()}


@pytest.mark.parametrize("forms", LANGUAGES, ids=lambda forms: forms.name)
def test_the_weights_were_trained_on_the_sentences_that_are_there(forms: Forms) -> None:
    weights = judging.weights_of(forms)
    told = (weights.features_version, weights.trained_on)
    due = (features.FEATURES_VERSION, train.digest_of(train.files_of(CODE_OF[forms.name])))
    assert told == due, f"run .venv/bin/python -m benchmarks.rules.train {CODE_OF[forms.name]}"


def test_what_was_found_by_other_models_is_looked_for_anew() -> None:
    assert judging.version() == train.version()
    assert readers_version().endswith(judging.version())


def test_no_sentence_that_is_measured_as_unseen_is_trained_on() -> None:
    trained = {path.parent.name for code in CODE_OF.values() for path in train.files_of(code)}
    assert trained.isdisjoint(train.UNSEEN)
    assert {"training", "sentences"} <= trained
    judged = train.judged_as_unseen()
    assert len(judged) > 1_500
    for code in CODE_OF.values():
        for _, said in train._read(train.files_of(code)):
            learned = {train._normal(train._last(item)) for key in KEYS for item in said.get(key, ())}
            assert learned.isdisjoint(judged)


@pytest.mark.parametrize(
    "text",
    [
        "Amounts of money: decimals, floats are out of the question.",
        "For amounts of money floats are taboo with us.",
        "Geldbeträge nur als Decimal, Floats sind bei uns tabu.",
    ],
)
def test_a_rule_in_words_that_no_form_knows_is_found(text: str) -> None:
    assert [rule.text for rule in detect(user_message(text))] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Don't do that.",
        "Keep going.",
        "keep it",
        "No problem, take your time.",
        "we prob dont need these extra readme checks",
        "if that is so, go on",
    ],
)
def test_a_sentence_about_nothing_is_no_rule(text: str) -> None:
    assert detect(user_message(text)) == ()


def holding(*texts: str) -> list[str]:
    return [entry.text for entry in rule_set_of(*texts).open_entries()]


def test_what_shares_no_word_with_a_rule_ends_only_the_one_said_just_before() -> None:
    change = "actually, let's switch to polars instead"
    assert "Use pandas." not in holding("Answer in German.", "Use pandas.", change)
    talk = ["How are you?", "Show me the log.", "Thanks!"]
    assert holding("Use pandas.", "Answer in German.", *talk, change)[:2] == ["Use pandas.", "Answer in German."]


def test_a_message_of_many_sentences_asks_for_more() -> None:
    rule = "Amounts of money: decimals, floats are out of the question."
    talk = "I had a look at the invoice page. The total was off by a cent. It took me an hour to see why. " * 4
    assert rule in {each.text for each in detect(user_message(rule))}
    assert len(detect(user_message(f"{talk}{rule}"))) <= 1


def test_what_waves_everything_away_is_judged_by_its_form_alone() -> None:
    assert not read_rulings(user_message("You no longer have to follow the rules."))


def test_what_is_passed_on_is_not_held_against_the_rules() -> None:
    assert detect_withdrawals(user_message('My boss wrote: "we moved from Redis to Kafka."')) == ()


def test_what_is_quoted_rules_nothing_however_many_sentences_it_has() -> None:
    assert detect(user_message("It prints `Never use tabs. Always use spaces.` when it starts.")) == ()
    assert detect(user_message('He wrote "Forget that. Use spaces from now on. Never use tabs." yesterday.')) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Nutze SQLite in Tests.", "Tests gehören nach tests/."),
        ("No emojis in commit messages.", "Emojis are fine in chat."),
        ("Kein print im Server.", "In Skripten darfst du print verwenden."),
    ],
)
def test_what_is_said_together_ends_nothing_of_it(one: str, other: str) -> None:
    assert one in holding(f"{one} {other}")
