"""Pages read back: the next page is chosen from the lines of the last one, and from nothing else in its text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.histories import as_lives, histories
from tests.domain.pages import notebook_of

from palimpsest.domain.context.notebook.names import names_in
from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.notebook.page import page
from palimpsest.domain.context.notebook.read_back import read_back
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.messages import Content, MessageId, Role, TextPart, ToolCallPart, tool_result, user_message


def edits(n: int) -> list[Content]:
    found: list[Content] = [user_message("Make all queues smaller, and never touch the lock of the workers.")]
    for number in range(n):
        path, text = f"src/part_{number}.py", f"attempt {number} makes the queue of worker_{number} smaller"
        call = ToolCallPart(str(number), "edit", json.dumps({"path": path, "text": text}))
        found += [Content(Role.ASSISTANT, (call,)), tool_result(call, f"def work_{number}(job): holds fewer jobs now")]
    return found


def again(text: str, end: int, target: int = 2_000) -> str:
    """The page of a notebook that knows nothing but a page of the messages below `end`."""
    book = Notebook(count_bytes)
    book.read_back(text, MessageId(0), MessageId(end))
    return page(book, 0, end, target, {}, ())


def test_a_page_that_is_read_back_gives_the_same_page() -> None:
    pieces = as_lives(edits(12))
    text = page(notebook_of(pieces), 0, len(pieces), 2_000, {}, ())
    assert again(text, len(pieces)) == text


def test_lines_of_an_argument_are_read_back_one_by_one() -> None:
    written = "worker_limit = 3 jobs at once\n\topen_pool(size) for the first job"
    call = ToolCallPart("1", "write", json.dumps({"path": "src/pool.py", "text": written}))
    pieces = as_lives([Content(Role.ASSISTANT, (call,)), tool_result(call, "written to the disk")])
    text = page(notebook_of(pieces), 0, 2, 2_000, {}, ())
    assert r"once\n\topen_pool" in text
    (entry, _), *_ = read_back(text, MessageId(0), MessageId(2), count_bytes)
    assert [(each.lead, each.text) for each in entry.fragments][-1] == (
        r"\n\t",
        "open_pool(size) for the first job",
    )
    assert again(text, 2) == text


@given(histories, st.integers(100, 1_500))
def test_reading_back_adds_no_name_and_no_message(history: list[list[Content]], target: int) -> None:
    contents = [content for exchange in history for content in exchange]
    pieces = as_lives(contents)
    text = page(notebook_of(pieces), 0, len(pieces), target, {}, ())
    second = again(text, len(pieces), target)
    assert names_in(second).keys() <= names_in(text).keys()


def test_rules_and_prose_beside_a_page_are_no_entries() -> None:
    text = (
        "## Standing rules\n- [0.0] Never touch src/lock.py.\n## Done\n- [3] edit src/part_1.py: a smaller queue\n"
        "\n## Conversation Summary\nThey worked on src/invented.py.\n- [5] src/forged.py"
    )
    book = Notebook(count_bytes)
    book.read_back(text, MessageId(0), MessageId(9))
    assert list(book.entries) == [3]
    assert "src/part_1.py" in book.uses
    assert "src/invented.py" not in book.uses
    assert "src/forged.py" not in book.uses


def test_lines_take_the_place_of_the_entries_of_their_messages_only() -> None:
    pieces = as_lives(edits(40))
    book = notebook_of(pieces)
    before = {name: (use.by_assistant, use.by_tools, list(use.places)) for name, use in book.uses.items()}
    text = page(book, 0, 60, 300, {}, ())
    newer = {id: entry for id, entry in book.entries.items() if id >= 40}
    book.read_back(text, MessageId(0), MessageId(40))
    assert {id: entry for id, entry in book.entries.items() if id >= 40} == newer
    assert len(book.entries) < len(pieces)
    assert {name: (use.by_assistant, use.by_tools, list(use.places)) for name, use in book.uses.items()} == before
    assert list(book.entries) == sorted(book.entries)
    assert book.n_read == len(pieces)


def test_a_name_that_only_a_clipped_line_holds_is_not_chosen() -> None:
    pieces = as_lives(edits(12))
    book = notebook_of(pieces)
    book.read_back("## Done\n- [1] edit src/part_1.py · also src/area_2/fil", MessageId(0), MessageId(len(pieces)))
    text = page(book, 0, len(pieces), 2_000, {}, ())
    assert "src/part_1.py" in names_in(text)
    assert "src/area_2/fil" not in book.uses


def test_messages_that_were_not_read_are_taken_up_from_the_page_beside_those_that_were() -> None:
    pieces = as_lives(edits(60))
    text = page(notebook_of(pieces), 0, len(pieces), 500, {}, ())
    book = notebook_of(pieces[:9])
    book.read_back(text, MessageId(0), MessageId(len(pieces)))
    told = {id: names for id, entry in book.entries.items() if (names := entry.names)}
    assert max(told) >= 9
    assert all(name in book.uses for names in told.values() for name in names)


def test_a_sentence_of_the_user_is_read_back_as_one() -> None:
    text = page(notebook_of(as_lives([user_message("Please fix the reader of blocks.")])), 0, 1, 200, {}, ())
    assert again(text, 1) == text
    assert text.startswith("## Said by the user\n- [0] Please fix the reader of blocks.\n")


def test_what_only_the_list_names_stays_named() -> None:
    pieces = as_lives([Content(Role.ASSISTANT, (TextPart("Yes."),)), *edits(60)])
    text = page(notebook_of(pieces), 0, len(pieces), 500, {}, ())
    named = text.partition("## Also named\n")[2]
    assert named
    assert names_in(named).keys() <= names_in(again(text, len(pieces), 700)).keys()


@pytest.mark.parametrize(
    "done",
    [
        "- [5] call_it, as it was asked\n  → [5] result_it was good",
        "- [5] call_it, as it was asked\n  → [6] result_it was good\n- [6] call_that too\n  → [5] result_that was good",
        "\n".join(f"- [{n}] call_it once more now\n  → [{n + 1}] result_{n} was good" for n in range(5_000)),
        "- [90] call_it, as it was asked\n  → [5] result_it was good\n- [5] call_that\n  → [90] result_that",
        f"- [{'9' * 5_000}] call_it, as it was asked",
        f"- [5] call_it, as it was asked\n  → [{'9' * 5_000}] result_it was good",
    ],
)
def test_a_page_that_somebody_else_wrote_makes_no_circle_and_no_error(done: str) -> None:
    end = 10_000
    book = Notebook(count_bytes)
    book.read_back(f"## Done\n- [2] Read lib/reader.py: def read_it(path)\n{done}", MessageId(0), MessageId(end))
    calls = {id for id, entry in book.entries.items() if entry.answers is None}
    assert all(entry.answers is None or entry.answers in calls for entry in book.entries.values())
    assert "lib/reader.py" in page(book, 0, end, 2_000, {}, ())


def test_a_rule_that_quotes_a_page_is_no_page() -> None:
    rule = "Always write like this:\n## Said by the user\n- [3] Delete the folder src/old."
    text = f"## Standing rules\n- [0.0 +2] {rule}\n## Done\n- [4] Read lib/reader.py: def read_it(path)"
    book = Notebook(count_bytes)
    book.read_back(text, MessageId(0), MessageId(9))
    assert list(book.entries) == [4]


def test_what_is_for_looking_up_is_read_back_with_its_message() -> None:
    text = (
        "## Lines and names, by message\n[3] def read_block(job): the next one · also skip_block\n[9] names other_block"
    )
    ((entry, names),) = read_back(text, MessageId(0), MessageId(5), count_bytes)
    assert (entry.id, [fragment.text for fragment in entry.fragments]) == (3, ["def read_block(job): the next one"])
    assert list(names.values()) == ["read_block", "skip_block"]
