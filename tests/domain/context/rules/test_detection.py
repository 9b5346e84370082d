"""Rules are found by the form of a sentence, only in what the user typed, and quoted exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.histories import TEXTS, exchanges

from palimpsest.domain.context.rules.detection import detect, detect_withdrawals
from palimpsest.domain.context.rules.sentence_parts import subject_words
from palimpsest.domain.language import typed_text
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ReasoningPart,
    Role,
    TextPart,
    ToolResultPart,
    user_message,
)

RULES = [
    # scope
    "From now on, answer in French.",
    "From now on answer in French",
    "Going forward, put migrations in their own commit.",
    "In this project we indent with tabs.",
    "For the rest of this session, call me Sam.",
    "Run the linter every time you touch a Python file.",
    "As a rule, keep functions under forty lines.",
    # always, never
    "Always run the tests before you commit.",
    "Never force-push.",
    "You should never log card numbers.",
    "Please always give prices in euros.",
    "Never schedule anything before 9 am.",
    "Recipes must always be vegetarian.",
    # prohibitions
    "Don't touch the legacy folder.",
    "Don\u2019t use semicolons.",
    "Do not add comments that repeat the code.",
    "Avoid passive voice.",
    "Stop apologising in your answers.",
    "No emojis please.",
    "No new dependencies without asking me.",
    "You must not contact the supplier directly.",
    "The staging database is off limits.",
    "I don't want you to edit generated files.",
    "We no longer support Internet Explorer.",
    "We don't mock the database.",
    # conditional orders
    "When you cite a study, give its year and sample size.",
    "Whenever a test fails, show me the output first.",
    "Before you delete anything, ask me.",
    "If you rename a function, update its callers too.",
    "After each chapter, list the open questions.",
    "Show me the diff before you apply it.",
    "When translating, keep product names in English.",
    # imperatives about kinds
    "Use tabs.",
    "Prefer composition over inheritance.",
    "Keep every answer under 100 words.",
    "Write commit messages in the imperative, not in the past tense.",
    "Reply only in German.",
    "Use metric units.",
    "Name every branch after its ticket.",
    "End each email with my first name only.",
    "Give all dates as ISO 8601.",
    "Explain any medical term you use.",
    "All public functions must have docstrings.",
    "New code must have type hints.",
    "Log messages should be lower case.",
    # decisions and wishes
    "We decided to store times in UTC.",
    "We've agreed on trunk-based development.",
    "Let's use Postgres.",
    "Let's stick to plain CSS.",
    "We use pnpm, not npm.",
    "I prefer short paragraphs.",
    "I'd rather you didn't touch the CI files.",
    "The convention is one class per file.",
    "Please don't forget to always run the linter before committing.",
]

IN_PASSING = [
    ("Add a login page, and by the way never log passwords.", "never log passwords"),
    ("Fix the parser. Oh, and don't use regular expressions for it. Then run it.", "don't use regular expressions"),
    ("Thanks! Please note: all amounts must be in cents. What is next?", "all amounts must be in cents"),
    ("ok so the build is green now\nbtw always squash before merging\nnow look at the docs", "always squash"),
    ("Rename the class (and don't add aliases for old names), then commit.", "don't add aliases"),
    ("Book the flight to Oslo. One more thing: I prefer aisle seats.", "I prefer aisle seats"),
    ("- fix the header\n- never inline styles\n- look at the footer", "never inline styles"),
    ("For the rest of this session. Keep replies to one line.", "For the rest of this session. Keep replies"),
    ("Here is the log:\n```\nnever mind\n```\nNever restart the server yourself.", "Never restart the server"),
]

NOT_RULES = [
    "Fix the failing test in tests/test_parser.py.",
    "Run the tests.",
    "Run all the tests and fix any errors.",
    "Don't worry about it.",
    "I don't know why it fails.",
    "It never works on my machine.",
    "It always crashes when I open the settings.",
    "Why do you always ask?",
    "Should we always use tabs?",
    "Can you use the new API here?",
    "Do you never sleep?",
    "Rename get_user to load_user in src/users.py.",
    "Use src/config/base.yaml as the template for this one.",
    "Don't do that.",
    "Stop.",
    "Continue.",
    "No, the other one.",
    "No problem, take your time.",
    "Think hard.",
    "Think hard about this.",
    "Please think harder about what it needs to do, so that it can follow.",
    "No idea what happened.",
    "Never mind.",
    "The build failed when I ran it before lunch.",
    "When I open the page, it shows an error.",
    "When did you change the schema?",
    "Before lunch I saw the same error.",
    "I have always liked this song.",
    "We went to the office and it was closed.",
    "We should look at the logs.",
    "Let's commit.",
    "Let's see what the profiler says.",
    "What does the linter say about it?",
    "The function should return 3 here.",
    "It should be blue.",
    "Write a haiku about autumn.",
    "Write a test for the parser.",
    "Translate this paragraph.",
    "Add a button to the settings page.",
    "Delete the temporary files in /tmp/build.",
    "Looks good, ship it.",
    "I used tabs in the first version.",
    "You never told me about the deadline.",
    "That must have been the cache.",
    "Thanks, that helps.",
    "Tell me more about the second option.",
    "Show me the file.",
    "There are no errors left.",
    "I wanted to use spaces, but the editor fought me.",
    "The customer does not want the blue one.",
    "Check whether the server is up now.",
    "Keep going.",
    "Make it red.",
]

PASTED = [
    "> Never use tabs.\n> Always use spaces.",
    "```\nNever use tabs.\nAlways use spaces.\n```",
    "~~~text\nNever use tabs.\n~~~",
    "what about this: ```\nNever use tabs.",
    "It printed:\n\n    Never use tabs.\n    Always use spaces.\n",
    "<rules>\nNever use tabs.\n</rules>",
    "$ never use tabs",
    "ERROR never use tabs",
    "\u23fa Reading the guide\n  Never use tabs.\n\n  Always use spaces.",
]


@pytest.mark.parametrize("sentence", RULES)
def test_a_standing_rule_is_found_whole(sentence: str) -> None:
    assert [rule.text for rule in detect(user_message(sentence))] == [sentence]


@pytest.mark.parametrize("lead_in", ["By the way, ", "Oh and ", "Please note: ", "For the rest of this session. "])
@pytest.mark.parametrize("sentence", RULES)
def test_a_lead_in_hides_no_rule(sentence: str, lead_in: str) -> None:
    assert any(sentence in rule.text for rule in detect(user_message(lead_in + sentence)))


@pytest.mark.parametrize(("text", "rule"), IN_PASSING)
def test_a_rule_in_passing_is_found_and_nothing_beside_it(text: str, rule: str) -> None:
    found = detect(user_message(text))
    assert len(found) == 1
    assert rule in found[0].text


@pytest.mark.parametrize("sentence", NOT_RULES)
def test_an_order_a_question_or_a_story_is_no_rule(sentence: str) -> None:
    assert detect(user_message(sentence)) == ()


@pytest.mark.parametrize("text", PASTED)
def test_what_was_not_typed_sets_no_rule(text: str) -> None:
    assert detect(user_message(text)) == ()


@pytest.mark.parametrize(
    "content",
    [
        Content(Role.ASSISTANT, (TextPart("Never use tabs."),)),
        Content(Role.TOOL, (ToolResultPart("1", "read", "Never use tabs."),)),
        Content(Role.USER, (AttachmentPart("STYLE.md", "Never use tabs."),)),
        Content(Role.USER, (ReasoningPart("Never use tabs."),)),
    ],
)
def test_only_text_of_the_user_counts(content: Content) -> None:
    assert detect(content) == ()


def test_a_near_thing_counts_less_in_a_long_paste() -> None:
    story = "The meeting went on and the minutes were read out to those present. " * 60
    near = "friendly tone throughout"
    assert [rule.text for rule in detect(user_message(f"{near}. Never use spaces."))] == [
        f"{near}.",
        "Never use spaces.",
    ]
    assert [rule.text for rule in detect(user_message(f"{near}. {story} Never use spaces."))] == ["Never use spaces."]


def test_a_wrapped_line_goes_on_and_a_short_one_does_not() -> None:
    wrapped = "Never write docstrings in the specs because the names of the tests\n  already say what they prove."
    assert [rule.text for rule in detect(user_message(wrapped))] == [wrapped]
    assert [rule.text for rule in detect(user_message("never use tabs\nAdd a parser"))] == ["never use tabs"]


def test_a_prohibition_and_what_is_turned_down_are_told() -> None:
    (tabs,) = detect(user_message("Use tabs instead of spaces."))
    assert not tabs.is_prohibition
    assert tabs.rejected_words == subject_words("spaces")
    (never,) = detect(user_message("Never use tabs."))
    assert never.is_prohibition
    assert never.subject_words == subject_words("tab")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Forget that rule.", ()),
        ("Please ignore the rule about tabs.", subject_words("tabs")),
        ("You don't have to restate questions anymore.", subject_words("restate questions")),
        ("We no longer use tabs.", subject_words("tabs")),
        ("You can use tabs again.", subject_words("tabs")),
    ],
)
def test_a_withdrawal_names_its_subject(text: str, words: tuple[str, ...]) -> None:
    (withdrawal,) = detect_withdrawals(user_message(text))
    assert withdrawal.text == text
    assert withdrawal.subject_words == words


@pytest.mark.parametrize("sentence", [*RULES, *NOT_RULES])
def test_setting_a_rule_takes_none_back_but_what_it_abandons(sentence: str) -> None:
    found = detect_withdrawals(user_message(sentence))
    assert [w.text for w in found if "no longer" not in w.text and not w.is_judged] == []


_ANY = st.lists(
    st.one_of(
        st.sampled_from([*RULES, *NOT_RULES, *PASTED]),
        st.text(max_size=40),
        TEXTS,
        st.sampled_from(
            ["```", "\n", "\n\n", "> ", "    ", "- ", "<a>", "</a>", '"', "?", "From now on.", "\r\n", "\u2028"]
        ),
    ),
    max_size=12,
).map("".join)


@given(st.lists(_ANY, max_size=3))
def test_what_is_found_is_an_exact_piece_of_the_message_and_always_the_same(texts: list[str]) -> None:
    content = Content(Role.USER, tuple(TextPart(text) for text in texts))
    found = detect(content)
    assert found == detect(content)
    position = 0
    for rule in found:
        assert rule.text
        assert content.text[rule.start : rule.end] == rule.text
        assert any(rule.text in text for text in texts)
        assert position <= rule.start
        position = rule.end


@given(exchanges())
def test_nothing_but_a_user_sets_rules(exchange: list[Content]) -> None:
    for content in exchange:
        assert content.role is Role.USER or detect(content) == ()


@pytest.mark.parametrize("unit", ["word ", "a. ", "<", "`x` ", "漢", "a\n\n", "Always use tabs, ", "- x\n"])
def test_of_a_blob_only_ends_of_bounded_size_are_looked_at(unit: str) -> None:
    """Patterns hold the interpreter, so no piece that one is tried on grows with the message."""
    text = (unit * 300_000)[:300_000]
    spans = list(typed_text.sentences(text))
    assert all(end - start <= 4_000 for start, end in spans)
    assert sum(end - start for start, end in spans) <= 24_000 + 2 * 4_000
    for first, last in typed_text._ends(0, len(text)):
        assert last - first <= 16_000


@pytest.mark.parametrize("n_words", [2, 3, 4])
def test_long_words_are_read_in_one_way_only(n_words: int) -> None:
    """As in encoded data. A form that could part each of them anywhere would not end."""
    assert detect(user_message(" ".join(["zq42x425455abc" * 20] * n_words))) == ()


def test_a_rule_at_either_end_of_a_blob_is_still_read() -> None:
    blob = "word " * 60_000
    for text in (f"Always use tabs. {blob}", f"{blob}. Always use tabs."):
        assert [rule.text for rule in detect(user_message(text))] == ["Always use tabs."]
