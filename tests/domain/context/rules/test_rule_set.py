"""The ledger: derived from the messages, nothing lost but by a later word, every open rule present."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given
from tests.domain.context.test_cut import summary_of
from tests.domain.histories import as_lives, exchanges

from palimpsest.domain.context.cut import MessagePiece, Piece, SummaryPiece, adopt, keep_from, piece_starts
from palimpsest.domain.context.rules.detection import detect
from palimpsest.domain.context.rules.rule_set import (
    HEADING,
    NO_MESSAGE,
    Pin,
    RuleId,
    RuleSet,
    RuleState,
    StandingRule,
    build,
    missing,
    over_cap,
    split_standing_rules,
    standing_rules,
)
from palimpsest.domain.context.rules.rulings import Withdrawal
from palimpsest.domain.context.rules.supersession import Nearness, ends
from palimpsest.domain.context.summaries.node import CLOSING
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.messages import Content, MessageId, Role, TextPart, user_message

OPEN, SUPERSEDED, WITHDRAWN = RuleState.OPEN, RuleState.SUPERSEDED, RuleState.WITHDRAWN


def rule_set_of(*texts: str, pins: Sequence[Pin] = (), withdrawn: Sequence[RuleId] = ()) -> RuleSet:
    return build([live.message for live in as_lives([user_message(text) for text in texts])], pins, withdrawn)


def states(ledger: RuleSet) -> list[tuple[str, RuleState]]:
    return [(entry.text, entry.state) for entry in ledger.entries]


def entry_id(message: int, index: int = 0) -> RuleId:
    return RuleId(MessageId(message), index)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Use spaces.", "Use tabs."),
        ("Use spaces.", "Actually, use tabs for indentation."),
        ("Never force-push.", "never force-push"),
        ("Never force-push.", "From now on, never force-push."),
        ("Don't add comments.", "Add comments to every function."),
        ("Always squash commits.", "Never squash commits."),
        ("Use npm for installs.", "Use yarn instead of npm."),
        ("Reply in German.", "Reply in French."),
        ("When you give measurements, use metric.", "Use imperial units."),
        ("Keep every line under 100 characters.", "Keep every line under 88 characters."),
        ("Use flake8 for linting.", "Use ruff for linting."),
    ],
)
def test_a_later_rule_that_cannot_hold_beside_an_earlier_supersedes_it(older: str, newer: str) -> None:
    ledger = rule_set_of(older, "And now?", newer)
    first, second = ledger.entries
    assert (first.state, first.superseded_by) == (SUPERSEDED, second.id)
    assert ledger.open_entries() == (second,)
    assert first.text == older


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Use tabs.", "Use type hints."),
        ("Never log passwords.", "Log every request."),
        ("Never use tabs.", "Use spaces."),
        ("Use spaces.", "Use tabs in Makefiles."),
        ("Always run the tests before you commit.", "Always run the linter before you commit."),
        ("Never commit to main.", "Never push to main."),
        ("Use docstrings for new code.", "Use type hints for new code."),
        ("Name every branch by ticket, not by author.", "Name every tag by date, not by author."),
        ("When you cite a study, give its year.", "When you cite a book, give its page."),
        ("Don't send emails on my behalf.", "Don't open any file in the confidential folder."),
    ],
)
def test_rules_that_can_both_be_followed_both_stay_open(older: str, newer: str) -> None:
    assert len(rule_set_of(older, newer).open_entries()) == 2


@pytest.mark.parametrize(
    ("rules", "withdrawal", "left"),
    [
        (["Use tabs.", "Never log passwords."], "Forget that rule.", ["Use tabs."]),
        (["Use tabs.", "Never log passwords."], "Please ignore the rule about tabs.", ["Never log passwords."]),
        (["Use tabs."], "We no longer use tabs.", ["We no longer use tabs."]),
        (["Before you answer, restate my question."], "You don't have to restate my question any more.", []),
        (["Don't use tabs.", "Use spaces."], "You can use tabs again.", ["Use spaces."]),
        (["Use tabs."], "You can use tabs again.", ["Use tabs."]),
        (["Use tabs."], "Forget the rule about passwords.", ["Use tabs."]),
    ],
)
def test_a_rule_taken_back_stays_readable_and_no_longer_holds(
    rules: list[str], withdrawal: str, left: list[str]
) -> None:
    ledger = rule_set_of(*rules, withdrawal)
    assert [entry.text for entry in ledger.open_entries()] == left
    assert {rule for rule, _ in states(ledger)} >= set(rules)
    assert all(state is WITHDRAWN for text, state in states(ledger) if text not in left)


def test_instead_alone_points_at_the_choice_just_before_and_actually_does_not() -> None:
    assert len(rule_set_of("Use pytest.", "Use logging instead.").open_entries()) == 1
    assert len(rule_set_of("Use pytest.", "Actually, use logging.").open_entries()) == 2
    assert len(rule_set_of("Use pytest.", "And now?", "Why?", "Use logging instead.").open_entries()) == 2


def test_another_number_takes_the_place_of_a_number_in_a_prohibition_too() -> None:
    ledger = rule_set_of("Never write lines over 80 characters.", "Never write lines over 100 characters.")
    assert [entry.text for entry in ledger.open_entries()] == ["Never write lines over 100 characters."]


def test_a_rule_said_again_after_it_was_taken_back_holds_again() -> None:
    ledger = rule_set_of("Use tabs.", "Forget that rule.", "Use tabs.")
    assert states(ledger) == [("Use tabs.", WITHDRAWN), ("Use tabs.", OPEN)]


def test_what_was_taken_back_by_command_holds_again_where_it_was_pinned_since() -> None:
    withdrawn = rule_set_of("Use tabs.", pins=[Pin(2, "ship on Friday")], withdrawn=[entry_id(0)])
    assert [entry.text for entry in withdrawn.open_entries()] == ["ship on Friday"]
    pinned = rule_set_of("Use tabs.", pins=[Pin(3, "Use tabs.")], withdrawn=[entry_id(0)])
    assert states(pinned) == [("Use tabs.", OPEN), ("Use tabs.", WITHDRAWN)]


def test_what_is_pinned_is_not_superseded_nor_taken_back_by_a_sentence() -> None:
    ledger = rule_set_of("Use spaces.", "Use tabs.", "Forget the rule about spaces.", pins=[Pin(1, "Use spaces.")])
    assert states(ledger) == [("Use spaces.", OPEN), ("Use tabs.", OPEN)]
    assert [entry.is_pin for entry in ledger.entries] == [True, False]


def test_a_pin_that_no_message_holds_is_an_entry_of_its_own() -> None:
    ledger = rule_set_of("Use tabs.", pins=[Pin(7, "the API is frozen")])
    assert ledger.entries[0] == StandingRule(RuleId(NO_MESSAGE, 7), "the API is frozen", is_pin=True)
    assert [str(entry.id) for entry in ledger.entries] == ["pin-7", "0.0"]


def test_a_rule_that_could_not_stand_in_a_block_is_none() -> None:
    assert rule_set_of(f"Never write {CLOSING} again.").entries == ()


def test_over_the_cap_go_first_what_no_longer_holds_then_the_oldest_and_never_pins() -> None:
    ledger = rule_set_of(
        "Never nap.", "Use spaces.", "Use tabs.", "No emojis.", pins=[Pin(1, "Never nap."), Pin(2, "Pinned")]
    )
    everything = over_cap(ledger.entries, 0, count_bytes)
    assert [entry.text for entry in everything] == ["Use spaces.", "Use tabs.", "No emojis."]
    assert {entry.text for entry in ledger.without(everything).entries} == {"Never nap.", "Pinned"}
    assert over_cap(ledger.entries, 10_000, count_bytes) == ()
    no_longer_first = over_cap(rule_set_of("Never nap.", "Use spaces.", "Use tabs.").entries, 0, count_bytes)
    assert [entry.text for entry in no_longer_first] == ["Use spaces.", "Never nap.", "Use tabs."]


@given(
    st.lists(st.sampled_from(["Use tabs.", "Use spaces.", "Never nap.", "No emojis.", "Forget that rule."])), st.data()
)
def test_the_cap_drops_no_more_than_it_must(texts: list[str], data: st.DataObject) -> None:
    ledger = rule_set_of(*texts, pins=[Pin(1, "Never nap.")])
    cap = data.draw(st.integers(0, 200))
    dropped = over_cap(ledger.entries, cap, count_bytes)
    kept = ledger.without(dropped).entries
    assert over_cap(kept, cap, count_bytes) == ()
    assert not any(entry.is_pin for entry in dropped)
    if dropped:
        assert over_cap((*kept, dropped[-1]), cap, count_bytes) == dropped[-1:]


RULE_LINES = st.lists(
    st.sampled_from(["Never nap", "- [3.0] Use tabs", HEADING, "## Done", "", "- [1.0 +9] x"]), min_size=1
)


@given(st.lists(RULE_LINES.map("\n".join)), st.sampled_from(["", "## Done\n- [1] read", "- [5] loose", "text\n\nmore"]))
def test_a_section_is_read_back_whatever_the_rules_say(texts: list[str], rest: str) -> None:
    entries = tuple(StandingRule(entry_id(3, index), text) for index, text in enumerate(texts))
    section = standing_rules(RuleSet(entries), 3, 4)
    assert (section == "") is (not entries)
    rules, after = split_standing_rules("\n".join(part for part in (section, rest) if part))
    if entries:
        assert rules == tuple((entry.id, entry.text) for entry in entries)
    assert after == rest


def test_the_section_holds_the_open_rules_of_its_range_only() -> None:
    ledger = rule_set_of("Use spaces.", "Never nap. No emojis.", "Use tabs.", "No jokes.")
    assert standing_rules(ledger, 0, 1) == ""
    assert standing_rules(ledger, 0, 3) == f"{HEADING}\n- [1.0] Never nap.\n- [1.1] No emojis.\n- [2.0] Use tabs."


SAID = st.sampled_from(
    [
        "Never use tabs.",
        "Use tabs.",
        "Use spaces.",
        "Fix it. By the way, no emojis.",
        "Always answer in whole sentences, because I read them aloud to people who cannot\nsee the screen at all.",
        "Forget that rule.",
        "We no longer use tabs.",
        "Why is it slow?",
    ]
)
HISTORIES = st.lists(st.one_of(SAID.map(lambda text: [user_message(text)]), exchanges()), min_size=1, max_size=20)


def with_rules(ledger: RuleSet, pieces: Sequence[Piece], number: int) -> SummaryPiece:
    """A block as compaction is to write it."""
    head = standing_rules(ledger, pieces[0].start, pieces[-1].end)
    return summary_of(pieces, number, "\n".join(part for part in (head, "## Done\n- [0] something") if part))


@given(HISTORIES, st.data())
def test_every_open_rule_is_present_once_through_random_cuts(history: list[list[Content]], data: st.DataObject) -> None:
    pieces: list[Piece] = []
    lives: list[MessagePiece] = []
    pins = [Pin(1, "the API is frozen")]
    for number, exchange in enumerate(history):
        new = as_lives(exchange, len(lives))
        lives += new
        pieces += new
        ledger = build([live.message for live in lives], pins, ())
        if data.draw(st.booleans(), "compaction"):
            bounds = piece_starts(pieces)
            boundary = keep_from(pieces, data.draw(st.integers(0, 300), "keep"), 1)
            first = data.draw(st.sampled_from(bounds), "first")
            if first < boundary:
                pieces = adopt(pieces, with_rules(ledger, pieces[first:boundary], number))
        assert missing(ledger, pieces, "- the API is frozen") == ()
        assert [entry.text for entry in missing(ledger, pieces)] == ["the API is frozen"]
        for entry in ledger.open_entries(range(len(lives))):
            sections = [
                split_standing_rules(piece.summary.text)[0] for piece in pieces if isinstance(piece, SummaryPiece)
            ]
            in_blocks = sum((entry.id, entry.text) in section for section in sections)
            is_live = any(
                isinstance(piece, MessagePiece) and piece.message.id == entry.id.message_id for piece in pieces
            )
            assert in_blocks + is_live == 1


def test_a_preview_or_a_block_that_lost_a_rule_is_noticed() -> None:
    lives = as_lives([user_message("Never use tabs. Now fix it."), user_message("ok")])
    ledger = build([live.message for live in lives], (), ())
    (rule,) = ledger.open_entries()
    assert missing(ledger, lives) == ()
    preview = Content(Role.USER, (TextPart("Never use \u2026"),))
    assert missing(ledger, [replace(lives[0], preview=preview), lives[1]]) == (rule,)
    assert missing(ledger, [summary_of(lives[:1], 1), lives[1]]) == (rule,)
    assert missing(ledger, [with_rules(ledger, lives[:1], 1), lives[1]]) == ()
    assert missing(ledger, lives[1:]) == (rule,)


@given(HISTORIES)
def test_the_ledger_follows_from_the_messages_alone(history: list[list[Content]]) -> None:
    messages = [live.message for live in as_lives([content for exchange in history for content in exchange])]
    ledger = build(messages, (), ())
    assert ledger == build(iter(messages), (), ())
    assert [entry.id for entry in ledger.entries] == sorted({entry.id for entry in ledger.entries})
    by_id = {entry.id: entry for entry in ledger.entries}
    for entry in ledger.entries:
        assert entry.text in messages[entry.id.message_id].content.text
        assert (entry.state is SUPERSEDED) is (entry.superseded_by is not None)
        if entry.superseded_by is not None:
            assert by_id[entry.superseded_by].id > entry.id


@pytest.mark.parametrize(
    ("older", "newer", "is_ended"),
    [
        ("the session cookie for 30 days", "the logs for 90 days", False),
        ("the retry limit at 5", "the queue limit at 10", False),
        ("the feature flag for billing", "the feature flag for search", False),
        ("the config in TOML", "the docs in TOML too", False),
        ("logs for 30 days", "logs for 90 days", True),
        ("the config in TOML", "the config in YAML", True),
        ("tokens in Redis", "the tokens in Postgres", True),
    ],
)
def test_a_decision_ends_an_earlier_one_only_about_the_same_matter(older: str, newer: str, is_ended: bool) -> None:
    ledger = rule_set_of(f"We decided to keep {older}.", f"We decided to keep {newer}.")
    assert [entry.state for entry in ledger.entries] == [SUPERSEDED if is_ended else OPEN, OPEN]


def test_a_decision_to_store_one_thing_does_not_end_the_one_to_store_another() -> None:
    ledger = rule_set_of("We decided to store sessions in Redis.", "We decided to store invoices in Postgres.")
    assert [entry.state for entry in ledger.entries] == [OPEN, OPEN]


def test_a_word_about_something_else_ends_no_rule_that_was_just_set() -> None:
    (rule,) = detect(user_message("When you give measurements, use metric, not imperial."))
    said = Withdrawal("2 is very strong; 3.", ("2", "very", "strong", "3"), False, 0, is_judged=True)
    assert not ends(said, rule, Nearness.JUST_BEFORE)
    again = Withdrawal("Imperial is fine again.", ("imperial", "fine"), False, 0, is_judged=True)
    assert ends(again, rule, Nearness.JUST_BEFORE)
