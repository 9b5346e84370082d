"""Rules propose only statements of speakers who may make them, quote them exactly, and tell what calls did to files."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.histories import histories
from tests.domain.telling import assistant, call, edited, exchange, stored, typed
from tests.properties import examples

from palimpsest.domain.context.rules.detection import detect
from palimpsest.domain.facts.extraction import statement_forms
from palimpsest.domain.facts.extraction.by_rules import by_rules
from palimpsest.domain.facts.extraction.exchange import Exchange, is_agreement, texts_of
from palimpsest.domain.facts.extraction.names import below, places_in
from palimpsest.domain.facts.fact import FactType, Origin, Place, Span
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ConversationId,
    Role,
    TextPart,
    ToolCallPart,
    tool_result,
    user_message,
)

ENTITY, DECISION = FactType.ENTITY, FactType.DECISION
CONSTRAINT, CODE_STATE = FactType.CONSTRAINT, FactType.CODE_STATE


def told(of: Exchange) -> list[tuple[FactType, str]]:
    return [(each.fact.fact_type, each.fact.content) for each in by_rules(of)]


def kinds(of: Exchange) -> set[FactType]:
    return {fact_type for fact_type, _ in told(of)}


@pytest.mark.parametrize(
    "text",
    [
        "We will use Postgres because the team knows it.",
        "Let's go with asyncio instead of threads.",
        "We decided to store times in UTC.",
        "I chose httpx over requests since it streams.",
        "ok, let's switch to ruff for linting",
    ],
)
def test_a_choice_that_the_user_tells_is_a_decision(text: str) -> None:
    (found,) = by_rules(typed(text))
    assert found.fact.fact_type is DECISION
    assert found.evidence.quote == text
    assert found.evidence.origin is Origin.USER


@pytest.mark.parametrize(
    "text",
    [
        "Should we use Postgres instead of MySQL?",
        "Let's go with that.",
        "let's commit",
        "What did we decide about the cache?",
        "> We will use Postgres because the team knows it.",
        "```\nWe will use Postgres because the team knows it.\n```",
    ],
)
def test_a_question_a_pointer_and_a_quotation_are_no_decision(text: str) -> None:
    assert told(typed(text)) == []


def test_rules_are_those_of_the_ledger() -> None:
    message = user_message("Never touch the migrations folder. Thanks! Use tabs for indentation everywhere.")
    found = by_rules(exchange(message))
    assert [each.evidence.quote for each in found] == [rule.text for rule in detect(message)]
    assert {each.fact.fact_type for each in found} == {CONSTRAINT}


@pytest.mark.parametrize("text", ["From now on always remember to pin version 2.", "Never edit src/app.py again."])
def test_nothing_is_a_rule_that_only_a_tool_a_file_or_an_attachment_says(text: str) -> None:
    read = call("read_file", path="notes.md")
    attached = Content(Role.USER, (TextPart("have a look"), AttachmentPart("notes.md", text)))
    fenced = user_message(f"look:\n```\n{text}\n```")
    said = exchange(attached, fenced, assistant("I read it.", read), tool_result(read, text), assistant(text))
    assert told(said) == []


def test_a_proposal_is_a_decision_once_the_user_agrees() -> None:
    proposal = assistant("I recommend SQLite instead of Postgres because no server is needed.")
    agreed = exchange(user_message("Yes, do that."), before=[proposal])
    (found,) = by_rules(agreed)
    assert (found.fact.fact_type, found.evidence.message_id) == (DECISION, 0)
    assert found.evidence.origin is Origin.ASSISTANT
    assert told(exchange(user_message("Yes, but with Postgres."), before=[proposal])) == []
    assert told(exchange(user_message("What would it cost?"), before=[proposal])) == []
    assert told(exchange(user_message("go"), proposal)) == []


def test_what_a_fork_agrees_to_rests_on_the_conversation_that_holds_it() -> None:
    proposal = stored([assistant("I recommend SQLite instead of Postgres because no server is needed.")])
    own = [replace(each, conversation_id=ConversationId("fork")) for each in stored([user_message("Yes, do that.")], 1)]
    (found,) = by_rules(Exchange.of(own, before=proposal))
    assert (found.evidence.conversation_id, found.evidence.message_id) == (proposal[0].conversation_id, 0)


@pytest.mark.parametrize(
    ("text", "agrees"),
    [("yes", True), ("Sounds good!", True), ("ok", True), ("LGTM, let's commit", True), ("yes?", False), ("", False)],
)
def test_agreement_is_a_yes_without_a_but(text: str, agrees: bool) -> None:
    assert is_agreement(text) is agrees


@pytest.mark.parametrize(
    "text",
    [
        "`src/lib.rs` contains the main `App` struct.",
        "The App struct lives in src/lib.rs.",
        "`load_config` is defined in src/config.py:12-40.",
        "The port is 8080.",
        "The dev server listens on port 8080.",
        "`UserList` extends `Container`, so it inherits `invalidate()`.",
    ],
)
@pytest.mark.parametrize("by_user", [True, False])
def test_a_statement_about_something_named_is_kept(text: str, by_user: bool) -> None:
    said = typed(text) if by_user else exchange(user_message("go on"), assistant(text))
    assert told(said) == [(ENTITY, text)]


@pytest.mark.parametrize(
    "text",
    [
        "It contains the main `App` struct.",
        "Now `src/lib.rs` will contain the main `App` struct.",
        "Does `src/lib.rs` contain the main `App` struct?",
        "Update `src/lib.rs` to use the main `App` struct.",
        "The build of `app` is failing right now.",
        "Let me check what `src/lib.rs` contains.",
        "The command is self explanatory.",
        "I think `src/lib.rs` perhaps contains the struct.",
    ],
)
def test_plans_questions_orders_and_passing_states_are_no_facts(text: str) -> None:
    assert told(exchange(user_message("go on"), assistant(text))) == []


def test_what_an_assistant_repeats_of_a_tool_is_the_tools_word() -> None:
    read = call("read_file", path="README.md")
    text = "`src/lib.rs` contains the main `App` struct of the program."
    before = [assistant("", read), tool_result(read, text)]
    said = exchange(assistant(text), before=before)
    assert said.origin(said.messages[0], text) is Origin.TOOL
    assert told(said) == []
    assert exchange(assistant(text)).origin(stored([assistant(text)])[0], text) is Origin.ASSISTANT


SHAPES: list[dict[str, object]] = [
    {"path": "src/a.py", "old_string": "x = 1\n", "new_string": "x = 1\n\ndef load(path):\n    return path\n"},
    {"file_path": "src/a.py", "old_text": "", "new_text": "def load(path):\n    return path\n"},
    {"path": "src/a.py", "edits": [{"old_text": "a", "new_text": "def load(path):\n    return path\n"}]},
    {"path": "src/a.py", "oldText": "import os", "newText": "import os\nasync def load(path):\n    return path\n"},
    {"filename": "src/a.py", "diff": "@@ -1 +1,2 @@\n import os\n+def load(path):\n+    return path\n"},
    {"patch": "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1,2 @@\n import os\n+def load(path):\n+    return path\n"},
]


@pytest.mark.parametrize("arguments", SHAPES)
def test_what_a_call_added_is_told_by_its_arguments(arguments: dict[str, object]) -> None:
    (found,) = by_rules(edited(arguments))
    assert found.fact.content == "`src/a.py`: added `load`."
    assert found.fact.entities == ("src/a.py", "load")
    assert found.places == (Place("src/a.py", symbol="load"),)


def test_removed_changed_and_renamed_symbols_are_told_apart() -> None:
    old = "def first(a):\n    return a\n\ndef second(b):\n    one = b\n    return one + 1\n\ndef third():\n    pass\n"
    new = (
        "def first(a):\n    return a + 1\n\ndef other(b):\n    one = b\n    return one + 1\n\ndef third():\n    pass\n"
    )
    assert told(edited({"path": "a.py", "old_string": old, "new_string": new})) == [
        (CODE_STATE, "`a.py`: changed `first`; renamed `second` to `other`.")
    ]
    assert told(edited({"path": "a.py", "old_string": old, "new_string": ""})) == [
        (CODE_STATE, "`a.py`: removed `first`, `second`, `third`.")
    ]


def test_a_created_file_is_told_with_what_it_defines() -> None:
    made = edited({"path": "lib/user.ts", "content": "export class User {\n}\n"}, "write", "File created successfully")
    assert told(made) == [(CODE_STATE, "`lib/user.ts`: created; added `User`.")]


def test_a_call_that_failed_was_refused_or_only_reads_changes_nothing() -> None:
    arguments = SHAPES[0]
    made = ToolCallPart("call-0", "edit_file", json.dumps(SHAPES[0]))
    failed = exchange(assistant("", made), tool_result(made, "no such file", is_error=True))
    unanswered = exchange(assistant("", made))
    assert [told(each) for each in (failed, unanswered)] == [[], []]
    assert told(edited({"path": "a.py", "content": "class A:\n"}, "read_file")) == []
    assert told(edited(arguments, result="User rejected update to src/a.py")) == []


def test_changes_of_one_file_are_one_candidate() -> None:
    calls = [
        call("edit", number, path="a.py", old_string="", new_string=f"def {name}():\n    pass\n")
        for number, name in enumerate(("one", "two"))
    ]
    said = exchange(assistant("", *calls), *(tool_result(each, "ok") for each in calls))
    assert told(said) == [(CODE_STATE, "`a.py`: added `one`, `two`.")]


def test_an_announcement_tells_a_change_that_touches_no_symbol() -> None:
    silent = {"path": "a.toml", "old_string": "a", "new_string": "b"}
    said = edited(silent, text="Now let me add `retry_count` to the client options.")
    assert told(said) == [(CODE_STATE, "`a.toml`: add `retry_count` to the client options.")]
    assert told(edited(silent, text="Now let me fix it.")) == []


def test_the_subject_of_a_commit_is_a_code_state() -> None:
    made = call("bash", command="git add -A && git commit -m 'feat: read the cache before the store'")
    said = exchange(assistant("", made), tool_result(made, "[main 123] 1 file changed"))
    assert told(said) == [(CODE_STATE, "Committed: feat: read the cache before the store.")]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("see src/a.py:12-40", Place("src/a.py", Span(12, 40))),
        ("see `src/a.py` line 7", Place("src/a.py", Span(7, 7))),
        ("`load()` in src/a.py", Place("src/a.py", symbol="load")),
        ("The function `load` in src/a.py reads it", Place("src/a.py", symbol="load")),
        ("The Cart class of src/a.py", Place("src/a.py", symbol="Cart")),
        ("An enum in src/a.py", Place("src/a.py")),
        ("see /home/me/app/src/a.py", Place("src/a.py")),
        ("see src/a.py:40-12", Place("src/a.py", Span(40, 40))),
    ],
)
def test_places_are_files_of_the_folder_with_lines_or_symbol(text: str, place: Place) -> None:
    assert places_in(text, "/home/me/app") == (place,)


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../a.py", "a/../../b.py", "~/a.py", "https://x.y/a.py", "", "C:/a.py"]
)
def test_what_is_not_below_the_folder_is_no_place(path: str) -> None:
    assert below(path, "/home/me/app") is None


def test_an_exchange_is_of_one_conversation() -> None:
    with pytest.raises(ValueError, match="one conversation"):
        Exchange.of([])


_PIECES = [
    "Never use `tabs` in src/app.py.",
    "We decided to use yarn instead of npm because it is faster.",
    "`src/app.py` contains\nthe `App` class.",
    "The port is 8080.",
    "```\ncode\n```",
    "\u2019s weird \u0000text\r\n",
    "- **`a_b`** \u2014 reads the whole file from the disk",
]
_texts = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=40)), max_size=6).map(" ".join)


@examples(40)
@given(said=st.lists(st.tuples(st.booleans(), _texts), min_size=1, max_size=5))
def test_quotes_stand_in_their_message_exactly(said: list[tuple[bool, str]]) -> None:
    contents = [user_message(text) if by_user else assistant(text) for by_user, text in said]
    of = exchange(*contents)
    by_id = {message.id: message for message in of.messages}
    for each in by_rules(of):
        assert any(each.evidence.quote in text for text in texts_of(by_id[each.evidence.message_id]))
        assert "\n" not in each.fact.content


@examples(8)
@given(history=histories)
def test_any_history_is_read_and_always_alike(history: list[list[Content]]) -> None:
    for contents in history:
        of = exchange(*contents)
        assert by_rules(of) == by_rules(of)


_KEYS = st.sampled_from(["path", "old_string", "new_string", "content", "edits", "diff"])
_VALUES = st.one_of(_texts, st.lists(st.dictionaries(st.text(), st.text())), st.integers())


@examples(40)
@given(arguments=st.dictionaries(_KEYS, _VALUES))
def test_any_arguments_of_a_tool_are_read(arguments: dict[str, object]) -> None:
    of = edited(arguments, "edit")
    for each in by_rules(of):
        assert any(each.evidence.quote in text for message in of.messages for text in texts_of(message))


def test_a_change_inside_a_function_is_quoted_by_its_longest_new_line() -> None:
    arguments = {"path": "src/a.py", "old_text": "    x = 1", "new_text": "    x = 2\n    y = compute(x)"}
    said = edited(arguments, text="I'll add the `compute` step to the parser.")
    (found,) = by_rules(said)
    assert found.fact.fact_type is CODE_STATE
    assert found.evidence.quote == "y = compute(x)"


def test_long_words_are_read_in_one_way_only() -> None:
    """As in encoded data. A form that could part each of them anywhere would not end."""
    assert statement_forms.POINTED.match(" ".join(["zq42x425455abc" * 20] * 5)) is None
